--- What is said to the user.

local M = {}

---@param text string
function M.say(text)
  vim.notify('contextpack: ' .. text, vim.log.levels.INFO)
end

---@param text string
function M.warn(text)
  vim.notify('contextpack: ' .. text, vim.log.levels.WARN)
end

---@param text string
function M.fail(text)
  vim.notify('contextpack: ' .. text, vim.log.levels.ERROR)
end

return M
