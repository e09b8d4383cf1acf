--- The server's client: starting it, and sending it commands.

local message = require('contextpack.message')

local M = {}

M.NAME = 'contextpackd'

--- The version of `editors/PROTOCOL.md` that this plugin speaks.
M.PROTOCOL = 1

-- How often a client that starts is looked at: Neovim tells only who started it.
local LOOK_MS = 20

---@param client vim.lsp.Client
---@return integer? The version of the protocol that the server speaks.
function M.protocol_of(client)
  local capabilities = client.server_capabilities or {}
  local own = type(capabilities.experimental) == 'table' and capabilities.experimental.contextpack
  return type(own) == 'table' and own.protocol or nil
end

---@param buf integer
---@return boolean Whether the buffer is a file's.
local function is_file(buf)
  return vim.bo[buf].buftype == '' and vim.api.nvim_buf_get_name(buf) ~= ''
end

--- Open buffers hide the files on disk, so the server must know of all of them.
---@param id integer
---@param root string
local function attach_below(id, root)
  ---@param buf integer
  local function attach(buf)
    local is_below = vim.api.nvim_buf_is_loaded(buf)
      and is_file(buf)
      and vim.fs.relpath(root, vim.api.nvim_buf_get_name(buf))
    if is_below then
      vim.lsp.buf_attach_client(buf, id)
    end
  end
  vim.iter(vim.api.nvim_list_bufs()):each(attach)
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufFilePost' }, {
    group = vim.api.nvim_create_augroup('contextpack.' .. id, {}),
    callback = function(event)
      if not vim.lsp.get_client_by_id(id) then
        return true -- The client is gone, and so goes this.
      end
      attach(event.buf)
    end,
  })
end

---@param id integer
---@param root string
---@param ready fun(client: vim.lsp.Client)
local function when_ready(id, root, ready)
  local client = vim.lsp.get_client_by_id(id)
  if not client or client:is_stopped() then
    message.fail('the server did not start; :checkhealth contextpack says more')
  elseif not client.initialized then
    vim.defer_fn(function()
      when_ready(id, root, ready)
    end, LOOK_MS)
  elseif M.protocol_of(client) ~= M.PROTOCOL then
    local spoken = tostring(M.protocol_of(client))
    message.fail(
      ('the server speaks protocol %s, this plugin %d; update the older one'):format(
        spoken,
        M.PROTOCOL
      )
    )
    client:stop()
  else
    attach_below(id, root)
    ready(client)
  end
end

---@param buf integer
---@param config vim.lsp.Config
---@param found fun(root: string)
local function with_root(buf, config, found)
  if type(config.root_dir) == 'function' then
    config.root_dir(buf, found)
    return
  end
  local cwd = assert(vim.uv.cwd())
  local file = is_file(buf) and vim.api.nvim_buf_get_name(buf) or nil
  local root = config.root_dir or vim.fs.root(file or cwd, config.root_markers or {})
  -- Without a mark, the directory that the user works in; a file from elsewhere has its own.
  found(root or (file and not vim.fs.relpath(cwd, file) and vim.fs.dirname(file)) or cwd)
end

--- Have a client for a buffer's root, or for `root`, started if need be. When there can be none,
--- the user is told and `ready` is never called.
---@param buf integer
---@param root? string
---@param ready fun(client: vim.lsp.Client, root: string)
function M.with(buf, root, ready)
  local config = vim.lsp.config[M.NAME]
  if not config then
    message.fail('lsp/contextpackd.lua is not on the runtimepath')
    return
  end
  ---@param at string
  local function start(at)
    local cmd = config.cmd
    if type(cmd) == 'table' and vim.fn.executable(cmd[1]) == 0 then
      message.fail(
        ('no program %s; install contextpackd, or set `cmd` of vim.lsp.config.%s'):format(
          cmd[1],
          M.NAME
        )
      )
      return
    end
    local own = vim.tbl_extend('force', vim.deepcopy(config), { name = M.NAME, root_dir = at })
    local id = vim.lsp.start(own, { bufnr = buf, attach = false })
    if id then
      when_ready(id, at, function(client)
        ready(client, at)
      end)
    end
  end
  if root then
    start(root)
  else
    with_root(buf, config, start)
  end
end

--- Send a command. Edits that Neovim still holds back in the current buffer go first.
---@param client vim.lsp.Client
---@param name string The command's name after `contextpack.`
---@param argument table
---@param done fun(problem: contextpack.Error?, result: any)
---@return integer? The request, for `client:cancel_request`.
function M.send(client, name, argument, done)
  local params = {
    command = 'contextpack.' .. name,
    -- An empty table would be a list on the wire.
    arguments = { next(argument) and argument or vim.empty_dict() },
  }
  local _, request = client:request('workspace/executeCommand', params, function(problem, result)
    done(problem, result)
  end, 0)
  return request
end

return M
