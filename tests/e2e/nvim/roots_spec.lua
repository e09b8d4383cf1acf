--- Several folders are packed under one budget, and each line leads to its own folder's file.
local stage = dofile(vim.env.STAGE)

local mail = vim.fs.joinpath(vim.fs.dirname(stage.root), 'mail')
vim.fn.mkdir(mail)
vim.fn.writefile(
  { '"""Letters about objections to a checkout."""', '', 'def letter(): ...' },
  vim.fs.joinpath(mail, 'letters.py')
)

stage.edit('src/lending/policy.py')
vim.cmd.lcd(vim.fn.fnameescape(vim.fs.dirname(stage.root)))
local pack = stage.changes(function()
  vim.cmd('ContextPack ++roots=shop ++roots=mail ++budgetTokens=2k ' .. stage.QUERY)
end)
local names = vim.iter(pack.answer.roots):map(function(one)
  return one.name
end):totable()
stage.equal({ 'mail', 'shop' }, names)
assert(vim.list_contains(stage.paths(pack), 'mail/letters.py'))
assert(vim.list_contains(stage.paths(pack), 'shop/src/lending/policy.py'))
stage.press('bundle', 'def letter()', '<CR>')
stage.equal(vim.fs.joinpath(mail, 'letters.py'), vim.api.nvim_buf_get_name(0))

-- A key of the report is about one folder's file, and the roots stay.
stage.changes(function()
  stage.press('report', 'mail/letters.py', 'x')
end)
stage.equal(false, vim.list_contains(stage.paths(pack), 'mail/letters.py'))
stage.equal(2, #pack.answer.roots)
