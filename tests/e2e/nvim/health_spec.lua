--- `:checkhealth contextpack`: before anything runs, and with a server.
local stage = dofile(vim.env.STAGE)

local function health()
  vim.cmd('checkhealth contextpack')
  local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  vim.cmd('bwipeout!')
  return text
end

local before = health()
stage.has('the server is not running', before)
stage.has('there is no clipboard', before)
stage.has(vim.env.SERVER_PYTHON, before)
stage.has('none of CodeCompanion, CopilotChat and avante', before)
stage.equal({}, vim.lsp.get_clients())

stage.edit('src/lending/policy.py')
stage.pack()
local after = health()
stage.has('contextpackd ' .. assert(vim.env.VERSION) .. ', protocol 1, daemon', after)
stage.has(stage.root, after)
stage.has('log: ', after)
stage.equal(nil, after:find('❌', 1, true))

vim.lsp.config('contextpackd', { cmd = { '/no/such/program' } })
stage.has('❌ ERROR no program /no/such/program', health())
