--- `:checkhealth contextpack`.

local client = require('contextpack.client')

local M = {}

local health = vim.health
local WAIT_MS = 5000

local function check_neovim()
  health.start('Neovim')
  if vim.fn.has('nvim-0.11') == 1 then
    health.ok('Neovim ' .. tostring(vim.version()))
  else
    health.error('Neovim 0.11 or newer is needed')
  end
  if vim.fn.has('clipboard') == 1 then
    health.ok('there is a clipboard')
  else
    health.warn('there is no clipboard: :ContextPackCopy fills register " only', {
      'See :help clipboard',
    })
  end
end

local function check_program()
  health.start('The server')
  local config = vim.lsp.config[client.NAME]
  local cmd = config and config.cmd
  if not config then
    health.error('lsp/contextpackd.lua is not on the runtimepath')
  elseif type(cmd) ~= 'table' then
    health.info('`cmd` is a function')
  elseif vim.fn.executable(cmd[1]) == 0 then
    health.error('no program ' .. cmd[1], {
      'Install contextpackd so that it is on the PATH',
      ("Or name it: vim.lsp.config('%s', { cmd = { '/path/to/contextpackd', 'lsp' } })"):format(
        client.NAME
      ),
    })
  else
    health.ok(('%s is %s'):format(cmd[1], vim.fn.exepath(cmd[1])))
  end
end

---@param one vim.lsp.Client
local function check_client(one)
  local spoken = client.protocol_of(one)
  if spoken ~= client.PROTOCOL then
    health.error(('the server speaks protocol %s, this plugin %d'):format(spoken, client.PROTOCOL))
    return
  end
  local params = { command = 'contextpack.status', arguments = { vim.empty_dict() } }
  local response, problem = one:request_sync('workspace/executeCommand', params, WAIT_MS, 0)
  if not response or response.err then
    health.error('the server does not answer: ' .. (problem or response and response.err.message))
    return
  end
  local status = response.result
  health.ok(('contextpackd %s, protocol %d, %s'):format(status.version, spoken, status.mode))
  health.info(('process %d, Python %s'):format(status.pid, status.python))
  for _, root in ipairs(status.roots) do
    local state = ('indexed %d of %d'):format(root.done, root.total)
    if root.indexed then
      state = ('%d files, %s'):format(root.nFiles or 0, root.freshness or '')
    end
    health.info(('%s: %s'):format(root.root, state))
  end
  if type(status.log) == 'string' then
    health.info('log: ' .. status.log)
  end
  if type(status.lastError) == 'string' then
    health.warn('last error: ' .. status.lastError)
  end
end

local function check_clients()
  health.start('Connections')
  local clients = vim.lsp.get_clients({ name = client.NAME })
  if not clients[1] then
    health.info('the server is not running; :ContextPack starts it')
  end
  vim.iter(clients):each(check_client)
end

local function check_chats()
  health.start('Chat plugins')
  local chat = require('contextpack.chat')
  local present = chat.present()
  for _, name in ipairs(present) do
    health.ok(chat.plugins[name].label)
  end
  if not present[1] then
    health.info('none of CodeCompanion, CopilotChat and avante: :ContextPackSend copies')
  end
end

function M.check()
  check_neovim()
  check_program()
  check_clients()
  check_chats()
end

return M
