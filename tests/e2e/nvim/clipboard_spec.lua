--- With a clipboard the bundle is in it, byte by byte.
local clipboard = {}
vim.g.clipboard = {
  name = 'of the spec',
  copy = {
    ['+'] = function(lines)
      clipboard = lines
    end,
    ['*'] = function() end,
  },
  paste = {
    ['+'] = function()
      return clipboard
    end,
    ['*'] = function()
      return {}
    end,
  },
}
local stage = dofile(vim.env.STAGE)

stage.edit('src/lending/policy.py')
stage.pack()
vim.cmd('ContextPackCopy')
stage.has('in the clipboard (register +) and register "', stage.said[#stage.said])
stage.equal(stage.expected(), table.concat(clipboard, '\n'))
stage.equal(stage.expected(), vim.fn.getreg('+'))
stage.equal(stage.expected(), vim.fn.getreg('"'))
