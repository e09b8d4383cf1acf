--- A pack by command: the bundle as the library makes it, read-only, with a fold for each file.
local stage = dofile(vim.env.STAGE)

stage.edit('src/lending/policy.py')
local pack = stage.pack()

stage.equal(stage.expected(), pack.answer.text)
stage.equal(stage.expected(), stage.text('bundle'))
stage.equal(vim.fn.bufnr('contextpack://bundle'), vim.api.nvim_get_current_buf())
stage.equal('markdown', vim.bo.filetype)
stage.equal({ false, 'nofile' }, { vim.bo.modifiable, vim.bo.buftype })

-- A fold for each file, and nothing of the preamble in it.
local headers = {}
for row = 1, vim.fn.line('$') do
  if vim.fn.foldlevel(row) == 1 and require('contextpack.bundle').fold_level(row) == '>1' then
    headers[#headers + 1] = vim.fn.getline(row):match('^`([^:`]+)')
  end
end
stage.equal(stage.paths(pack), headers)
stage.equal(0, vim.fn.foldlevel(1))
vim.cmd('normal! zM')
local first = vim.fn.search('^`', 'cw')
stage.has(pack.answer.items[1].tokens .. ' tokens, chunks', vim.fn.foldtextresult(first))

-- The report stands below.
stage.has(('%d/900 tokens'):format(pack.answer.tokens), stage.text('report'))
for _, path in ipairs(stage.paths(pack)) do
  stage.has(path, stage.text('report'))
end

-- The component for status lines.
stage.equal(
  ('ctx %d/900 · %d files'):format(pack.answer.tokens, #pack.answer.items),
  require('contextpack').statusline()
)

-- Another pack takes the place of this one, in the same windows.
local n_windows = #vim.api.nvim_list_wins()
local after = stage.changes(function()
  vim.cmd('ContextPack ++textFormat=xml fees')
end)
stage.equal('fees', after.answer.query)
stage.equal(8000, after.answer.budgetTokens)
stage.equal('xml', vim.bo.filetype)
stage.equal(n_windows, #vim.api.nvim_list_wins())
stage.equal({}, stage.said)
