--- The chat plugins themselves take the bundle, and have it whole for the next message. CHATS is a
--- folder with their repositories and those that they need, CHAT the one to try.
local stage = dofile(vim.env.STAGE)
local chats, name = assert(vim.env.CHATS), assert(vim.env.CHAT)

for folder in vim.fs.dir(chats) do
  vim.opt.runtimepath:append(vim.fs.joinpath(chats, folder))
end
vim.opt.swapfile = false
vim.env.OPENAI_API_KEY = 'none'

local setups = {
  codecompanion = function()
    require('codecompanion').setup({ interactions = { chat = { adapter = 'openai' } } })
  end,
  copilotchat = function()
    require('CopilotChat').setup({})
  end,
  avante = function()
    require('avante').setup({ provider = 'openai' })
  end,
}

---@param buf integer
---@return string
local function shown(buf)
  return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n')
end

--- What the plugin would send of ours.
local given = {
  codecompanion = function()
    local chat = assert(require('codecompanion').last_chat())
    local own = vim.iter(chat.messages):filter(function(message)
      return message.context and message.context.id:find('<contextpack>', 1, true)
    end):totable()
    stage.equal(1, #own)
    stage.has('<contextpack>', shown(chat.bufnr))
    return own[1].content
  end,
  copilotchat = function()
    local found
    local chat = require('CopilotChat')
    stage.has('#contextpack\n', shown(chat.chat.bufnr))
    require('plenary.async').run(function()
      found = require('CopilotChat.prompts').resolve_functions('#contextpack\n', chat.config)
    end, function() end)
    stage.wait_for('resource', function()
      return found
    end)
    stage.equal(1, #found)
    return found[1].data
  end,
  avante = function()
    local files = require('avante').get().file_selector:get_selected_files_contents()
    local own = vim.iter(files):filter(function(file)
      return vim.endswith(file.path, '/contextpack/bundle.md')
    end):totable()
    stage.equal(1, #own)
    return own[1].content
  end,
}

setups[name]()
stage.edit('src/lending/policy.py')
stage.pack()
vim.cmd('ContextPackSend ' .. name)
stage.has('handed to', stage.said[#stage.said])
-- Plugins end a file's text in their own way.
stage.equal(vim.trim(stage.expected()), vim.trim(given[name]()))
