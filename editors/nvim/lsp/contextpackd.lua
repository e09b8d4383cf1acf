---@brief
---
--- The language server of contextpackd. `:ContextPack` starts it when it is first needed;
--- `vim.lsp.enable('contextpackd')` starts it with the first file. Settings of the server stand in
--- `settings.contextpack`, see |contextpack-settings|.

---@type vim.lsp.Config
return {
  cmd = { 'contextpackd', 'lsp' },
  root_markers = { '.contextpack.toml', '.git', '.hg', '.jj' },
  workspace_required = true,
  handlers = {
    ['contextpack/packChanged'] = function(_, params, context)
      require('contextpack.pack').changed(params, context.client_id)
    end,
  },
  commands = {
    -- What the code action "Pack context for symbol" runs.
    ['contextpack.pack'] = function(command, context)
      require('contextpack').pack((command.arguments or {})[1] or {}, context.bufnr)
    end,
  },
}
