--- Why a file is in the pack, or is not, and what would change that.

local message = require('contextpack.message')
local pack_of = require('contextpack.pack')

local M = {}

local AS = {
  cut = ', cut',
  outline = ', in outline',
  pointer = ', as a pointer',
  along = ', along with others',
}
local STANDS = { ['in'] = 'in', part = 'partly in', out = 'out' }

---@param found contextpack.Why
---@return string?
local function admission(found)
  local of = found.admission
  if type(of) ~= 'table' then
    return nil
  elseif type(of.budgetTokens) ~= 'number' then
    return ('no budget up to %d tokens lets it in'):format(of.mostTokens)
  end
  local least = of.nUntried > 0 and 'smallest budget found' or 'smallest budget'
  local as = AS[of.way] or ''
  local said = ('%d tokens is the %s that lets it in%s; '):format(of.budgetTokens, least, as)
  if type(of.outAgainAt) == 'number' then
    said = said .. ('it is out again at %d'):format(of.outAgainAt)
  else
    said = said .. 'a larger one may leave it out'
  end
  if type(of.inAgainAt) == 'number' then
    said = said .. (', in at %d'):format(of.inAgainAt)
  end
  return said
end

---@param found contextpack.Why
---@return string?
local function displaced(found)
  local of = found.displaces
  if type(of) ~= 'table' then
    return nil
  end
  local way = of.by == 'pin' and 'pinned' or 'put first'
  if not of.fits then
    return way .. ', it does not fit either'
  end
  local left = vim.iter(of.files):map(function(file)
    return file.gone and file.path or 'parts of ' .. file.path
  end):totable()
  if not left[1] then
    return way .. ', nothing has to leave'
  end
  return ('%s, it takes the place of %s'):format(way, table.concat(left, ', '))
end

---@param found contextpack.Why
---@return string[]
function M.lines(found)
  local place = found.path
  if type(found.lines) == 'table' then
    place = ('%s:%d-%d'):format(place, found.lines[1], found.lines[2])
  end
  local lines = { ('%s: %s: %s'):format(place, STANDS[found.state], found.because) }
  local function add(text)
    lines[#lines + 1] = text and '- ' .. text
  end
  if type(found.rank) == 'number' then
    local is_part = type(found.lines) == 'table'
    local lowest = is_part and 'the lowest in by its own score' or 'the lowest in'
    local scores = ('score %.3f; %s has %.3f'):format(found.score, lowest, found.cutScore)
    add(('rank %d of %d, %s'):format(found.rank, found.nRanked, scores))
  end
  add(admission(found))
  add(displaced(found))
  for name, score in vim.spairs(found.parts) do
    add(('%s: %.3f'):format(name, score))
  end
  return lines
end

--- Say it in a small window.
---@param path? string Relative to the root, perhaps with `:line` behind it. Default: the current
--- buffer's file.
---@param done? fun(lines: string[])
function M.show(path, done)
  if not pack_of.needed() then
    return
  end
  path = path or vim.api.nvim_buf_get_name(0)
  if path == '' or vim.startswith(path, 'contextpack://') then
    message.warn('no file is meant; name one')
    return
  end
  pack_of.about('why', { path = path }, function(found)
    local lines = M.lines(found)
    vim.lsp.util.open_floating_preview(lines, 'markdown', {
      border = 'rounded',
      focus_id = 'contextpack-why',
    })
    if done then
      done(lines)
    end
  end)
end

return M
