--- The one pack that is looked at: what was asked, and what the server answered.

local client = require('contextpack.client')
local message = require('contextpack.message')

local M = {}

---@class contextpack.Pack
---@field root string
---@field client_id integer
---@field fields table<string, any> What was asked, as `contextpack.pack` takes it.
---@field answer contextpack.Answer
---@field is_live boolean
---@field excluded? table<string, true> The paths that the user took out.
---@field n_asked integer How often; only the last answer counts.

---@type contextpack.Pack?
M.current = nil

local REQUEST_CANCELLED = -32800
local n_new = 0
---@type { client: vim.lsp.Client, request: integer }?
local pending = nil

--- Whether an answer is on its way.
---@return boolean
function M.is_pending()
  return pending ~= nil and not pending.client:is_stopped()
end

--- The current pack. Without one the user is told how to make it.
---@return contextpack.Pack?
function M.needed()
  if not M.current then
    message.warn('no pack yet; :ContextPack makes one')
  end
  return M.current
end

---@param pack contextpack.Pack
---@param answer contextpack.Answer
local function accept(pack, answer)
  pack.answer = answer
  M.current = pack
  require('contextpack.bundle').refresh(pack)
  require('contextpack.report').refresh(pack)
  vim.api.nvim_exec_autocmds('User', {
    pattern = 'ContextPackChanged',
    modeline = false,
    data = { packId = answer.packId, revision = answer.revision },
  })
  vim.cmd.redrawstatus({ bang = true })
end

---@param at vim.lsp.Client
---@param argument table
---@param done fun(problem: contextpack.Error?, answer: contextpack.Answer)
local function ask(at, argument, done)
  local mine
  local request = client.send(at, 'pack', argument, function(problem, answer)
    if pending and pending == mine then
      pending = nil
    end
    done(problem, answer)
    vim.cmd.redrawstatus({ bang = true })
  end)
  if request then
    mine = { client = at, request = request }
    pending = mine
    vim.cmd.redrawstatus({ bang = true })
  else
    message.fail('the server is gone; ask again')
  end
end

--- Fields with the place that they are about.
---@param fields table<string, any> With `roots` if they are about several folders.
---@param root string
---@return table<string, any>
function M.placed(fields, root)
  return fields.roots and fields or vim.tbl_extend('force', fields, { root = root })
end

--- The file that a path of a pack names.
---@param pack contextpack.Pack
---@param path string
---@return string
function M.file(pack, path)
  for _, home in ipairs(pack.answer.roots or {}) do
    if vim.startswith(path, home.name .. '/') then
      return vim.fs.joinpath(home.root, path:sub(#home.name + 2))
    end
  end
  return vim.fs.joinpath(pack.root, path)
end

---@param problem contextpack.Error
local function tell(problem)
  if problem.code ~= REQUEST_CANCELLED then
    message.fail(problem.message)
  end
end

--- Make a new pack, which takes the place of the current one. A question that still waits for its
--- answer is cancelled.
---@param buf integer Whose root is asked.
---@param root? string The root to ask instead.
---@param fields_of fun(root: string): table
---@param done? fun(pack: contextpack.Pack)
function M.ask(buf, root, fields_of, done)
  n_new = n_new + 1
  local mine = n_new
  if pending then
    pending.client:cancel_request(pending.request)
  end
  client.with(buf, root, function(at, own_root)
    local fields = fields_of(own_root)
    ask(at, M.placed(fields, own_root), function(problem, answer)
      if mine ~= n_new then
        return
      elseif problem then
        tell(problem)
        return
      end
      local pack = M.take(at, own_root, fields, answer)
      if done then
        done(pack)
      end
    end)
  end)
end

--- Have a pack that the server made take the place of the current one.
---@param at vim.lsp.Client
---@param root string
---@param fields table<string, any> What asks for it.
---@param answer contextpack.Answer
---@return contextpack.Pack
function M.take(at, root, fields, answer)
  local before = M.current
  local holder = before and vim.lsp.get_client_by_id(before.client_id)
  if before and holder then
    client.send(holder, 'close', { packId = before.answer.packId }, function() end)
  end
  ---@type contextpack.Pack
  local pack = {
    root = root,
    client_id = at.id,
    fields = fields,
    answer = answer,
    is_live = false,
    n_asked = 0,
  }
  accept(pack, answer)
  return pack
end

---@param pack contextpack.Pack
---@param done? fun(is_live: boolean)
local function follow(pack, done)
  local at = vim.lsp.get_client_by_id(pack.client_id)
  if not at then
    return
  end
  local argument = { packId = pack.answer.packId, on = pack.is_live }
  client.send(at, 'live', argument, function(problem)
    if problem then
      pack.is_live = false
      tell(problem)
    end
    vim.cmd.redrawstatus({ bang = true })
    if done then
      done(pack.is_live)
    end
  end)
end

--- Ask the whole question again: the server, or the connection, does not know the pack any more.
---@param pack contextpack.Pack
---@param took fun(problem: contextpack.Error?, answer: contextpack.Answer)
local function anew(pack, took)
  client.with(vim.api.nvim_get_current_buf(), pack.root, function(at)
    local given = vim.iter(pack.fields):fold({}, function(all, name, value)
      all[name] = value ~= vim.NIL and value or nil
      return all
    end)
    ask(at, M.placed(given, pack.root), function(problem, answer)
      pack.client_id = at.id
      took(problem, answer)
      if not problem and pack.is_live then
        follow(pack)
      end
    end)
  end)
end

--- Pack again with changed fields; `vim.NIL` resets one.
---@param changes table<string, any>
---@param done? fun(pack: contextpack.Pack)
function M.again(changes, done)
  local pack = M.needed()
  if not pack then
    return
  end
  local before = pack.fields
  pack.fields = vim.tbl_extend('force', before, changes)
  pack.n_asked = pack.n_asked + 1
  local mine = pack.n_asked
  ---@param problem contextpack.Error?
  ---@param answer contextpack.Answer
  local function took(problem, answer)
    if mine ~= pack.n_asked or pack ~= M.current then
      return
    elseif problem then
      pack.fields = before
      tell(problem)
      return
    end
    accept(pack, answer)
    if done then
      done(pack)
    end
  end
  local at = vim.lsp.get_client_by_id(pack.client_id)
  if not at or at:is_stopped() then
    anew(pack, took)
    return
  end
  local argument = vim.tbl_extend('force', changes, { packId = pack.answer.packId })
  ask(at, argument, function(problem, answer)
    if problem and problem.data and problem.data.field == 'packId' then
      anew(pack, took)
    else
      took(problem, answer)
    end
  end)
end

--- Ask something about the pack. A server that has gone is started and gets the pack again.
---@param name string The command's name after `contextpack.`
---@param argument table Its fields besides `packId`.
---@param done fun(result: any, pack: contextpack.Pack, at: vim.lsp.Client)
function M.about(name, argument, done)
  local pack = M.needed()
  local at = pack and vim.lsp.get_client_by_id(pack.client_id)
  if not pack then
    return
  elseif not at or at:is_stopped() then
    M.again({}, function()
      M.about(name, argument, done)
    end)
    return
  end
  local fields = vim.tbl_extend('force', argument, { packId = pack.answer.packId })
  client.send(at, name, fields, function(problem, result)
    if problem then
      tell(problem)
    else
      done(result, pack, at)
    end
  end)
end

--- Keep the pack fresh, or stop it.
---@param is_live boolean
---@param done? fun(is_live: boolean)
function M.live(is_live, done)
  local pack = M.needed()
  if not pack then
    return
  end
  pack.is_live = is_live
  if vim.lsp.get_client_by_id(pack.client_id) then
    follow(pack, done)
  else
    M.again({}, done and function()
      done(is_live)
    end)
  end
end

--- The server says that a live pack has another text now.
---@param changed contextpack.Changed
---@param client_id integer
function M.changed(changed, client_id)
  local pack = M.current
  if pack and pack.client_id == client_id and pack.answer.packId == changed.packId then
    M.again({})
  end
end

return M
