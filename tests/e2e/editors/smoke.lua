-- A pack through Neovim's own client, and the notification after a save.
-- nvim --headless --clean -l smoke.lua PYTHON ROOT; prints one line of JSON.
local python, root = _G.arg[1], _G.arg[2]
-- The file type of Python looks for a Python with Neovim's client, for seconds.
vim.g.loaded_python3_provider = 0
local changed
vim.lsp.handlers['contextpack/packChanged'] = function(_, params)
  changed = params
end
vim.cmd.edit(root .. '/src/lending/policy.py')
local id = assert(vim.lsp.start({
  name = 'contextpack',
  cmd = { python, '-P', '-m', 'contextpackd', 'lsp' },
  root_dir = root,
}))
local client = assert(vim.lsp.get_client_by_id(id))
assert(
  vim.wait(60000, function()
    return client.initialized and vim.lsp.buf_is_attached(0, id)
  end, 20),
  'the server did not initialize'
)

local function run(command, argument)
  local params = { command = 'contextpack.' .. command, arguments = { argument } }
  local response = assert(client:request_sync('workspace/executeCommand', params, 60000, 0))
  assert(not response.err, vim.inspect(response.err))
  return response.result
end

local pack = run('pack', { query = 'objections to a checkout', budgetTokens = 900 })
run('live', { packId = pack.packId, on = true, text = true })
vim.cmd([[silent %s/the copy is withdrawn/it is gone/]])
vim.cmd('silent write!')
assert(
  vim.wait(60000, function()
    return changed ~= nil
  end, 20),
  'no notification after the save'
)
io.stdout:write(vim.json.encode({ text = pack.text, changed = changed }) .. '\n')
client:stop()
assert(vim.wait(60000, function()
  return client:is_stopped()
end, 20))
