--- Completion of the commands' arguments.

local M = {}

---@param lead string
---@param words string[]
---@return string[] Those that begin with `lead`, sorted.
local function starting(lead, words)
  local found = vim.iter(words):filter(function(word)
    return vim.startswith(word, lead)
  end):totable()
  table.sort(found)
  return found
end

--- Options as `++name=value`; for the first word also the task of the current pack.
---@param lead string
---@param line string
---@return string[]
function M.pack(lead, line)
  local options = require('contextpack.options')
  local name = lead:match('^%+%+(%w+)=')
  local shape = name and options[name]
  if shape then
    local values = type(shape) == 'table' and shape
      or shape == 'switch' and { 'true', 'false' }
      or {}
    return starting(lead, vim.iter(values):map(function(value)
      return '++' .. name .. '=' .. value
    end):totable())
  elseif vim.startswith(lead, '+') then
    local words = vim.iter(options):map(function(option, of)
      return '++' .. option .. (of == 'switch' and '' or '=')
    end)
    return starting(lead, words:totable())
  end
  local pack = require('contextpack.pack').current
  local is_first = line:match('^%S+%s+%S*$') ~= nil
  local query = pack and pack.answer.query or ''
  return is_first and query ~= '' and not query:find('\n') and starting(lead, { query }) or {}
end

---@param lead string
---@return string[]
function M.live(lead)
  return starting(lead, { 'on', 'off' })
end

---@param lead string
---@return string[]
function M.send(lead)
  return starting(lead, require('contextpack.chat').present())
end

--- The paths in the pack's ledger.
---@param lead string
---@return string[]
function M.why(lead)
  local pack = require('contextpack.pack').current
  local ledger = pack and pack.answer.ledger or {}
  return starting(lead, vim.iter(ledger):map(function(entry)
    return entry.path
  end):totable())
end

return M
