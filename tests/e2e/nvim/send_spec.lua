--- The bundle goes to the first chat plugin that takes it, and is copied in any case. The plugins
--- stand here with their public functions alone.
local stage = dofile(vim.env.STAGE)
local taken = {}

local function send(argument)
  stage.said, taken = {}, {}
  vim.fn.setreg('"', '')
  vim.cmd('ContextPackSend ' .. (argument or ''))
  stage.equal(stage.expected(), vim.fn.getreg('"'))
  return table.concat(stage.said, '\n')
end

stage.edit('src/lending/policy.py')
stage.pack()
stage.has('no chat plugin took the bundle; it is in register "', send())
stage.has('avante is not installed', send('avante'))

package.preload['avante.api'] = function()
  return {
    add_selected_file = function(file)
      taken.avante = table.concat(vim.fn.readfile(file, 'b'), '\n')
    end,
  }
end
stage.has('handed to avante', send())
stage.equal({ avante = stage.expected() }, taken)

-- What a prompt names is read when it is sent: the bundle never stands in it, since a packed file
-- could name others.
package.preload['CopilotChat'] = function()
  return {
    config = { functions = {} },
    open = function()
      taken.open = true
    end,
    chat = {
      append = function(_, text)
        taken.copilotchat = text
      end,
    },
  }
end
stage.has('handed to CopilotChat', send())
stage.equal('#contextpack\n', taken.copilotchat)
local resource = require('CopilotChat').config.functions.contextpack
stage.equal('contextpack://bundle', resource.uri)
stage.equal({
  { uri = 'contextpack://bundle', mimetype = 'text/markdown', data = stage.expected() },
}, resource.resolve())

local is_broken = true
package.preload['codecompanion'] = function()
  return {
    last_chat = function()
      return nil
    end,
    chat = function()
      return {
        add_context = function(_, message, source, id)
          assert(not is_broken, 'broken on purpose')
          taken.codecompanion = { message.content, source, id }
        end,
        ui = {
          open = function()
            taken.open = true
          end,
        },
      }
    end,
  }
end
-- One that fails is named, and the next one is asked.
local said = send()
stage.has('broken on purpose', said)
stage.has('handed to CopilotChat', said)
is_broken = false
stage.has('handed to CodeCompanion', send())
local id = '<contextpack>' .. stage.QUERY .. '</contextpack>'
stage.equal({ stage.expected(), 'contextpack', id }, taken.codecompanion)

-- The user may name one, or order them.
stage.has('handed to avante', send('avante'))
local all = { 'avante', 'codecompanion', 'copilotchat' }
stage.equal(all, vim.fn.getcompletion('ContextPackSend ', 'cmdline'))
vim.g.contextpack = { focus = false, chat = { 'copilotchat' } }
stage.has('handed to CopilotChat', send())
stage.equal({ 'copilotchat' }, vim.fn.getcompletion('ContextPackSend ', 'cmdline'))
