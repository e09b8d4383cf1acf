--- The plugin's own settings: `vim.g.contextpack`. Those of the server stand in its LSP
--- configuration.

local M = {}

---@class contextpack.Config
---@field open string The command that opens the bundle's window.
---@field focus boolean Whether what the current buffer shows is lifted.
---@field report boolean Whether the report opens with the bundle.
---@field report_height integer Lines of the report's window.
---@field chat string[] The chat plugins to try, first to last.
M.defaults = {
  open = 'botright vsplit',
  focus = true,
  report = true,
  report_height = 14,
  chat = { 'codecompanion', 'copilotchat', 'avante' },
}

--- A setting: the user's, else the default.
---@param name string
---@return any
function M.value(name)
  local given = (vim.g.contextpack or {})[name]
  if given == nil then
    return M.defaults[name]
  end
  return given
end

return M
