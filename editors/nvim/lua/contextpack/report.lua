--- The report: what is in the pack and what is not, and lines to pin, exclude and outline.

local config = require('contextpack.config')
local pack_of = require('contextpack.pack')
local scratch = require('contextpack.scratch')

local M = {}

M.NAME = 'report'

-- Blocks in the bar of the file that takes the whole budget.
local BAR_WIDTH = 10
local EIGHTHS = { '▏', '▎', '▍', '▌', '▋', '▊', '▉' }

local HELP = '<CR> jump · p pin · x exclude · o outline · b budget · K why · l live'
  .. ' · y copy · s send · q close'

---@class contextpack.Row
---@field path string
---@field line integer

---@type table<integer, contextpack.Row>
local rows = {}
local namespace = vim.api.nvim_create_namespace('contextpack')

---@param share number From 0 to 1.
---@return string
local function bar(share)
  local n_eighths = math.floor(share * BAR_WIDTH * 8 + 0.5)
  local full = ('█'):rep(math.floor(n_eighths / 8)) .. (EIGHTHS[n_eighths % 8] or '')
  return full .. (' '):rep(BAR_WIDTH - vim.fn.strchars(full))
end

---@param item contextpack.Item
---@return string
local function spans(item)
  local shown = vim.iter(item.ranges):map(function(range)
    return range[1] == range[2] and tostring(range[1]) or range[1] .. '-' .. range[2]
  end)
  return shown:join(',')
end

-- Outcomes of files that are in; the ledger counts these as well.
local IN = { 'whole', 'chunks', 'outline', 'truncated' }

---@param counts table<string, integer>
---@return string Of what is left out, how many for which reason.
local function counted(counts)
  ---@type string[]
  local shown = {}
  for reason, n in vim.spairs(counts) do
    if not vim.list_contains(IN, reason) then
      shown[#shown + 1] = n .. ' ' .. reason
    end
  end
  return shown[1] and table.concat(shown, ', ') or 'nothing'
end

--- A file as git's pattern for it alone.
---@param path string
---@return string
function M.pattern(path)
  return '/' .. path:gsub('[%*%?%[%]\\]', '\\%0'):gsub(' $', '\\ ')
end

---@param fields table<string, any>
---@param name string
---@return table A copy of the field's list or object; empty without one.
local function field(fields, name)
  local value = fields[name]
  return (value == nil or value == vim.NIL) and {} or vim.deepcopy(value)
end

---@param fields table<string, any>
---@param path string
---@return string One character: how the file was forced in or out.
local function mark(fields, path)
  if vim.list_contains(field(fields, 'pins'), path) then
    return '+'
  elseif vim.list_contains(field(fields, 'exclude'), M.pattern(path)) then
    return '-'
  end
  return field(fields, 'details')[path] and '~' or ' '
end

--- The report's lines, and which of them are about which file.
---@param pack contextpack.Pack
---@return string[] lines
---@return table<integer, contextpack.Row> rows
function M.lines(pack)
  local answer, fields = pack.answer, pack.fields
  local report = answer.report
  ---@type string[]
  local lines = {}
  ---@type table<integer, contextpack.Row>
  local found = {}
  ---@param text string
  ---@param path? string
  ---@param line? integer
  local function add(text, path, line)
    lines[#lines + 1] = text:gsub('\n', ' '):gsub('%s+$', '')
    if path then
      found[#lines] = { path = path, line = line or 1 }
    end
  end
  add('# ' .. (answer.query ~= '' and answer.query or '(no words: by structure and recency)'))
  add(
    ('%d/%d tokens (%d%%, %s %s) · %d files of %d · %s'):format(
      answer.tokens,
      answer.budgetTokens,
      math.floor(report.utilization * 100 + 0.5),
      answer.tokenizer,
      answer.exact and 'exact' or 'estimate',
      report.nItems,
      report.nCandidates,
      pack.is_live and 'live' or answer.freshness
    )
  )
  for _, warning in ipairs(report.warnings) do
    add('! ' .. warning.message)
  end
  add('')
  add('## In')
  for _, item in ipairs(answer.items) do
    local where = spans(item)
    local text = ('%s %6d %s %-9s %s%s'):format(
      mark(fields, item.path),
      item.tokens,
      bar(item.tokens / answer.budgetTokens),
      item.detail,
      item.path,
      where ~= '' and item.detail ~= 'whole' and ':' .. where or ''
    )
    add(text, item.path, item.ranges[1] and item.ranges[1][1])
  end
  add('')
  add('## Left out: ' .. counted(answer.ledgerCounts))
  local shown = {}
  for _, entry in ipairs(answer.ledger) do
    if entry.outcome == 'excluded' then
      shown[entry.path] = true
      local tokens = type(entry.tokens) == 'number' and ('%6d'):format(entry.tokens) or '      '
      local rule = entry.rule and ' (' .. entry.rule .. ')' or ''
      local copy = entry.duplicateOf and ' (of ' .. entry.duplicateOf .. ')' or ''
      local why = ('%-14s'):format(entry.reason)
      add(
        ('%s %s %s %s%s%s'):format(mark(fields, entry.path), tokens, why, entry.path, rule, copy),
        entry.path
      )
    end
  end
  -- A brief ledger need not name what the user took out, and they may want it back.
  for path in vim.spairs(pack.excluded or {}) do
    if not shown[path] then
      add(('%s %6s %-14s %s'):format(mark(fields, path), '', 'excluded', path), path)
    end
  end
  return lines, found
end

---@return string[] The files of the line under the cursor, or of the selected ones.
local function selected()
  local first, last = vim.fn.line('.'), vim.fn.line('v')
  if vim.api.nvim_get_mode().mode == 'n' then
    last = first
  else
    vim.api.nvim_feedkeys(vim.keycode('<Esc>'), 'nx', false)
  end
  local paths = {}
  for row = math.min(first, last), math.max(first, last) do
    if rows[row] then
      paths[#paths + 1] = rows[row].path
    end
  end
  return paths
end

---@param list string[]
---@param value string
---@return string[]
local function without(list, value)
  return vim.iter(list):filter(function(one)
    return one ~= value
  end):totable()
end

---@param list table
---@return table|vim.NIL
local function or_default(list)
  return next(list) and list or vim.NIL
end

--- Force files in, out, or into an outline, or undo it, and pack again.
---@param paths string[]
---@param force 'pin'|'exclude'|'outline'
function M.toggle(paths, force)
  local pack = pack_of.needed()
  if not pack or not paths[1] then
    return
  end
  local fields = pack.fields
  local pins, exclude = field(fields, 'pins'), field(fields, 'exclude')
  local details = field(fields, 'details')
  for _, path in ipairs(paths) do
    local was = mark(fields, path)
    local pattern = M.pattern(path)
    pins, exclude = without(pins, path), without(exclude, pattern)
    details[path] = nil
    pack.excluded = pack.excluded or {}
    pack.excluded[path] = nil
    if force == 'pin' and was ~= '+' then
      pins[#pins + 1] = path
    elseif force == 'exclude' and was ~= '-' then
      exclude[#exclude + 1] = pattern
      pack.excluded[path] = true
    elseif force == 'outline' and was ~= '~' then
      details[path] = 'outline'
    end
  end
  pack_of.again({
    pins = or_default(pins),
    exclude = or_default(exclude),
    details = or_default(details),
  })
end

--- Ask for another budget, and pack again.
function M.budget()
  local pack = pack_of.needed()
  if not pack then
    return
  end
  vim.ui.input({
    prompt = 'Budget in tokens: ',
    default = tostring(pack.answer.budgetTokens),
  }, function(given)
    if given and given ~= '' then
      pack_of.again({ budgetTokens = given })
    end
  end)
end

---@param buf integer
local function map(buf)
  local commands = require('contextpack')
  local both = { 'n', 'x' }
  ---@param force 'pin'|'exclude'|'outline'
  local function toggle(force)
    return function()
      M.toggle(selected(), force)
    end
  end
  local function jump()
    local row = rows[vim.fn.line('.')]
    if row and pack_of.current then
      scratch.jump(pack_of.file(pack_of.current, row.path), row.line)
    end
  end
  local function why()
    local row = rows[vim.fn.line('.')]
    if row then
      commands.why(row.path)
    end
  end
  scratch.map(buf, both, 'p', 'pin', toggle('pin'), 'Pin, or let go')
  scratch.map(buf, both, 'x', 'exclude', toggle('exclude'), 'Exclude, or take back')
  scratch.map(buf, both, 'o', 'outline', toggle('outline'), 'Outline only, or let go')
  scratch.map(buf, 'n', 'b', 'budget', M.budget, 'Another budget')
  scratch.map(buf, 'n', '<CR>', 'jump', jump, 'Go to the file')
  scratch.map(buf, 'n', 'gf', 'jump', jump, 'Go to the file')
  scratch.map(buf, 'n', 'K', 'why', why, 'Why it is in, or is not')
  scratch.map(buf, 'n', 'l', 'live', '<Cmd>ContextPackLive<CR>', 'Keep the pack fresh, or stop it')
  scratch.map(buf, 'n', 'y', 'copy', commands.copy, 'Copy the bundle')
  scratch.map(buf, 'n', 's', 'send', '<Cmd>ContextPackSend<CR>', 'Hand it to a chat plugin')
  scratch.map(buf, 'n', 'q', 'close', '<Cmd>close<CR>', 'Close the window')
  scratch.map(buf, 'n', 'g?', 'help', function()
    require('contextpack.message').say(HELP)
  end, 'The keys')
end

--- Show the report below the bundle, or below what there is.
---@param pack contextpack.Pack
function M.show(pack)
  local buf, is_new = scratch.made(M.NAME)
  if is_new then
    map(buf)
  end
  M.refresh(pack)
  local beside = scratch.window(require('contextpack.bundle').NAME)
  if beside then
    vim.api.nvim_set_current_win(beside)
  end
  local height = config.value('report_height')
  local win, is_new_window = scratch.show(M.NAME, 'belowright ' .. height .. 'split')
  if is_new_window then
    vim.wo[win][0].winfixheight = true
    vim.wo[win][0].cursorline = true
    vim.wo[win][0].foldenable = false
  end
  vim.api.nvim_set_current_win(win)
end

--- Bring the buffer up to date, if there is one. The cursor stays on its file.
---@param pack contextpack.Pack
function M.refresh(pack)
  local buf = scratch.buffer(M.NAME)
  if not buf then
    return
  end
  local win = scratch.window(M.NAME)
  local held = win and rows[vim.api.nvim_win_get_cursor(win)[1]]
  local lines, found = M.lines(pack)
  rows = found
  scratch.write(buf, lines)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  for row, line in ipairs(lines) do
    local group = line:match('^#') and 'Title' or line:match('^! ') and 'WarningMsg'
    if group then
      vim.api.nvim_buf_set_extmark(buf, namespace, row - 1, 0, { line_hl_group = group })
    end
  end
  for row, about in pairs(rows) do
    if win and held and about.path == held.path then
      vim.api.nvim_win_set_cursor(win, { row, 0 })
    end
  end
end

return M
