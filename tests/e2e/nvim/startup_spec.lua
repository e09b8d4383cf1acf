--- Until a command is used, nothing of the plugin is loaded but its commands, and nothing runs.
local stage = dofile(vim.env.STAGE)

local function loaded()
  return vim.iter(package.loaded):filter(function(name)
    return vim.startswith(name, 'contextpack')
  end):totable()
end

stage.edit('src/lending/policy.py')
stage.equal({}, loaded())
stage.equal({}, vim.lsp.get_clients({ _uninitialized = true }))
stage.equal(2, vim.fn.exists(':ContextPack'))
assert(vim.fn.maparg('<Plug>(contextpack)', 'n') ~= '')

-- No key is taken.
local keys = vim.iter(vim.api.nvim_get_keymap('n')):filter(function(map)
  return tostring(map.rhs):find('ContextPack') and not vim.startswith(map.lhs, '<Plug>')
end):totable()
stage.equal({}, keys)

-- Sourced twice it does nothing.
vim.cmd.runtime({ 'plugin/contextpack.lua', bang = true })
stage.equal({}, loaded())
