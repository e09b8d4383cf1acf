--- Options are completed with their values, and every one of them is the server's to read.
local stage = dofile(vim.env.STAGE)

local function completed(text)
  return vim.fn.getcompletion(text, 'cmdline')
end

stage.equal({ '++strategy=' }, completed('ContextPack ++strat'))
stage.equal({ '++strategy=mmr' }, completed('ContextPack ++strategy=m'))
stage.equal({ '++task' }, completed('ContextPack ++task'))
stage.equal({ '++tree=false', '++tree=true' }, completed('ContextPack ++tree='))
stage.equal({ 'off', 'on' }, completed('ContextPackLive '))
stage.equal({}, completed('ContextPack '))

local query = require('contextpack.query')
stage.equal({
  budgetTokens = '4k',
  tree = true,
  task = false,
  exclude = { 'a/', 'b/' },
  details = { ['x=y.py'] = 'outline' },
  query = 'fix ++this one',
}, query.fields(
  '++budgetTokens=4k ++tree ++task=false ++exclude=a/ ++exclude=b/ '
    .. '++details=x=y.py=outline  fix ++this one '
))

stage.edit('src/lending/policy.py')
local pack = stage.changes(function()
  local options = '++lineNumbers ++mmrLambda=0.5 ++pins=README.md ++dedup=1 ++strategy=mmr '
  vim.cmd('ContextPack ' .. options .. stage.QUERY)
end)
stage.equal('mmr', pack.answer.report.strategy)
stage.has('README.md', stage.text('bundle'))
stage.equal({ stage.QUERY }, completed('ContextPack obj'))

vim.cmd('ContextPack ++strategy=best ' .. stage.QUERY)
stage.has('strategy', stage.wait_said('strategy'))
vim.cmd('ContextPack ++nothing=1 ' .. stage.QUERY)
stage.has('nothing', stage.wait_said('nothing'))
