--- The ranking of files for the pack's task, every score with its parts.

local client = require('contextpack.client')
local message = require('contextpack.message')
local pack_of = require('contextpack.pack')
local scratch = require('contextpack.scratch')

local M = {}

M.NAME = 'explain'

---@param found table What `contextpack.explain` answers.
---@return string[] lines The first file stands in the third.
function M.lines(found)
  local lines = {
    ('# %s'):format((found.query:gsub('\n', ' '))),
    ('%d of %d files have a score (%s)'):format(found.nRanked, found.nFiles, found.scorer),
  }
  for _, file in ipairs(found.files) do
    ---@type string[]
    local parts = {}
    for name, score in vim.spairs(file.parts) do
      parts[#parts + 1] = ('%s %.3f'):format(name, score)
    end
    lines[#lines + 1] = ('%8.3f  %s  (%s)'):format(file.score, file.path, table.concat(parts, ', '))
  end
  return lines
end

---@param pack contextpack.Pack
---@param found table
local function show(pack, found)
  local buf = scratch.made(M.NAME)
  scratch.write(buf, M.lines(found))
  scratch.map(buf, 'n', 'q', 'close', '<Cmd>close<CR>', 'Close the window')
  scratch.map(buf, 'n', '<CR>', 'jump', function()
    local file = found.files[vim.fn.line('.') - 2]
    if file then
      scratch.jump(pack_of.file(pack, file.path), 1)
    end
  end, 'Go to the file')
  local win = scratch.show(M.NAME, 'botright split')
  vim.api.nvim_set_current_win(win)
end

---@param done? fun()
function M.show(done)
  local pack = pack_of.needed()
  if not pack then
    return
  end
  client.with(vim.api.nvim_get_current_buf(), pack.root, function(at)
    local fields = vim.iter(pack.fields):fold({}, function(all, name, value)
      all[name] = value ~= vim.NIL and value or nil
      return all
    end)
    client.send(at, 'explain', pack_of.placed(fields, pack.root), function(problem, found)
      if problem then
        message.fail(problem.message)
        return
      end
      show(pack, found)
      if done then
        done()
      end
    end)
  end)
end

return M
