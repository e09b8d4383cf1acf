--- Taking a file out lets nothing in that the repository or the user's settings leave out.
local stage = dofile(vim.env.STAGE)

vim.fn.writefile({ 'exclude = ["README.md"]' }, stage.root .. '/.contextpack.toml')
vim.lsp.config('contextpackd', { settings = { contextpack = { exclude = { 'docs/' } } } })
stage.edit('src/lending/policy.py')
local pack = stage.changes(function()
  vim.cmd('ContextPack rounding of fees')
end)
assert(vim.list_contains(stage.paths(pack), 'src/lending/fees.py'))
stage.changes(function()
  stage.press('report', 'src/lending/fees.py', 'x')
end)
for _, path in ipairs(stage.paths(pack)) do
  local is_out = vim.list_contains({ 'README.md', 'src/lending/fees.py' }, path)
  assert(not is_out and not vim.startswith(path, 'docs/'), path)
end
stage.equal({ '/src/lending/fees.py' }, pack.fields.exclude)
