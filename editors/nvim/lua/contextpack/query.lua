--- What the user wrote after `:ContextPack`, as fields of `contextpack.pack`.

local options = require('contextpack.options')

local M = {}

--- `++name=value` at the beginning are options, the rest is the task. A name without a value is a
--- switch that is on. What is no option or no value is the server's to refuse.
---@param text string
---@return table<string, any> fields
function M.fields(text)
  ---@type table<string, any>
  local fields = {}
  while true do
    local name, value, rest = text:match('^%s*%+%+(%w+)=(%S*)%s*(.*)$')
    if not name then
      name, rest = text:match('^%s*%+%+(%w+)%s*(.*)$')
    end
    if not name then
      break
    end
    text = rest
    local shape = options[name]
    if value == nil then
      fields[name] = true
    elseif shape == 'switch' then
      fields[name] = value ~= 'false'
    elseif shape == 'list' then
      fields[name] = vim.list_extend(fields[name] or {}, { value })
    elseif shape == 'details' then
      local path, detail = value:match('^(.*)=(.-)$')
      fields[name] = vim.tbl_extend('force', fields[name] or {}, { [path or value] = detail or '' })
    else
      fields[name] = value
    end
  end
  fields.query = vim.trim(text)
  return fields
end

--- A task about lines of a buffer: the words, where the lines stand, and the lines.
---@param words string
---@param root string
---@param buf integer
---@param first integer From 1.
---@param last integer The last line, too.
---@return string
function M.about_lines(words, root, buf, first, last)
  local name = vim.api.nvim_buf_get_name(buf)
  local path = vim.fs.relpath(root, name) or vim.fs.basename(name)
  local lines = vim.api.nvim_buf_get_lines(buf, first - 1, last, false)
  local place = ('%s:%d-%d'):format(path, first, last)
  return vim.trim(table.concat({ words, place, table.concat(lines, '\n') }, '\n'))
end

return M
