--- What the commands do, for maps and scripts of one's own. See |contextpack-lua|.

local message = require('contextpack.message')
local pack_of = require('contextpack.pack')

local M = {}

--- Make a pack and show it. `fields` are those of `contextpack.pack`; without `query` the user is
--- asked for the task. Where they say nothing but words, the buffer's file is in focus.
---@param fields table<string, any>|fun(root: string): table<string, any>
---@param buf? integer Whose root is asked. Default: the current buffer.
---@param done? fun(pack: contextpack.Pack)
function M.pack(fields, buf, done)
  if type(fields) == 'table' and not fields.query then
    vim.ui.input({ prompt = 'Pack context for: ' }, function(query)
      if query then
        M.pack(vim.tbl_extend('force', fields, { query = query }), buf, done)
      end
    end)
    return
  end
  buf = buf or vim.api.nvim_get_current_buf()
  local is_ours = vim.startswith(vim.api.nvim_buf_get_name(buf), 'contextpack://')
  local root = is_ours and pack_of.current and pack_of.current.root or nil
  ---@param own_root string
  local function fields_of(own_root)
    local all = type(fields) == 'function' and fields(own_root) or fields --[[@as table]]
    local own = vim.tbl_extend('force', {}, all)
    own.uri = nil -- The root stands already.
    local query = require('contextpack.query')
    local is_wanted = require('contextpack.config').value('focus') and not query.has_entry(own)
    if is_wanted and query.is_below(buf, own_root) then
      own.focus = { { uri = vim.uri_from_bufnr(buf) } }
    elseif type(own.focus) == 'table' and not next(own.focus) then
      own.focus = nil
    end
    return own
  end
  pack_of.ask(buf, root, fields_of, function(pack)
    M.show()
    if done then
      done(pack)
    end
  end)
end

--- Pack what a chat's reply about the pack names and the pack lacked.
---@param reply string In Markdown.
---@param done? fun(told: contextpack.Reply)
function M.answer(reply, done)
  require('contextpack.answer').ask(reply, function(told)
    if type(told.pack) == 'table' then
      M.show()
    end
    if done then
      done(told)
    end
  end)
end

--- Show the bundle, and the report if the settings say so. The bundle has the cursor then.
function M.show()
  local pack = pack_of.needed()
  if not pack then
    return
  end
  local win = require('contextpack.bundle').show(pack)
  if require('contextpack.config').value('report') then
    require('contextpack.report').show(pack)
    vim.api.nvim_set_current_win(win)
  end
end

--- Show the report.
function M.report()
  local pack = pack_of.needed()
  if pack then
    require('contextpack.report').show(pack)
  end
end

--- Keep the pack fresh, or stop it.
---@param is_live? boolean Default: the other way than now.
function M.live(is_live)
  local pack = pack_of.needed()
  if not pack then
    return
  end
  if is_live == nil then
    is_live = not pack.is_live
  end
  pack_of.live(is_live, function(is_on)
    message.say(is_on and 'the pack is live' or 'the pack is no longer live')
    require('contextpack.report').refresh(pack)
  end)
end

--- Copy the bundle.
function M.copy()
  local pack = pack_of.needed()
  if pack then
    local where = require('contextpack.registers').copy(pack.answer.text)
    message.say(('%d tokens are %s'):format(pack.answer.tokens, where))
  end
end

--- Copy the bundle, and hand it to a chat plugin.
---@param only? string The one plugin to try: `codecompanion`, `copilotchat` or `avante`.
function M.send(only)
  local pack = pack_of.needed()
  if not pack then
    return
  end
  local where = require('contextpack.registers').copy(pack.answer.text)
  local label, problems = require('contextpack.chat').send(pack, only)
  for _, problem in ipairs(problems) do
    message.warn(problem)
  end
  if label then
    message.say(('handed to %s; the bundle is also %s'):format(label, where))
  else
    message.say(('no chat plugin took the bundle; it is %s'):format(where))
  end
end

--- Show the ranking of files for the pack's task.
---@param done? fun()
function M.explain(done)
  require('contextpack.explain').show(done)
end

--- Say why a file is in the pack, or is not.
---@param path? string Relative to the root. Default: the current buffer's file.
---@param done? fun(lines: string[])
function M.why(path, done)
  require('contextpack.why').show(path, done)
end

---@param n integer
---@return string Such as `7.9k`.
local function short(n)
  if n < 1000 then
    return tostring(n)
  end
  return (('%.1fk'):format(n / 1000):gsub('%.0k', 'k'))
end

--- A component for a status line, such as `ctx 7.9k/8k · 12 files · live`. Empty without a pack.
---@return string
function M.statusline()
  local pack = pack_of.current
  if pack_of.is_pending() then
    return 'ctx …'
  elseif not pack then
    return ''
  end
  local answer = pack.answer
  local n_files = #answer.items
  return ('ctx %s/%s · %d file%s%s'):format(
    short(answer.tokens),
    short(answer.budgetTokens),
    n_files,
    n_files == 1 and '' or 's',
    pack.is_live and ' · live' or ''
  )
end

return M
