--- An enabled server starts with the first file, takes the user's settings, and its code action
--- packs context for the symbol under the cursor.
local stage = dofile(vim.env.STAGE)

vim.lsp.config('contextpackd', { settings = { contextpack = { budgetTokens = '700' } } })
vim.lsp.enable('contextpackd')
stage.edit('src/lending/policy.py')
vim.cmd('doautocmd FileType')
stage.wait_for('client', function()
  return vim.lsp.get_clients({ bufnr = 0, name = 'contextpackd' })[1]
end)
vim.fn.search('objections_to_checkout')
local pack = stage.changes(function()
  vim.lsp.buf.code_action({
    apply = true,
    filter = function(action)
      return action.title:find('^Pack context for') ~= nil
    end,
  })
end)
stage.equal('objections_to_checkout', pack.answer.query)
stage.equal(700, pack.answer.budgetTokens)
stage.equal(1, #vim.lsp.get_clients({ name = 'contextpackd' }))
