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

--- What somebody copied.
---@param register string Empty: `+` where there is a clipboard, else `"`.
---@return string
function M.pasted(register)
  if register == '' then
    register = vim.fn.has('clipboard') == 1 and '+' or '"'
  end
  return vim.fn.getreg(register)
end

return M
