--- The commands' arguments, read. What they do stands in `contextpack`.

local query = require('contextpack.query')

local M = {}

---@param call vim.api.keyset.create_user_command.command_args
function M.pack(call)
  local contextpack = require('contextpack')
  local fields = query.fields(call.args)
  if call.range == 0 then
    local is_asked = fields.query ~= '' or query.has_entry(fields)
    fields.query = is_asked and fields.query or nil
    contextpack.pack(fields)
    return
  end
  local buf = vim.api.nvim_get_current_buf()
  contextpack.pack(function(root)
    local asked = query.about_lines(fields.query, root, buf, call.line1, call.line2)
    return vim.tbl_extend('force', fields, asked)
  end, buf)
end

---@param call vim.api.keyset.create_user_command.command_args
function M.answer(call)
  local contextpack = require('contextpack')
  if call.range == 0 then
    contextpack.answer(require('contextpack.registers').pasted(call.args))
    return
  end
  local lines = vim.api.nvim_buf_get_lines(0, call.line1 - 1, call.line2, false)
  contextpack.answer(table.concat(lines, '\n'))
end

---@param call vim.api.keyset.create_user_command.command_args
function M.live(call)
  if not vim.list_contains({ '', 'on', 'off' }, call.args) then
    require('contextpack.message').fail(':ContextPackLive takes on or off, or nothing')
    return
  end
  require('contextpack').live(({ on = true, off = false })[call.args])
end

function M.copy()
  require('contextpack').copy()
end

---@param call vim.api.keyset.create_user_command.command_args
function M.send(call)
  require('contextpack').send(call.args ~= '' and call.args or nil)
end

function M.report()
  require('contextpack').report()
end

function M.explain()
  require('contextpack').explain()
end

---@param call vim.api.keyset.create_user_command.command_args
function M.why(call)
  require('contextpack').why(call.args ~= '' and call.args or nil)
end

return M
