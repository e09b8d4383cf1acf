--- Contents and names that look like a bundle's own marks mislead no jump and no fold.
local stage = dofile(vim.env.STAGE)

local function write(path, lines)
  local file = vim.fs.joinpath(stage.root, path)
  vim.fn.mkdir(vim.fs.dirname(file), 'p')
  vim.fn.writefile(lines, file)
end

write('notes/quokka one.md', {
  '# quokka',
  '```',
  '`notes/two.py:1-3`',
  '```python',
  'quokka = "not the file that it names"',
  '```',
  '````',
  '…',
  'quokka after a line that looks like a gap',
})
write('notes/two.py', {
  '# quokka `notes/quokka one.md`',
  '<file path="notes/quokka one.md">',
  '==> notes/quokka one.md <==',
  'quokka = 2',
})
write('notes/a & <b> %.py', { 'quokka = "%s"', 'last = "quokka"' })
write('notes/[c]*.py', { 'quokka = "a name that is a pattern"' })

stage.edit('notes/two.py')
local pack = stage.changes(function()
  vim.cmd('ContextPack ++dedup=1 quokka')
end)
local files = { 'notes/quokka one.md', 'notes/two.py', 'notes/a & <b> %.py', 'notes/[c]*.py' }
for _, path in ipairs(files) do
  assert(vim.list_contains(stage.paths(pack), path), path .. '\n' .. pack.answer.text)
end

-- Each line of each file, found by counting what stands in the text.
local bundle = require('contextpack.bundle')
for _, item in ipairs(pack.answer.items) do
  local lines = vim.split(pack.answer.text, '\n')
  local found = vim.iter(bundle.blocks(lines, pack.answer.items, 'markdown')):find(function(block)
    return block.item.path == item.path
  end)
  assert(found, item.path)
  local source = vim.fn.readfile(vim.fs.joinpath(stage.root, item.path))
  if item.detail == 'whole' then
    for n, text in ipairs(source) do
      stage.equal(text, lines[found.first + n - 1])
      stage.equal(n, bundle.source_line(found, lines, found.first + n - 1))
    end
  end
end

-- By keys, also in the formats where only the file is found.
local lines_of = {
  ['quokka after a line that looks like a gap'] = files[1],
  ['quokka = 2'] = files[2],
  ['last = "quokka"'] = files[3],
  ['a name that is a pattern'] = files[4],
}
for _, format in ipairs({ 'markdown', 'xml', 'plain' }) do
  stage.changes(function()
    require('contextpack.pack').again({ textFormat = format })
  end)
  local lines = vim.split(pack.answer.text, '\n')
  stage.equal(#pack.answer.items, #bundle.blocks(lines, pack.answer.items, format))
  local sought = format == 'markdown' and lines_of or { ['last = "quokka"'] = files[3] }
  for text, path in pairs(sought) do
    stage.press('bundle', text, '<CR>')
    stage.equal(vim.fs.joinpath(stage.root, path), vim.api.nvim_buf_get_name(0))
    if format == 'markdown' then
      stage.has(text, vim.api.nvim_get_current_line())
    end
  end
end

-- A name that is a pattern is taken out alone.
stage.changes(function()
  stage.press('report', 'notes/[c]*.py', 'x')
end)
stage.equal(false, vim.list_contains(stage.paths(pack), files[4]))
stage.equal(true, vim.list_contains(stage.paths(pack), files[2]))
