--- A live pack follows saves and unsaved edits; one that is not does not.
local stage = dofile(vim.env.STAGE)

stage.edit('src/lending/policy.py')
local source = vim.api.nvim_get_current_win()
stage.pack()
stage.has('the copy is withdrawn', stage.text('bundle'))
vim.cmd('ContextPackLive on')
stage.wait_said('the pack is live')
stage.has(' · live', require('contextpack').statusline())

vim.api.nvim_set_current_win(source)
stage.changes(function()
  vim.cmd([[silent %s/the copy is withdrawn/it is gone/]])
  vim.cmd('silent write')
end)
stage.has('it is gone', stage.text('bundle'))

stage.changes(function()
  vim.cmd([[silent %s/it is gone/nobody has it/]])
end)
stage.has('nobody has it', stage.text('bundle'))
stage.has('! src/lending/policy.py is as in the editor, not as on disk', stage.text('report'))

-- A file that was opened after the server has started is followed, too.
stage.edit('src/lending/desk.py')
local pack = require('contextpack.pack').current
local client = vim.lsp.get_client_by_id(pack.client_id)
stage.equal(true, client.attached_buffers[vim.api.nvim_get_current_buf()])

stage.said = {}
vim.cmd('ContextPackLive')
stage.wait_said('no longer live')
stage.equal(false, pack.is_live)
vim.cmd('ContextPackLive maybe')
stage.has('takes on or off', stage.said[#stage.said])
