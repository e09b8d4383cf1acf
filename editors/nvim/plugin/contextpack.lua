--- Commands and <Plug> maps. Nothing is loaded before one of them is used.

if vim.g.loaded_contextpack then
  return
end
vim.g.loaded_contextpack = true

if vim.fn.has('nvim-0.11') == 0 then
  vim.api.nvim_create_user_command('ContextPack', function()
    vim.notify('contextpack: needs Neovim 0.11 or newer', vim.log.levels.ERROR)
  end, { nargs = '*', range = true })
  return
end

---@param name string The command's name after `ContextPack`, and in `contextpack.commands`.
---@param options vim.api.keyset.user_command
local function command(name, options)
  local key = name == '' and 'pack' or name:lower()
  if options.complete == true then
    options.complete = function(...)
      return require('contextpack.completion')[key](...)
    end
  end
  vim.api.nvim_create_user_command('ContextPack' .. name, function(call)
    require('contextpack.commands')[key](call)
  end, options)
end

command('', {
  nargs = '*',
  range = true,
  complete = true,
  desc = 'Pack context for a task; with a range for these lines',
})
command('Answer', {
  nargs = '?',
  range = true,
  desc = "Pack what a chat's reply names and the bundle lacked",
})
command('Live', { nargs = '?', complete = true, desc = 'Keep the pack fresh, or stop it' })
command('Copy', { nargs = 0, desc = 'Copy the bundle' })
command('Send', { nargs = '?', complete = true, desc = 'Hand the bundle to a chat plugin' })
command('Report', { nargs = 0, desc = 'What is in the pack, and what is not' })
command('Explain', { nargs = 0, desc = 'The ranking of files, every score with its parts' })
command('Why', { nargs = '?', complete = true, desc = 'Why a file is in the pack, or is not' })

---@param modes string|string[]
---@param name string
---@param keys string
local function plug(modes, name, keys)
  vim.keymap.set(modes, '<Plug>(contextpack' .. name .. ')', keys)
end

plug('n', '', '<Cmd>ContextPack<CR>')
-- With `:` instead of `<Cmd>`, so that the range of the selection comes along.
plug('x', '', ':ContextPack<CR>')
plug('x', '-answer', ':ContextPackAnswer<CR>')
for _, name in ipairs({ 'Answer', 'Live', 'Copy', 'Send', 'Report', 'Explain', 'Why' }) do
  plug('n', '-' .. name:lower(), '<Cmd>ContextPack' .. name .. '<CR>')
end
