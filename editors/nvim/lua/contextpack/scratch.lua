--- Buffers that show something of ours: read-only, in no file, one of each name.

local M = {}

---@type table<string, integer>
local buffers = {}

---@param name string
---@return integer? The buffer, if there is one.
function M.buffer(name)
  local buf = buffers[name]
  return buf and vim.api.nvim_buf_is_valid(buf) and buf or nil
end

---@param name string
---@return integer? A window of this tab page that shows the buffer.
function M.window(name)
  local buf = M.buffer(name)
  local win = buf and vim.fn.bufwinid(buf) or -1
  return win ~= -1 and win or nil
end

--- The buffer of this name, made if need be, and whether it was.
---@param name string
---@return integer buf
---@return boolean is_new
function M.made(name)
  local known = M.buffer(name)
  if known then
    return known, false
  end
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buf, 'contextpack://' .. name)
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].modifiable = false
  buffers[name] = buf
  return buf, true
end

--- Show the buffer: in its window if there is one, else in one that `open` makes.
---@param name string
---@param open string A command such as `botright vsplit`.
---@return integer win
---@return boolean is_new
function M.show(name, open)
  local known = M.window(name)
  if known then
    return known, false
  end
  vim.cmd(open)
  local win = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(win, assert(M.buffer(name)))
  -- In a window that was split from another, `number` and such stay as they were.
  vim.wo[win][0].wrap = false
  return win, true
end

--- Put these lines into the buffer. Only what differs is replaced, so that cursors and folds of
--- what stays do not move.
---@param buf integer
---@param lines string[]
function M.write(buf, lines)
  local old = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local n_same = 0
  while n_same < #old and n_same < #lines and old[n_same + 1] == lines[n_same + 1] do
    n_same = n_same + 1
  end
  local n_end = 0
  local n_most = math.min(#old, #lines) - n_same
  while n_end < n_most and old[#old - n_end] == lines[#lines - n_end] do
    n_end = n_end + 1
  end
  if n_same == #old and n_same == #lines then
    return
  end
  vim.bo[buf].modifiable = true
  local changed = vim.list_slice(lines, n_same + 1, #lines - n_end)
  vim.api.nvim_buf_set_lines(buf, n_same, #old - n_end, true, changed)
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
end

--- Show a line of a file beside our own windows.
---@param file string
---@param line integer From 1.
---@param column? integer From 0.
function M.jump(file, line, column)
  if not vim.uv.fs_stat(file) then
    require('contextpack.message').warn('no such file: ' .. file)
    return
  end
  ---@param win integer
  local function is_ordinary(win)
    return vim.bo[vim.api.nvim_win_get_buf(win)].buftype == ''
      and vim.api.nvim_win_get_config(win).relative == ''
  end
  local last = vim.fn.win_getid(vim.fn.winnr('#'))
  local windows = vim.list_extend({ last }, vim.api.nvim_tabpage_list_wins(0))
  local target = vim.iter(windows):find(function(win)
    return win ~= 0 and is_ordinary(win)
  end)
  if target then
    vim.api.nvim_set_current_win(target)
    vim.cmd("normal! m'")
  else
    vim.cmd('topleft vsplit')
  end
  -- Not `:edit`, which reads the file anew, and refuses to if the buffer was changed.
  local buf = vim.fn.bufadd(file)
  vim.bo[buf].buflisted = true
  vim.api.nvim_win_set_buf(0, buf)
  local at = math.min(math.max(line, 1), vim.api.nvim_buf_line_count(0))
  vim.api.nvim_win_set_cursor(0, { at, column or 0 })
  vim.cmd('normal! zv')
end

--- A map of one of our buffers: its <Plug> name, and the default key for it.
---@param buf integer
---@param modes string|string[]
---@param key string
---@param name string The <Plug> map is `<Plug>(contextpack-name)`.
---@param run function
---@param desc string
function M.map(buf, modes, key, name, run, desc)
  local plug = '<Plug>(contextpack-' .. name .. ')'
  vim.keymap.set(modes, plug, run, { buffer = buf, desc = desc })
  vim.keymap.set(modes, key, plug, { buffer = buf, remap = true, nowait = true, desc = desc })
end

return M
