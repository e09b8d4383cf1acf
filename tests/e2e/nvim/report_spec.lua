--- Lines of the report pin, exclude and outline; the pack is made again with the same id.
local stage = dofile(vim.env.STAGE)

local function press(line, keys)
  return stage.changes(function()
    stage.press('report', line, keys)
  end)
end

stage.edit('src/lending/policy.py')
local pack = stage.pack()
local id = pack.answer.packId
local is_in = vim.list_contains
stage.equal(false, is_in(stage.paths(pack), 'README.md'))

press('README.md', 'p')
stage.equal(true, is_in(stage.paths(pack), 'README.md'))
stage.equal(id, pack.answer.packId)
stage.has('README.md', stage.text('bundle'))
stage.has('+ ', stage.text('report'):match('[^\n]*README.md'))
press('README.md', 'p')
stage.equal(vim.NIL, pack.fields.pins)
stage.equal(' ', stage.text('report'):match('[^\n]*README.md'):sub(1, 1))

press('src/lending/desk.py', 'x')
stage.equal(false, is_in(stage.paths(pack), 'src/lending/desk.py'))
stage.has('- ', stage.text('report'):match('[^\n]*src/lending/desk.py'))
-- The cursor has followed the file, so that the same key takes it back.
stage.has('src/lending/desk.py', vim.api.nvim_get_current_line())
stage.changes(function()
  vim.api.nvim_feedkeys('x', 'mtx', false)
end)
stage.equal(vim.NIL, pack.fields.exclude)
stage.has('  ', stage.text('report'):match('[^\n]*src/lending/desk.py'))

press('src/lending/desk.py', 'o')
stage.has('outline', stage.text('report'):match('[^\n]*src/lending/desk.py'))
press('src/lending/desk.py', 'o')

-- Several lines at once.
press('chunks    src/lending/policy.py', 'Vjx')
stage.equal(2, #pack.fields.exclude)
press('excluded       src/lending/policy.py', 'x')
stage.equal(1, #pack.fields.exclude)

-- Another budget.
local asked
vim.ui.input = function(options, answer)
  asked = options
  answer('2k')
end
press('tokens', 'b')
stage.equal('900', asked.default)
stage.equal(2000, pack.answer.budgetTokens)

-- A value that cannot be leaves what was there.
stage.said = {}
vim.ui.input = function(_, answer)
  answer('much')
end
stage.press('report', 'tokens', 'b')
stage.has('budgetTokens', stage.wait_said('budgetTokens'))
stage.equal({ 2000, '2k' }, { pack.answer.budgetTokens, pack.fields.budgetTokens })
stage.equal(id, pack.answer.packId)

-- A name that git would read as a pattern means this file alone.
local report = require('contextpack.report')
stage.equal([[/a/\[b\]\*.py]], report.pattern('a/[b]*.py'))

stage.press('report', 'tokens', 'q')
stage.equal(-1, vim.fn.bufwinid('contextpack://report'))
vim.cmd('ContextPackReport')
assert(vim.fn.bufwinid('contextpack://report') ~= -1)
