-- attention.lua: the rows of `main.lua hopper attention`: attention forward beside
-- PyTorch's scaled_dot_product_attention at its best backend, which runs in a process of its own
-- (sdpa_peer.py) alternately with ours, each alone on the device. Operations are counted as
-- 4 B H S S D, half of it of causal ones. Results are compared on the device with those of the
-- configuration "plain", and by the peer, theirs as well, with a computation in double precision.
local ct = require "cuttle"
local operator = require "cuttle.attention"
local data = require "data"
local peers = require "peer"
local regimes = require "regimes"
local tables = require "tables"
local M = {}

-- {====== Rows ======

-- bars: the least ratio to the best of PyTorch's, in all regimes; lazy: of lazy rescaling.
local function row(dtype, b, h, s, d, causal, bars)
  return { dtype = dtype, b = b, h = h, s = s, d = d, causal = causal, bars = bars or {},
           flops = 4 * b * h * s * s * d // (causal and 2 or 1),
           name = ("attention %s %dx%dx%d d%d %s"):format(dtype, b, h, s, d,
             causal and "causal" or "full") }
end

M.rows = {
  row("bf16", 4, 32, 4096, 128, false, { lazy = 1.08, exact = 1.04 }),
  row("bf16", 4, 32, 4096, 128, true, { lazy = 1.12, exact = 1.08 }),
  row("bf16", 4, 32, 4096, 64, false, { best = 1.08 }),
  row("bf16", 4, 32, 4096, 64, true, { best = 1.1 }),
}
local cpu_rows <const> = { row("f16", 1, 2, 48, 32, true) }

-- {====== Operands ======

-- Q, K and V of a row, (B,H,S,D) in C order; rows of one size share them.
local function operands(p, cache)
  local key = ("%s %d %d %d %d"):format(p.dtype, p.b, p.h, p.s, p.d)
  if cache.key ~= key then
    cache.key, cache.in_peer = key, false
    local layout = ct.row_major { p.b, p.h, p.s, p.d }
    for seed, name in ipairs { "Q", "K", "V" } do
      if cache[name] then cache[name]:close() end
      cache[name] = ct.view(data.normal(ct[p.dtype], ct.size(layout), 10 + seed), layout)
    end
  end
  return cache.Q, cache.K, cache.V
end

-- Calls f with the name of a file that has the bits of each tensor; the files last no longer.
local function with_files(tensors, f)
  local names = {}
  for i, t in ipairs(tensors) do
    names[i] = os.tmpname()
    ct.save_npy(names[i], ct.recast(ct.view(t, ct.size(t)), ct.u16))
  end
  local result = table.pack(pcall(f, table.unpack(names)))
  for _, name in ipairs(names) do os.remove(name) end
  if not result[1] then error(result[2], 0) end
  return table.unpack(result, 2, result.n)
end

-- {====== PyTorch ======

local script <const> = package.searchpath("sdpa_peer", (package.path:gsub("%.lua", ".py")))

--- Starts the peer; it loads PyTorch meanwhile. nil: it cannot be started.
function M.start_peer(command)
  return peers.start(command
    or ("python3 %s %d"):format(peers.quoted(script), ct.device().ordinal or 0))
end

-- Waits until the peer is ready; nil where it is not, which is said.
local function ready(peer, why)
  local name
  if peer then
    name, why = peer:answer()
  end
  if name then
    print("beside " .. name)
    return peer
  end
  print("attention: nothing beside it, as there is no PyTorch: " .. (why or ""))
end

local function give_data(peer, p, cache)
  if not cache.in_peer then
    with_files({ cache.Q, cache.K, cache.V }, function(...)
      peer:ask("data %s %d %d %d %d %s %s %s", p.dtype, p.b, p.h, p.s, p.d, ...)
    end)
    cache.in_peer = true
  end
end

local function peer_candidate(peer, backend)
  local candidate = peer:candidate("SDPA " .. backend, "peer", "time " .. backend)
  candidate.backend = backend
  return candidate
end

-- The two fastest backends that compute the row.
local function backends(peer, p, options)
  local list = {}
  for backend in peer:ask("causal %d", p.causal and 1 or 0):gmatch "%S+" do
    list[#list + 1] = peer_candidate(peer, backend)
  end
  return regimes.fastest(list, 2, options.numbers)
end

-- {====== Ours ======

-- Without it where it fails, which is said.
local function ours(list, Q, K, V, p, how)
  local options = { causal = p.causal, lazy = how.lazy, config = how.config }
  local ok, launch, name, O = pcall(operator.prepare, Q, K, V, options)
  if not ok then
    print(("  %s: %s"):format(how.config or "attention", launch))
    return nil
  end
  local c = regimes.candidate(("* %s%s"):format(name, how.lazy and ", lazy" or ""), launch)
  c.kind, c.lazy, c.launch, c.O = "ours", how.lazy, launch, O
  list[#list + 1] = c
  return name
end

local function add_ours(list, Q, K, V, p, options)
  local chosen = ours(list, Q, K, V, p, { lazy = true })
  ours(list, Q, K, V, p, { lazy = false })
  local names = table.move(options.configs, 1, #options.configs, 1, {})
  for _, config in ipairs(options.all and operator.configs or {}) do
    if config.name ~= chosen then names[#names + 1] = config.name end
  end
  for _, name in ipairs(names) do ours(list, Q, K, V, p, { lazy = false, config = name }) end
end

-- {====== Results ======

local BOUND <const> = 1e-2 -- relative, by the root of squares, to what sums in f32 give

-- All of ours over poison, against plain arithmetic.
local function check(list, plain)
  for _, c in ipairs(list) do
    if c.kind == "ours" then
      data.poison(c.O)
      c.launch()
      local relative = data.compare(c.O, plain).relative
      if relative ~= relative or relative > BOUND then c.is_wrong = true end
      c.relative = relative
    end
  end
end

-- Relative and largest error to double precision, by the peer.
local function add_errors(list, peer)
  for _, c in ipairs(list) do
    local answer = c.kind == "peer" and peer:ask("error %s", c.backend)
      or with_files({ c.O }, function(name) return peer:ask("error_of %s", name) end)
    c.error, c.largest = answer:match "(%S+) (%S+)"
    c.error = tonumber(c.error)
  end
end

local function verdict(c)
  local text = c.error and ("%.4g, largest %s"):format(c.error, c.largest)
    or ("%.3g to plain"):format(c.relative)
  return text .. (c.is_wrong and " WRONG" or "")
end

-- The bars of the row; of depth 64 that of the better of lazy and not.
local function print_bars(p, list, options, score)
  local parts = {}
  local function of(kind, lazy)
    return function(c) return c.kind == kind and (lazy == nil or c.lazy == lazy) end
  end
  for _, regime in ipairs(options.regimes) do
    local theirs = tables.best(list, regime, of "peer")
    local function bar(what, lazy)
      local mine = tables.best(list, regime, of("ours", lazy))
      tables.bar(score, parts, what .. " " .. regime:upper(), theirs, mine, p.bars[what])
    end
    bar("lazy", true)
    bar("exact", false)
    bar("best", nil)
  end
  local exact, peer
  for _, c in ipairs(list) do
    if c.kind == "peer" then peer = math.min(peer or math.huge, c.error) end
    if c.kind == "ours" and not c.lazy then exact = exact or c.error end
  end
  tables.bar(score, parts, "their error over ours", peer, exact, 0.99)
  tables.print_bars(parts)
end

-- {====== Running ======

local function measure(p, options, peer, cache, score)
  local Q, K, V = operands(p, cache)
  local list = {}
  if peer then
    give_data(peer, p, cache)
    list = backends(peer, p, options)
  end
  add_ours(list, Q, K, V, p, options)
  local plain = operator.attention(Q, K, V, { causal = p.causal, config = "plain" })
  check(list, plain)
  for _, regime in ipairs(options.regimes) do regimes.time(list, regime, options.numbers) end
  check(list, plain)
  if peer then add_errors(list, peer) end
  for _, c in ipairs(list) do
    c.verdict = verdict(c)
    if c.is_wrong then score.wrong = score.wrong + 1 end
  end
  print(p.name)
  local function best_peer(regime)
    return tables.best(list, regime, function(c) return c.kind == "peer" end)
  end
  tables.print(list, { flops = p.flops, regimes = options.regimes,
                       peers = { { "SDPA", best_peer } }, title = "error to double precision" })
  print_bars(p, list, options, score)
  plain:close()
  for _, c in ipairs(list) do
    if c.O then c.O:close() end
  end
end

--- Runs the rows that are wanted. `peer`, `why`: what start_peer gave.
function M.run(options, is_wanted, score, peer, why)
  local cache, n = {}, 0
  peer = ready(peer, why)
  for _, p in ipairs(ct.device().sm and M.rows or cpu_rows) do
    if is_wanted(p) then
      measure(p, options, peer, cache, score)
      n = n + 1
      collectgarbage()
    end
  end
  if peer then peer:close() end
  return n
end

return M
