--- A chat's reply gets what it names and the pack lacked, from a register or from lines.
local stage = dofile(vim.env.STAGE)
local reply = 'To change `objections_to_checkout` I need `Member.age_on`; where is `fee_table`?'

vim.fn.setreg('"', reply)
vim.cmd('ContextPackAnswer')
stage.has('no pack yet; :ContextPack makes one', stage.said[1])

stage.edit('src/lending/policy.py')
local before = stage.pack()
vim.fn.setreg('"', ' ')
vim.cmd('ContextPackAnswer')
stage.has("copy the chat's answer first", stage.said[#stage.said])

vim.fn.setreg('"', reply)
local pack = stage.changes(function()
  vim.cmd('ContextPackAnswer')
end)
stage.equal(
  'contextpack: packed: Member.age_on; shown before: objections_to_checkout;'
    .. ' nowhere in the workspace: fee_table',
  stage.wait_said('nowhere in the workspace')
)
stage.equal({ 'src/lending/models.py' }, stage.paths(pack))
stage.has('def age_on', stage.text('bundle'))
assert(pack ~= before and pack.answer.packId ~= before.answer.packId)

-- It is a pack as others are: keys of the report work on it, and the task is the same.
stage.changes(function()
  stage.press('report', 'pyproject.toml', 'p')
end)
stage.equal({ 'src/lending/models.py', 'pyproject.toml' }, stage.paths(pack))
stage.equal(stage.QUERY, pack.answer.query)

-- From lines of a buffer, and from a register by its name; nothing to show leaves the pack.
stage.said = {}
vim.cmd.enew()
vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'See `fees.py`.', 'And `calendar.py`.' })
local fees = stage.changes(function()
  vim.cmd('1ContextPackAnswer')
end)
stage.equal({ 'src/lending/fees.py' }, stage.paths(fees))
vim.fn.setreg('a', 'Thanks, that will do.')
vim.cmd('ContextPackAnswer a')
stage.wait_said('the answer names no file and no definition')
stage.equal(fees, require('contextpack.pack').current)
