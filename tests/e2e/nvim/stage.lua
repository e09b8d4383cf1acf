--- What the specs share. Environment: PLUGIN, SERVER_PYTHON, ROOT (a workspace), EXPECTED (a file
--- with the bundle of `QUERY` under `BUDGET` as the library makes it).

local M = {}

M.QUERY = 'objections to a checkout'
M.BUDGET = 900
M.root = assert(vim.env.ROOT)

-- How long anything may take before a spec fails: machines are busy.
local LIMIT_MS = 60000

---@type string[]
M.said = {}
vim.notify = function(text)
  M.said[#M.said + 1] = text
end

--- Wait until something is so; its value.
function M.wait_for(what, is_so)
  local value
  local is_there = vim.wait(LIMIT_MS, function()
    value = is_so()
    return value
  end, 10)
  if not is_there then
    error(('no %s; said so far: %s'):format(what, vim.inspect(M.said)), 2)
  end
  return value
end

--- Wait for a message with this in it; the message.
function M.wait_said(text)
  return M.wait_for('message with ' .. text, function()
    return vim.iter(M.said):find(function(one)
      return one:find(text, 1, true)
    end)
  end)
end

function M.equal(expected, actual)
  if not vim.deep_equal(expected, actual) then
    error(('expected %s\nbut got  %s'):format(vim.inspect(expected), vim.inspect(actual)), 2)
  end
end

function M.has(part, text)
  if not text:find(part, 1, true) then
    error(('no %s in %s'):format(vim.inspect(part), vim.inspect(text)), 2)
  end
end

--- Run what changes the pack; the pack, once it has changed.
function M.changes(run)
  local n = 0
  local listener = vim.api.nvim_create_autocmd('User', {
    pattern = 'ContextPackChanged',
    callback = function()
      n = n + 1
    end,
  })
  run()
  M.wait_for('change of the pack', function()
    return n > 0
  end)
  vim.api.nvim_del_autocmd(listener)
  return require('contextpack.pack').current
end

--- Make the pack whose bundle is expected.
function M.pack()
  return M.changes(function()
    vim.cmd(('ContextPack ++budgetTokens=%d %s'):format(M.BUDGET, M.QUERY))
  end)
end

function M.expected()
  return table.concat(vim.fn.readfile(vim.env.EXPECTED, 'b'), '\n')
end

function M.edit(path)
  vim.cmd.edit(vim.fs.joinpath(M.root, path))
end

--- The text of one of the plugin's buffers.
function M.text(name)
  local buf = vim.fn.bufnr('contextpack://' .. name)
  assert(buf ~= -1, 'no buffer ' .. name)
  return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n') .. '\n'
end

--- Press keys in the window of one of the plugin's buffers, on the first line that has this and is
--- no warning.
function M.press(name, line, keys)
  local win = vim.fn.bufwinid('contextpack://' .. name)
  assert(win ~= -1, 'no window of ' .. name)
  vim.api.nvim_set_current_win(win)
  local lines = vim.api.nvim_buf_get_lines(0, 0, -1, false)
  for row, text in ipairs(lines) do
    if text:find(line, 1, true) and not vim.startswith(text, '! ') then
      vim.api.nvim_win_set_cursor(win, { row, 0 })
      vim.api.nvim_feedkeys(vim.keycode(keys), 'mtx', false)
      return
    end
  end
  error(('no line with %s in %s'):format(line, table.concat(lines, '\n')), 2)
end

function M.paths(pack)
  return vim.iter(pack.answer.items):map(function(item)
    return item.path
  end):totable()
end

-- The file type of Python looks for a Python with Neovim's client, for seconds.
vim.g.loaded_python3_provider = 0
-- Bundles are compared with those of a question without an editor.
vim.g.contextpack = { focus = false }
vim.opt.runtimepath:prepend(assert(vim.env.PLUGIN))
vim.cmd.runtime('plugin/contextpack.lua')
vim.lsp.config('contextpackd', {
  cmd = { vim.env.SERVER_PYTHON, '-P', '-m', 'contextpackd', 'lsp' },
})

return M
