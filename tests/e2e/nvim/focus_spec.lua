--- What the current buffer shows is lifted; changes are the server's to find, and show no secrets.
local stage = dofile(vim.env.STAGE)

local function reasons(pack, path)
  local item = vim.iter(pack.answer.items):find(function(one)
    return one.path == path
  end)
  return item and table.concat(item.reasons, '; ') or ''
end

local function pack_again()
  return stage.changes(function()
    vim.cmd('ContextPack ++budgetTokens=3k ' .. stage.QUERY)
  end)
end

stage.edit('src/lending/fees.py')
local source = vim.api.nvim_get_current_win()
assert(not reasons(pack_again(), 'src/lending/fees.py'):find('you look at'))
vim.g.contextpack = { focus = true }
vim.api.nvim_set_current_win(source)
stage.has('it is what you look at', reasons(pack_again(), 'src/lending/fees.py'))
-- From the bundle's own window nothing is in focus, nor from a file of elsewhere.
assert(not reasons(pack_again(), 'src/lending/fees.py'):find('you look at'))

local function git(...)
  local user = { '-c', 'user.name=n', '-c', 'user.email=e@localhost' }
  local command = vim.list_extend({ 'git', '-C', stage.root, unpack(user) }, { ... })
  local done = vim.system(command):wait()
  assert(done.code == 0, done.stderr)
end

git('add', '--all', '--force')
git('commit', '--quiet', '--message', 'all')
vim.fn.writefile({ 'TOKEN=hunter2' }, vim.fs.joinpath(stage.root, '.env'))
vim.api.nvim_set_current_win(source)
stage.edit('src/lending/desk.py')
vim.api.nvim_buf_set_lines(0, -1, -1, false, { 'def brand_new(): ...' })
vim.cmd('silent write')
local pack = stage.changes(function()
  vim.cmd('ContextPack ++diff ++task')
end)
stage.has('it has changes', reasons(pack, 'src/lending/desk.py'))
stage.has('def brand_new', pack.answer.text)
stage.equal(nil, pack.answer.text:find('hunter2', 1, true))
stage.equal('src/lending/desk.py', pack.answer.items[1].path)
