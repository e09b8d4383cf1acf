--- After the server's end the next command starts it again, and the pack is what it was.
local stage = dofile(vim.env.STAGE)

local function kill()
  local pack = require('contextpack.pack').current
  local client = assert(vim.lsp.get_client_by_id(pack.client_id))
  local children = vim.api.nvim_get_proc_children(vim.fn.getpid())
  stage.equal(1, #children)
  vim.uv.kill(children[1], 'sigkill')
  stage.wait_for('end of the client', function()
    return not vim.lsp.get_client_by_id(client.id)
  end)
  return client.id
end

stage.edit('src/lending/policy.py')
local source = vim.api.nvim_get_current_win()
local pack = stage.pack()
vim.cmd('ContextPackLive on')
stage.wait_said('the pack is live')
local before = kill()

-- A key in the report asks the whole question again.
stage.changes(function()
  stage.press('report', 'README.md', 'p')
end)
assert(pack.client_id ~= before)
stage.equal({ pins = { 'README.md' }, budgetTokens = '900' }, {
  pins = pack.fields.pins,
  budgetTokens = pack.fields.budgetTokens,
})
stage.has('README.md', stage.text('bundle'))

-- It is live again, too.
vim.api.nvim_set_current_win(source)
stage.changes(function()
  vim.cmd([[silent %s/the copy is withdrawn/it is gone/]])
  vim.cmd('silent write')
end)
stage.has('it is gone', stage.text('bundle'))

-- And so does a new pack.
kill()
local after = stage.changes(function()
  vim.cmd('ContextPack fees')
end)
stage.equal('fees', after.answer.query)

-- A pack that the server has let go is asked again.
local client = assert(vim.lsp.get_client_by_id(after.client_id))
client:request_sync('workspace/executeCommand', {
  command = 'contextpack.close',
  arguments = { { packId = after.answer.packId } },
}, 60000, 0)
stage.changes(function()
  require('contextpack.pack').again({ budgetTokens = 1000 })
end)
stage.equal(1000, after.answer.budgetTokens)
