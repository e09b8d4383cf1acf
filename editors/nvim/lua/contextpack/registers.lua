--- The bundle in the registers.

local M = {}

--- Put a text where it can be pasted from: register `+`, where there is a clipboard, and `"`.
---@param text string
---@return string where What to tell the user.
function M.copy(text)
  vim.fn.setreg('"', text)
  if vim.fn.has('clipboard') == 1 then
    vim.fn.setreg('+', text)
    return 'in the clipboard (register +) and register "'
  end
  return 'in register " only: there is no clipboard, see :help clipboard'
end

return M
