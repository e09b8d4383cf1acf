--- Why a file is in the pack, or is not: its entry in the ledger, in words.

local message = require('contextpack.message')
local pack_of = require('contextpack.pack')

local M = {}

---@param entry contextpack.Entry
---@return string[]
local function left_out(entry)
  local lines = { ('%s: left out, %s'):format(entry.path, entry.reason) }
  if entry.rule then
    lines[#lines + 1] = '- by ' .. entry.rule
  end
  if entry.duplicateOf then
    local alike = entry.similarity or 0
    lines[#lines + 1] = ('- repeats %s (%.2f alike)'):format(entry.duplicateOf, alike)
  end
  if type(entry.tokens) == 'number' then
    lines[#lines + 1] = ('- %d tokens'):format(entry.tokens)
  end
  if type(entry.score) == 'number' then
    lines[#lines + 1] = ('- score %.3f'):format(entry.score)
  end
  return lines
end

---@param item contextpack.Item
---@param entry contextpack.Entry
---@return string[]
local function included(item, entry)
  local lines = {
    ('%s: in, %s, %s, %d tokens'):format(item.path, item.detail, entry.reason, item.tokens),
  }
  for _, reason in ipairs(item.reasons) do
    lines[#lines + 1] = '- ' .. reason
  end
  for name, score in vim.spairs(item.parts) do
    lines[#lines + 1] = ('- %s: %.3f'):format(name, score)
  end
  return lines
end

--- What the ledger says of a path. What is in a directory that is left out has its entry.
---@param path string
---@param items contextpack.Item[]
---@param ledger contextpack.Entry[]
---@return string[]
function M.lines(path, items, ledger)
  ---@type contextpack.Entry?
  local found
  for _, entry in ipairs(ledger) do
    if entry.path == path then
      found = entry
      break
    elseif vim.startswith(path, (entry.path:gsub('/$', '')) .. '/') then
      found = entry
    end
  end
  local item = vim.iter(items):find(function(one)
    return one.path == path
  end)
  if not found then
    return { path .. ': not in the workspace' }
  end
  return item and included(item, found) or left_out(found)
end

---@param path? string
---@param done? fun(lines: string[])
function M.show(path, done)
  local pack = pack_of.needed()
  if not pack then
    return
  end
  local name = vim.api.nvim_buf_get_name(0)
  path = path or vim.fs.relpath(pack.root, name)
  if not path then
    message.warn('no file below ' .. pack.root .. ': ' .. name)
    return
  end
  pack_of.whole_ledger(function(of, ledger)
    local lines = M.lines(path, of.answer.items, ledger)
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
