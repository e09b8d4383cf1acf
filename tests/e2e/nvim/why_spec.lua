--- Why a file is in, or is not, and what would change that, in the server's words.
local stage = dofile(vim.env.STAGE)

local function why(path)
  local lines
  require('contextpack').why(path, function(found)
    lines = found
  end)
  return table.concat(stage.wait_for('reason', function()
    return lines
  end), '\n')
end

stage.edit('src/lending/policy.py')
local source = vim.api.nvim_get_current_win()
local pack = stage.pack()
stage.has('src/lending/policy.py: in: this file ranks high enough', why('src/lending/policy.py'))
stage.has('src/lending/policy.py:31-', why('src/lending/policy.py:32'))
local readme = why('README.md')
stage.has('README.md: out: ', readme)
stage.has('\n- rank ', readme)
stage.has(' that lets it in', readme)
stage.has('\n- pinned, it takes the place of ', readme)
stage.has('by .contextpackignore:3: docs/*.csv', why('docs/closures.csv'))
stage.has('taken to hold credentials', why('.env'))
require('contextpack').why('no/such.py')
stage.wait_said('no/such.py')

-- The pack that is shown is what it was.
stage.changes(function()
  require('contextpack.pack').again({})
end)
stage.equal(stage.expected(), pack.answer.text)

-- By command, for the current file.
vim.api.nvim_set_current_win(source)
vim.cmd('ContextPackWhy')
stage.wait_for('window that says it', function()
  return vim.iter(vim.api.nvim_list_wins()):find(function(win)
    local buf = vim.api.nvim_win_get_buf(win)
    local first = vim.api.nvim_buf_get_lines(buf, 0, 1, false)[1]
    return vim.api.nvim_win_get_config(win).relative ~= ''
      and vim.startswith(first, 'src/lending/policy.py: in: this file ranks')
  end)
end)
stage.equal({ 'docs/closures.csv' }, vim.fn.getcompletion('ContextPackWhy docs/c', 'cmdline'))
