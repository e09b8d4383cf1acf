--- A chat's reply: what it names and the pack lacked becomes the pack.

local message = require('contextpack.message')
local pack_of = require('contextpack.pack')

local M = {}

--- What became of the names in a reply.
---@param told contextpack.Reply
---@return string
function M.in_words(told)
  local left_out = vim.iter(told.leftOut):map(function(one)
    local rule = type(one.rule) == 'string' and one.rule or one.reason
    return ('%s (%s)'):format(one.name, rule)
  end):totable()
  local lists = {
    { 'packed', type(told.pack) == 'table' and told.wanted or {} },
    { 'shown before', told.shown },
    { 'left out', left_out },
    { 'in too many files', told.vague },
    { 'nowhere in the workspace', told.unknown },
  }
  ---@type string[]
  local said = {}
  for _, list in ipairs(lists) do
    if list[2][1] then
      said[#said + 1] = list[1] .. ': ' .. table.concat(list[2], ', ')
    end
  end
  return said[1] and table.concat(said, '; ') or 'the answer names no file and no definition'
end

---@param reply string
---@param done fun(told: contextpack.Reply)
function M.ask(reply, done)
  if not pack_of.needed() then
    return
  elseif vim.trim(reply) == '' then
    message.warn("copy the chat's answer first, or select it")
    return
  end
  pack_of.about('answer', { reply = reply }, function(told, of, at)
    if type(told.pack) == 'table' then
      local fields = vim.tbl_extend('force', of.fields, { only = told.wanted })
      for _, name in ipairs({ 'pins', 'details', 'focus', 'origins', 'from', 'diff', 'staged' }) do
        fields[name] = nil
      end
      pack_of.take(at, of.root, fields, told.pack).excluded = of.excluded
    end
    message.say(M.in_words(told))
    done(told)
  end)
end

return M
