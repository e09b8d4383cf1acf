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
    elseif name == 'roots' then
      fields.roots = vim.list_extend(fields.roots or {}, { vim.fs.abspath(value) })
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

--- What is asked about lines of a buffer. The server knows the files of the root; of other
--- buffers, such as one with a stack trace, the lines are words of the task.
---@param words string
---@param root string
---@param buf integer
---@param first integer From 1.
---@param last integer The last line, too.
---@return table<string, any> fields
function M.about_lines(words, root, buf, first, last)
  if M.is_below(buf, root) then
    local range = {
      start = { line = first - 1, character = 0 },
      ['end'] = { line = last, character = 0 },
    }
    return { query = words, focus = { { uri = vim.uri_from_bufnr(buf), range = range } } }
  end
  local lines = vim.api.nvim_buf_get_lines(buf, first - 1, last, false)
  return { query = vim.trim(words .. '\n' .. table.concat(lines, '\n')), focus = {} }
end

---@param buf integer
---@param root string
---@return boolean Whether the buffer is of a file below the root.
function M.is_below(buf, root)
  local name = vim.api.nvim_buf_get_name(buf)
  return vim.bo[buf].buftype == '' and name ~= '' and vim.fs.relpath(root, name) ~= nil
end

-- Fields that say besides words what a pack is about.
local ENTRIES = { 'focus', 'origins', 'from', 'diff', 'staged', 'only' }

--- Whether the fields say what is asked without words.
---@param fields table<string, any>
---@return boolean
function M.has_entry(fields)
  return vim.iter(ENTRIES):any(function(name)
    return fields[name] ~= nil
  end)
end

return M
