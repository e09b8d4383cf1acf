--- The bundle in the registers, and a word when there is no clipboard.
local stage = dofile(vim.env.STAGE)

vim.cmd('ContextPackCopy')
stage.has('no pack yet; :ContextPack makes one', stage.said[1])

stage.edit('src/lending/policy.py')
stage.pack()
-- No display, no terminal: Neovim finds no clipboard by itself.
stage.equal(0, vim.fn.has('clipboard'))
vim.cmd('ContextPackCopy')
stage.has('in register " only: there is no clipboard', stage.said[#stage.said])
stage.equal(stage.expected(), vim.fn.getreg('"'))
stage.equal('V', vim.fn.getregtype('"'))
