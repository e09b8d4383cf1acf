--- Handing the bundle to a chat plugin. None is needed, and none is ever told to submit.

local config = require('contextpack.config')

local M = {}

local BUNDLE_URI = 'contextpack://bundle'

---@class contextpack.Chat
---@field label string
---@field module string What `require` has when the plugin is there.
---@field put fun(plugin: table, pack: contextpack.Pack) Raises an error when it cannot.

---@type table<string, contextpack.Chat>
M.plugins = {
  codecompanion = {
    label = 'CodeCompanion',
    module = 'codecompanion',
    put = function(plugin, pack)
      local chat = assert(plugin.last_chat() or plugin.chat(), 'it opened no chat')
      local id = '<contextpack>' .. pack.answer.query .. '</contextpack>'
      chat:add_context({ role = 'user', content = pack.answer.text }, 'contextpack', id)
      chat.ui:open()
    end,
  },
  copilotchat = {
    label = 'CopilotChat',
    module = 'CopilotChat',
    put = function(plugin, pack)
      -- Not the bundle itself: CopilotChat takes `#file:...` anywhere in a prompt for an order to
      -- read that file, and who wrote the packed files is no one to give orders.
      plugin.config.functions.contextpack = {
        description = 'The bundle of code that contextpackd made for the task',
        uri = BUNDLE_URI,
        resolve = function()
          local data = pack.answer.text
          return { { uri = BUNDLE_URI, mimetype = 'text/markdown', data = data } }
        end,
      }
      plugin.open()
      plugin.chat:append('#contextpack\n')
    end,
  },
  avante = {
    label = 'avante',
    module = 'avante.api',
    put = function(plugin, pack)
      -- Its question is sent at once; a file among those that it looks at is not.
      local folder = vim.fs.joinpath(vim.fn.stdpath('cache') --[[@as string]], 'contextpack')
      vim.fn.mkdir(folder, 'p', tonumber('700', 8))
      local file = vim.fs.joinpath(folder, 'bundle.md')
      local lines = vim.split(pack.answer.text, '\n', { plain = true })
      assert(vim.fn.writefile(lines, file, 'b') == 0, 'cannot write ' .. file)
      plugin.add_selected_file(file)
    end,
  },
}

--- The plugins of the settings that are there, first to try first.
---@return string[]
function M.present()
  return vim.iter(config.value('chat')):filter(function(name)
    return M.plugins[name] ~= nil and (pcall(require, M.plugins[name].module))
  end):totable()
end

--- Hand the pack to the first plugin that takes it.
---@param pack contextpack.Pack
---@param only? string The one plugin to try.
---@return string? label Who took it.
---@return string[] problems What went wrong before.
function M.send(pack, only)
  ---@type string[]
  local problems = {}
  for _, name in ipairs(only and { only } or config.value('chat')) do
    local chat = M.plugins[name]
    local is_there, plugin = pcall(require, chat and chat.module or name)
    if not chat or not is_there then
      if only then
        problems[#problems + 1] = only .. ' is not installed'
      end
    else
      local is_taken, problem = pcall(chat.put, plugin, pack)
      if is_taken then
        return chat.label, problems
      end
      problems[#problems + 1] = chat.label .. ': ' .. tostring(problem)
    end
  end
  return nil, problems
end

return M
