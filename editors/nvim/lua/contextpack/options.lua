--- The options of `contextpack.pack` and what their values are.

---@type table<string, 'text'|'switch'|'list'|'details'|string[]>
return {
  budgetTokens = 'text',
  reserveTokens = 'text',
  marginPercent = 'text',
  model = 'text',
  textFormat = { 'markdown', 'xml', 'plain' },
  task = 'switch',
  tree = 'switch',
  lineNumbers = 'switch',
  stamp = 'switch',
  scorer = { 'fused', 'classic' },
  strategy = { 'greedy', 'mmr', 'knapsack', 'coverage' },
  mmrLambda = 'text',
  ordering = { 'natural', 'stable', 'u-shaped', 'chronological', 'path' },
  dedup = 'text',
  maxCandidates = 'text',
  truncate = { 'head', 'tail', 'summary' },
  include = 'list',
  exclude = 'list',
  pins = 'list',
  details = 'details',
  maxFileBytes = 'text',
  ledger = { 'brief', 'all' },
}
