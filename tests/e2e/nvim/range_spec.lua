--- Lines of a range are what a pack is about; those of a buffer without a file are words.
local stage = dofile(vim.env.STAGE)

stage.edit('src/lending/policy.py')
local pack = stage.changes(function()
  vim.cmd('39,41ContextPack')
end)
stage.equal('', pack.answer.query)
stage.equal('src/lending/policy.py', pack.answer.items[1].path)
stage.equal('it is what you look at', pack.answer.items[1].reasons[1])
local range = { start = { line = 38, character = 0 }, ['end'] = { line = 41, character = 0 } }
stage.equal(range, pack.fields.focus[1].range)

vim.cmd.wincmd('p')
stage.edit('src/lending/fees.py')
pack = stage.changes(function()
  vim.cmd('1ContextPack ++budgetTokens=2k who calls this')
end)
stage.equal('who calls this', pack.answer.query)
stage.equal('src/lending/fees.py', pack.answer.items[1].path)
stage.equal(2000, pack.answer.budgetTokens)

-- The map of a selection.
stage.edit('src/lending/policy.py')
pack = stage.changes(function()
  vim.api.nvim_feedkeys(vim.keycode('39GVj<Plug>(contextpack)'), 'mtx', false)
end)
stage.equal(40, pack.fields.focus[1].range['end'].line)

-- A stack trace in a buffer of no file.
vim.cmd.enew()
vim.cmd.lcd(vim.fn.fnameescape(stage.root))
vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'File "src/lending/desk.py", line 20', 'KeyError' })
pack = stage.changes(function()
  vim.cmd('%ContextPack')
end)
stage.equal('File "src/lending/desk.py", line 20\nKeyError', pack.answer.query)
stage.equal(nil, pack.fields.focus)
