-- scaled.lua: products of f8e4m3 with scales (docs/matmul.md#scales) beside PyTorch's
-- torch._scaled_mm, which calls cuBLASLt, in a process of its own (scaled_peer.py), in the regimes
-- of regimes.lua. Scales are for all of an operand, for rows, 1x128 by 128x128 and 1x128 by 1x128.
--   make bench-tools && CUTTLE_DEVICE=cuda cuttle scripts/bench/scaled.lua [--quick]
--     [--config=NAME] [MxNxK ...]
-- On the CPU engine it takes one small row, to show that it runs.
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local ct = require "cuttle"
local data = require "data"
local operator = require "cuttle.matmul"
local peers = require "peer"
local regimes = require "regimes"
local tables = require "tables"

-- BOUND: relative, of a C of bf16; tensor cores keep sums of f8 in fewer bits than f32 has.
local BLOCK <const>, BOUND <const> = 128, 2e-2

local sizes <const> = { { 8192, 8192, 8192 }, { 4096, 7168, 16384 }, { 4096, 4096, 7168 },
                        { 128, 7168, 16384 } }
local kinds <const> = { "all", "rows", "1x128 by 128x128", "1x128 by 1x128" }

-- {====== Ours ======

local function filled(extents)
  return data.uniform(ct.tensor(ct.f32, ct.layout(extents)), 7)
end

-- By kind; those of A along M, so that threads that read rows side by side read one line.
local function scales_of(kind, m, n, k)
  local deep = ct.cdiv(k, BLOCK)
  if kind == "all" then return filled { 1 }, filled { 1 } end
  if kind == "rows" then return filled { m }, filled { n } end
  if kind == "1x128 by 1x128" then return filled { m, deep }, filled { n, deep } end
  return filled { m, deep }, filled { ct.cdiv(n, BLOCK), deep }
end

local function operand(rows, k, seed)
  return ct.view(data.normal(ct.f8e4m3, rows * k, seed), ct.row_major { rows, k })
end

-- The candidate, and what the plain kernel computes.
local function ours(list, set, scale_a, scale_b, config)
  local function how(name) return { scale_a = scale_a, scale_b = scale_b, config = name } end
  local ok, launch, name = pcall(operator.prepare, set.A, set.B, set.C, how(config))
  if not ok then
    print(("  %s: %s"):format(config or "matmul", launch))
    return
  end
  local c = regimes.candidate("* " .. name, launch)
  list[#list + 1] = c
  data.poison(set.C)
  launch()
  local plain = operator.matmul(set.A, set.B, ct.tensor(ct.bf16, set.C.layout),
    how(ct.device().sm and "simple 64x64x16" or "cpu 32x32x8"))
  local relative = data.compare(set.C, plain).relative
  c.verdict = ("%.3g to plain%s"):format(relative, relative <= BOUND and "" or " WRONG")
end

-- {====== PyTorch ======

local script <const> = package.searchpath("scaled_peer", (package.path:gsub("%.lua", ".py")))

local function start_peer()
  local peer, why = peers.start(("python3 %s %d"):format(peers.quoted(script),
    ct.device().ordinal or 0))
  local name
  if peer then
    name, why = peer:answer()
  end
  print(name and "beside " .. name or "nothing beside it, as there is no PyTorch: " .. (why or ""))
  return name and peer
end

local function theirs(list, peer, kind, m, n, k)
  peer:send("data %s %d %d %d", (kind:gsub(" ", "_")), m, n, k)
  local _, why = peer:answer()
  if why then
    print(("  torch._scaled_mm: %s"):format(why))
    return
  end
  list[#list + 1] = {
    name = "torch._scaled_mm", kind = "peer", verdict = "",
    start = function(idle, warm, sync, reps)
      peer:send("time %g %d %d %d", idle, warm, sync and 1 or 0, reps)
    end,
    finish = function()
      local answer, wrong = peer:answer()
      if not answer then error("scaled: the peer: " .. wrong, 0) end
      return tonumber(answer)
    end,
  }
end

-- {====== Rows ======

local function measure(kind, size, options, peer)
  local m, n, k = table.unpack(size)
  local list, scale_a, scale_b = {}, scales_of(kind, m, n, k)
  local set = { A = operand(m, k, 1), B = operand(n, k, 2),
                C = ct.tensor(ct.bf16, ct.row_major { m, n }) }
  ours(list, set, scale_a, scale_b, options.config)
  if peer then theirs(list, peer, kind, m, n, k) end
  for _, regime in ipairs(options.regimes) do regimes.time(list, regime, options.numbers) end
  print(("f8e4m3 %dx%dx%d, %s"):format(m, n, k, kind))
  local function best_peer(regime)
    return tables.best(list, regime, function(c) return c.kind == "peer" end)
  end
  tables.print(list, { flops = 2 * m * n * k, regimes = options.regimes, title = "error",
                       peers = { { "torch", best_peer } } })
  for _, t in pairs(set) do t:close() end
end

local function read_arguments()
  local on_gpu = ct.device().sm ~= nil
  local options = { numbers = regimes.regimes, regimes = on_gpu and { "sus", "bur" } or { "eq" },
                    sizes = {} }
  for _, word in ipairs(arg) do
    local m, n, k = word:match "^(%d+)x(%d+)x(%d+)$"
    if word == "--quick" then
      options.numbers = regimes.quick
    elseif word:find "^%-%-config=" then
      options.config = word:match "=(.*)$"
    elseif m then
      table.insert(options.sizes, { math.tointeger(m), math.tointeger(n), math.tointeger(k) })
    else
      error(("scaled: '%s' is no option and no size like 4096x4096x4096"):format(word), 0)
    end
  end
  if #options.sizes == 0 then options.sizes = on_gpu and sizes or { { 40, 136, 256 } } end
  return options
end

local options = read_arguments()
local peer = ct.device().sm and start_peer()
for _, size in ipairs(options.sizes) do
  for _, kind in ipairs(kinds) do measure(kind, size, options, peer) end
end
if peer then peer:close() end
