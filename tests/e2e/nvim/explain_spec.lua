--- The ranking of files, best first, each score with its parts.
local stage = dofile(vim.env.STAGE)

stage.edit('pyproject.toml')
stage.pack()
vim.cmd('ContextPackExplain')
stage.wait_for('ranking', function()
  return vim.fn.bufwinid('contextpack://explain') ~= -1
end)
local lines = vim.split(stage.text('explain'), '\n')
stage.equal('# ' .. stage.QUERY, lines[1])
stage.has('files have a score (fused)', lines[2])
assert(lines[3]:find('^ +%d+%.%d%d%d  src/lending/%w+%.py  %(.*%w+ %d%.%d%d%d.*%)$'), lines[3])
stage.press('explain', 'src/lending/policy.py', '<CR>')
stage.equal(vim.fs.joinpath(stage.root, 'src/lending/policy.py'), vim.api.nvim_buf_get_name(0))
