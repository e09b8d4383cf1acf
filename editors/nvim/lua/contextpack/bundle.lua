--- The bundle in a buffer: a fold for each file, and a jump from each line to where it comes from.

local config = require('contextpack.config')
local scratch = require('contextpack.scratch')

local M = {}

M.NAME = 'bundle'

local FILETYPES = { markdown = 'markdown', xml = 'xml', plain = 'text' }

---@class contextpack.Block
---@field item contextpack.Item
---@field header integer The row that names the file, from 1.
---@field first integer The first row of its content.
---@field last integer The last row of the block.

---@type contextpack.Block[]
local blocks = {}
---@type table<integer, contextpack.Block>
local by_header = {}

local ENTITIES = { ['&'] = '&amp;', ['<'] = '&lt;', ['>'] = '&gt;', ['"'] = '&quot;' }

---@param text string
---@return string
local function in_xml(text)
  return (text:gsub('[&<>"]', ENTITIES))
end

--- Where each file of a bundle stands in its lines. In Markdown a fence is longer than any run of
--- backticks inside, so that content never looks like its end.
---@param lines string[]
---@param items contextpack.Item[]
---@param format string
---@return contextpack.Block[]
function M.blocks(lines, items, format)
  ---@type contextpack.Block[]
  local found = {}
  local row = 1
  ---@param item contextpack.Item
  ---@param header integer
  ---@param first integer
  local function add(item, header, first)
    found[#found + 1] = { item = item, header = header, first = first, last = #lines }
    if found[#found - 1] then
      found[#found - 1].last = header - 1
    end
  end
  if format == 'markdown' then
    local fence
    while row <= #lines do
      local item = items[#found + 1]
      local line = lines[row]
      if fence then
        fence = line ~= fence and fence or nil
      else
        fence = line:match('^```+')
        local above = lines[row - 1] or ''
        if fence and item and above:sub(1, 1) == '`' and above:find(item.path, 1, true) then
          add(item, row - 1, row + 1)
        end
      end
      row = row + 1
    end
    return found
  end
  for _, item in ipairs(items) do
    local start = '==> ' .. item.path
    if format == 'xml' then
      start = '<file path="' .. in_xml(item.path) .. '"'
    end
    while row <= #lines and not vim.startswith(lines[row], start) do
      row = row + 1
    end
    if row > #lines then
      break
    end
    -- In XML the content begins in the line that names the file.
    add(item, row, format == 'xml' and row or row + 1)
    row = row + 1
  end
  return found
end

--- The line of the file that stands in a row of its block. Rows that are no line of it, such as
--- the mark of a gap, give the line before.
---@param block contextpack.Block
---@param lines string[]
---@param row integer
---@return integer
function M.source_line(block, lines, row)
  local ranges = block.item.ranges
  local n = 1
  if not ranges[1] then
    return 1
  end
  local line = ranges[1][1] - 1
  for at = block.first, math.min(row, block.last) do
    if line < ranges[n][2] then
      line = line + 1
    elseif ranges[n + 1] and (lines[at]:match('^[… ]+$') or lines[at]:find('<gap/>', 1, true)) then
      if at == row then
        return line
      end
      n = n + 1
      line = ranges[n][1] - 1
    end
  end
  return math.max(line, ranges[1][1])
end

---@param row integer
---@return contextpack.Block?
local function block_at(row)
  return vim.iter(blocks):find(function(block)
    return block.header <= row and row <= block.last
  end)
end

--- For 'foldexpr'.
---@param row integer
---@return string
function M.fold_level(row)
  if by_header[row] then
    return '>1'
  end
  return blocks[1] and blocks[1].header <= row and '1' or '0'
end

--- For 'foldtext'.
---@return string
function M.fold_text()
  local block = by_header[vim.v.foldstart]
  if not block then
    return vim.fn.getline(vim.v.foldstart)
  end
  local header = vim.fn.getline(vim.v.foldstart)
  return ('%s  %d tokens, %s'):format(header, block.item.tokens, block.item.detail)
end

--- Go to where the line under the cursor comes from.
function M.jump()
  local pack_of = require('contextpack.pack')
  local pack = pack_of.current
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local block = block_at(row)
  if pack and block then
    local lines = vim.api.nvim_buf_get_lines(0, 0, -1, false)
    scratch.jump(pack_of.file(pack, block.item.path), M.source_line(block, lines, row), column)
  end
end

---@param buf integer
local function map(buf)
  local commands = require('contextpack')
  scratch.map(buf, 'n', '<CR>', 'jump', M.jump, 'Go to the source of this line')
  scratch.map(buf, 'n', 'gf', 'jump', M.jump, 'Go to the source of this line')
  scratch.map(buf, 'n', 'gr', 'report', commands.report, 'What is in, and what is not')
  scratch.map(buf, 'n', 'q', 'close', '<Cmd>close<CR>', 'Close the window')
end

--- Show the bundle, in a window of its own.
---@param pack contextpack.Pack
---@return integer win
function M.show(pack)
  local buf, is_new = scratch.made(M.NAME)
  if is_new then
    map(buf)
  end
  M.refresh(pack)
  local win, is_new_window = scratch.show(M.NAME, config.value('open'))
  if is_new_window then
    vim.wo[win][0].foldmethod = 'expr'
    vim.wo[win][0].foldexpr = "v:lua.require'contextpack.bundle'.fold_level(v:lnum)"
    vim.wo[win][0].foldtext = "v:lua.require'contextpack.bundle'.fold_text()"
    vim.wo[win][0].foldlevel = 99
  end
  vim.api.nvim_set_current_win(win)
  return win
end

--- Bring the buffer up to date, if there is one.
---@param pack contextpack.Pack
function M.refresh(pack)
  local buf = scratch.buffer(M.NAME)
  if not buf then
    return
  end
  local answer = pack.answer
  local lines = vim.split(answer.text, '\n', { plain = true })
  if lines[#lines] == '' then
    table.remove(lines)
  end
  blocks = M.blocks(lines, answer.items, answer.report.format)
  by_header = vim.iter(blocks):fold({}, function(all, block)
    all[block.header] = block
    return all
  end)
  scratch.write(buf, lines)
  local filetype = FILETYPES[answer.report.format]
  if vim.bo[buf].filetype ~= filetype then
    vim.bo[buf].filetype = filetype
  end
end

return M
