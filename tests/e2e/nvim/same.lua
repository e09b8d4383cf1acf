--- Writes the bundle of the question that was asked in VS Code last to the file SEEN.
local stage = dofile(vim.env.STAGE)

vim.g.contextpack = { focus = true }
stage.edit('src/lending/policy.py')
local pack = stage.pack()
vim.fn.writefile(vim.split(pack.answer.text, '\n', { plain = true }), vim.env.SEEN, 'b')
