--- Each line of the bundle leads to the line of the file that it is.
local stage = dofile(vim.env.STAGE)

stage.edit('pyproject.toml')
local pack = stage.pack()
local bundle = vim.api.nvim_get_current_win()

--- Press <CR> on each line of the bundle's content, and compare with where it leads.
local function check_all(numbered)
  local lines = vim.api.nvim_buf_get_lines(vim.fn.bufnr('contextpack://bundle'), 0, -1, false)
  local n_checked, path, is_content = 0, nil, false
  for row, text in ipairs(lines) do
    if not is_content and text:match('^`[^`]') then
      path = text:match('^`([^:`]+)')
    elseif text:match('^```') then
      path = not is_content and path or nil
      is_content = not is_content
    elseif path and is_content and not text:match('^…+$') then
      vim.api.nvim_set_current_win(bundle)
      vim.api.nvim_win_set_cursor(bundle, { row, 0 })
      vim.api.nvim_feedkeys(vim.keycode('<CR>'), 'mtx', false)
      stage.equal(vim.fs.joinpath(stage.root, path), vim.api.nvim_buf_get_name(0))
      local there = vim.api.nvim_get_current_line()
      stage.equal(text, numbered and vim.fn.line('.') .. '\t' .. there or there)
      n_checked = n_checked + 1
    end
  end
  return n_checked
end

local n_lines = vim.iter(pack.answer.items):fold(0, function(n, item)
  for _, range in ipairs(item.ranges) do
    n = n + range[2] - range[1] + 1
  end
  return n
end)
stage.equal(n_lines, check_all(false))

stage.changes(function()
  require('contextpack.pack').again({ lineNumbers = true, tree = true, task = true })
end)
assert(check_all(true) > 40)

-- XML and plain text lead to the file.
for _, format in ipairs({ 'xml', 'plain' }) do
  stage.changes(function()
    require('contextpack.pack').again({ textFormat = format, lineNumbers = false, tree = false })
  end)
  stage.press('bundle', 'def objections_to_checkout', '<CR>')
  stage.equal(vim.fs.joinpath(stage.root, 'src/lending/policy.py'), vim.api.nvim_buf_get_name(0))
end

-- A file that is edited just now is shown as it is.
vim.cmd('1delete _')
stage.press('bundle', 'def objections_to_checkout', '<CR>')
stage.equal(true, vim.bo.modified)

-- Of the report, each line leads to its file, at the first line that is in.
stage.press('report', 'src/lending/policy.py:', '<CR>')
local policy = vim.iter(pack.answer.items):find(function(item)
  return item.path == 'src/lending/policy.py'
end)
stage.equal({ policy.ranges[1][1], true }, { vim.fn.line('.'), vim.bo.modified })
