--- Without the program, or with one that is no server, the user is told, and nothing is left.
local stage = dofile(vim.env.STAGE)

stage.edit('src/lending/policy.py')
vim.lsp.config('contextpackd', { cmd = { 'no-such-contextpackd' } })
vim.cmd('ContextPack fees')
stage.has('no program no-such-contextpackd; install contextpackd', stage.wait_said('no program'))
stage.equal({}, vim.lsp.get_clients({ _uninitialized = true }))

vim.lsp.config('contextpackd', { cmd = { vim.env.SERVER_PYTHON, '-c', 'raise SystemExit(2)' } })
vim.cmd('ContextPack fees')
stage.wait_said('the server did not start; :checkhealth contextpack')
stage.equal(nil, require('contextpack.pack').current)
stage.equal('', require('contextpack').statusline())
