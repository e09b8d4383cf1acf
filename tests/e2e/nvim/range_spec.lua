--- A range makes a task of its lines, with the place where they stand.
local stage = dofile(vim.env.STAGE)

stage.edit('src/lending/policy.py')
local lines = table.concat(vim.api.nvim_buf_get_lines(0, 38, 41, false), '\n')
local pack = stage.changes(function()
  vim.cmd('39,41ContextPack')
end)
stage.equal('src/lending/policy.py:39-41\n' .. lines, pack.answer.query)
stage.equal('src/lending/policy.py', pack.answer.items[1].path)

vim.cmd.wincmd('p')
stage.edit('src/lending/fees.py')
pack = stage.changes(function()
  vim.cmd('1ContextPack ++budgetTokens=2k who calls this')
end)
stage.has('who calls this\nsrc/lending/fees.py:1-1\n', pack.answer.query)
stage.equal(2000, pack.answer.budgetTokens)

-- The map of a selection.
stage.edit('src/lending/policy.py')
pack = stage.changes(function()
  vim.api.nvim_feedkeys(vim.keycode('39GVj<Plug>(contextpack)'), 'mtx', false)
end)
stage.has('src/lending/policy.py:39-40\n', pack.answer.query)
