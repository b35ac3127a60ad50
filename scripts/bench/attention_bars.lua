-- attention_bars.lua: attention beside its peers in one run: gradients, the forward pass, f8e4m3
-- and decoding, with the least ratios that the project sets itself. Beside them are
-- FlashAttention-3 (fa3_peer.py) and PyTorch's cuDNN (sdpa_peer.py), each in a process of its own,
-- alternately with ours and alone on the device, all in bursts as regimes.lua has them.
-- FlashAttention-3 is timed by the clock, the others by events.
--   make bench-tools && CUTTLE_DEVICE=cuda cuttle scripts/bench/attention_bars.lua [option ...]
--     [word ...]       rows that have one of these words in their names
--   --rounds=N         of each candidate, 4; 0: only compares results, which fills the disk cache
--   --idle=MS          before each batch, 200
--   --fa3=FOLDER       where the Python package dew_flash_attn is; --no-fa3, --no-cudnn: without
--   --variants=FILE    Lua that returns {backward =, forward =, f8 =, decode =}, lists of tables as
--                      the operators take for `config`, which are timed, too
-- On the CPU engine small rows alone, to show that it runs.
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local ct = require "cuttle"
local backward = require "cuttle.attention_backward"
local cache = require "attention_cache"
local data = require "data"
local forward = require "cuttle.attention"
local peers = require "peer"
local regimes = require "regimes"
local tables = require "tables"

local on_gpu <const> = ct.device().sm ~= nil
local options = { rounds = 4, words = {}, cudnn = true, fa3 = true, variants = {} }
local numbers = { bur = { rounds = 4, idle = 200, warm = 3, reps = 10 } }
local score = tables.new_score()

-- {====== Rows ======

-- bars: the least ratio to FlashAttention-3; of "turns", to ours that does not take turns.
local function row(kind, b, h, s, d, causal, bars)
  return { kind = kind, b = b, h = h, s = s, d = d, causal = causal, bars = bars,
           flops = (kind == "backward" and 10 or 4) * b * h * s * s * d // (causal and 2 or 1),
           name = ("%s %dx%dx%d d%d %s"):format(kind, b, h, s, d, causal and "causal" or "full") }
end

local rows <const> = on_gpu and {
  row("backward", 4, 32, 4096, 128, false, { ours = 1.03 }),
  row("backward", 4, 32, 4096, 128, true, { ours = 1.03 }),
  row("backward", 4, 32, 4096, 64, false, { ours = 1.03 }),
  row("backward", 4, 32, 4096, 64, true, { ours = 1.03 }),
  row("backward", 1, 16, 8192, 128, true, { ours = 1.0, turns = 0.88 }),
  row("backward", 2, 16, 8192, 256, false, { ours = 1.05 }),
  row("backward", 2, 16, 8192, 256, true, { ours = 1.05 }),
  row("backward", 4, 16, 4096, 96, false, {}), row("backward", 4, 16, 4096, 96, true, {}),
  row("backward", 2, 16, 4096, 192, false, {}), row("backward", 2, 16, 4096, 192, true, {}),
  row("forward", 4, 32, 4096, 128, false, { lazy = 1.05, exact = 1.0 }),
  row("forward", 4, 32, 4096, 128, true, { lazy = 1.05, exact = 1.0 }),
  row("forward", 4, 32, 4096, 64, false, { lazy = 1.05, exact = 1.0 }),
  row("forward", 4, 32, 4096, 64, true, { lazy = 1.05, exact = 1.0 }),
  row("forward", 2, 16, 8192, 256, false, { best = 1.0 }),
  row("forward", 2, 16, 8192, 256, true, { best = 1.0 }),
  row("forward", 4, 16, 4096, 96, false, {}), row("forward", 4, 16, 4096, 96, true, {}),
  row("forward", 2, 16, 4096, 192, false, {}), row("forward", 2, 16, 4096, 192, true, {}),
  row("f8", 4, 32, 4096, 128, false, { f8 = 1.35 }),
  row("f8", 4, 32, 4096, 128, true, { f8 = 1.35 }),
  row("f8", 4, 32, 4096, 64, false, {}),
  row("f8", 2, 16, 4096, 192, false, {}), row("f8", 2, 16, 4096, 192, true, {}),
  row("f8", 2, 16, 8192, 256, false, {}), row("f8", 2, 16, 8192, 256, true, {}),
} or { row("backward", 1, 1, 40, 64, true, {}), row("forward", 1, 1, 40, 64, true, {}),
       row("f8", 1, 1, 40, 64, false, {}) }

-- To the plain kernel, relative.
local BOUND <const> = { backward = 1e-2, forward = 1e-2, f8 = 5e-2 }
local PART <const> = 2 -- heads that the plain kernel computes, too

-- {====== Peers ======

local function path_of(name)
  return package.searchpath(name, (package.path:gsub("%.lua", ".py")))
end

-- A peer, once it is ready; nil if it cannot be started, which is said.
local function started(name, argument)
  local peer, why = peers.start(("python3 %s %s"):format(peers.quoted(path_of(name)), argument))
  local text
  if peer then text, why = peer:answer() end
  print(text and "beside " .. text or ("without %s: %s"):format(name, why))
  return text and peer
end

-- Asks a peer for operands, and adds it to the list.
local function add_peer(list, peer, name, request, ...)
  if not peer then return end
  peer:send(...)
  local _, why = peer:answer()
  if why then
    print(("  %s: %s"):format(name, why))
    return
  end
  list[#list + 1] = peer:candidate(name, name, request)
end

local fa3, cudnn

local function add_peers(list, p)
  local causal = p.causal and 1 or 0
  add_peer(list, fa3, "FlashAttention-3", "time " .. p.kind, "shape %d %d %d %d %d", p.b, p.h, p.s,
    p.d, causal)
  add_peer(list, cudnn, "cuDNN", (p.kind == "backward" and "gradients" or "time") .. " cudnn",
    "random %d %d %d %d %d %d %d", p.b, p.h, p.h, p.s, p.s, p.d, causal)
end

-- {====== Ours ======

local function operand(p, dtype, h, seed)
  local b = h == p.h and p.b or 1
  return ct.view(data.normal(dtype, b * h * p.s * p.d, seed), ct.row_major { b, h, p.s, p.d })
end

-- Q, K, V and dO with so many heads; those of few heads are of one batch.
local function operands(p, dtype, h)
  local t = {}
  for seed = 1, 3 do t[seed] = operand(p, dtype, h, seed) end
  t[4] = operand(p, ct.bf16, h, 4)
  return t
end

-- The launch, the configuration's name and the results.
local function prepared(p, t, how, config)
  if p.kind ~= "backward" then
    local launch, name, O = forward.prepare(t[1], t[2], t[3],
      { causal = p.causal, lazy = how.lazy, config = config })
    return launch, name, { O }
  end
  if not t.O then
    t.O, t.LSE = forward.attention(t[1], t[2], t[3], { causal = p.causal, lse = true })
  end
  return backward.prepare(t[4], t[1], t[2], t[3], t.O, t.LSE,
    { causal = p.causal, deterministic = how.turns, config = config })
end

-- How far a configuration's results are from the plain kernel's, over poison.
local function difference(p, small, how)
  local launch, _, own = prepared(p, small, how, how.config)
  for _, t in ipairs(own) do data.poison(t) end
  launch()
  if not small.plain then
    local plain, _, results = prepared(p, small, {}, "plain")
    plain()
    small.plain = results
  end
  local worst = 0.0
  for i, t in ipairs(own) do
    local off = data.compare(t, small.plain[i]).relative
    worst = off == off and math.max(worst, off) or math.huge
  end
  return worst
end

local function text_of(config)
  if type(config) ~= "table" then return config end
  local parts = {}
  for key, x in pairs(config) do
    if key ~= "template" and key ~= "name" and key ~= "sm" and key ~= "depth" then
      local value = type(x) == "table" and table.concat(x, "/") or tostring(x)
      parts[#parts + 1] = ("%s %s"):format(key, value)
    end
  end
  table.sort(parts)
  return config.name .. ": " .. table.concat(parts, ", ")
end

-- how: {lazy =, turns =, config =}.
local function add_ours(list, p, t, small, kind, how)
  local ok, launch, name = pcall(prepared, p, t, how, how.config)
  if not ok then
    print(("  %s: %s"):format(text_of(how.config) or p.name, launch))
    return
  end
  local c = regimes.candidate(("* %s%s"):format(text_of(how.config) or name,
    kind == "ours" and "" or ", " .. kind), launch)
  c.kind = how.config and "variant" or kind
  local off = difference(p, small, how)
  c.verdict = ("%.2g to plain%s"):format(off, off <= BOUND[p.kind] and "" or " WRONG")
  score.wrong = score.wrong + (off <= BOUND[p.kind] and 0 or 1)
  list[#list + 1] = c
  return c
end

-- Of all variants those that take the depth as it is.
local function add_variants(list, p, t, small, kind, how)
  for _, config in ipairs(options.variants[p.kind] or {}) do
    if config.depth == nil or config.depth == p.d then
      how.config = config
      add_ours(list, p, t, small, kind, how)
    end
  end
end

local kept = {} -- operands of the last shape and type

local function shared_operands(p, dtype)
  local key = ("%s %d %d %d %d"):format(dtype, p.b, p.h, p.s, p.d)
  if kept.key ~= key then
    local few = math.min(p.h, PART)
    kept = { key = key, all = operands(p, dtype, p.h), few = operands(p, dtype, few) }
    collectgarbage()
  end
  for _, t in ipairs { kept.all, kept.few } do t.O, t.LSE, t.plain = nil, nil, nil end
  return kept.all, kept.few
end

local fill <const> = {
  backward = function(list, p)
    local t, small = shared_operands(p, ct.bf16)
    add_ours(list, p, t, small, "ours", {})
    add_ours(list, p, t, small, "turns", { turns = true })
    add_variants(list, p, t, small, "ours", {})
    add_peers(list, p)
  end,
  forward = function(list, p)
    local t, small = shared_operands(p, ct.bf16)
    for _, kind in ipairs { "lazy", "exact" } do
      add_ours(list, p, t, small, kind, { lazy = kind == "lazy" })
      add_variants(list, p, t, small, kind, { lazy = kind == "lazy" })
    end
    add_peers(list, p)
  end,
  f8 = function(list, p)
    local t, small = shared_operands(p, ct.bf16)
    add_ours(list, p, t, small, "bf16", {})
    add_ours(list, p, t, small, "bf16, lazy", { lazy = true })
    t, small = operands(p, ct.f8e4m3, p.h), operands(p, ct.f8e4m3, math.min(p.h, PART))
    add_ours(list, p, t, small, "f8", {})
    add_ours(list, p, t, small, "f8, lazy", { lazy = true })
    add_variants(list, p, t, small, "f8", {})
  end,
}

-- {====== Results ======

local function best(list, kind)
  return tables.best(list, "bur", function(c) return c.kind == kind or kind == nil end)
end

-- What the row's bars compare with what.
local function print_bars(p, list)
  local parts, theirs = {}, best(list, "FlashAttention-3")
  local function bar(what, their_time, mine)
    tables.bar(score, parts, what, their_time, mine, p.bars[what])
  end
  for _, kind in ipairs { "ours", "lazy", "exact" } do bar(kind, theirs, best(list, kind)) end
  bar("best", theirs, tables.best(list, "bur", function(c) return c.kind == "lazy"
    or c.kind == "exact" end))
  bar("turns", best(list, "ours"), best(list, "turns"))
  bar("f8", best(list, "bf16"), best(list, "f8"))
  tables.print_bars(parts)
end

local function measure(p)
  local list = {}
  fill[p.kind](list, p)
  regimes.time(list, "bur", numbers)
  print(p.name)
  local function of(kind) return function() return best(list, kind) end end
  tables.print(list, { flops = p.flops, regimes = { "bur" }, title = "difference",
    peers = { { "FA3", of "FlashAttention-3" }, { "cuDNN", of "cuDNN" } } })
  print_bars(p, list)
  io.stdout:flush()
  collectgarbage()
end

-- {====== Errors to double precision ======

local names <const> = { "O", "dQ", "dK", "dV" }

local function save(folder, name, t)
  ct.save_npy(("%s/%s.npy"):format(folder, name), ct.recast(ct.view(t, ct.size(t)), ct.u16))
end

-- Ours and FlashAttention-3's of the same operands, which it writes.
local function errors(d, causal, outliers)
  local folder, h, s = os.tmpname(), 4, 2048
  os.remove(folder)
  os.execute("mkdir " .. folder)
  local theirs = fa3:ask("errors %d %d %d %d %d %s", h, s, d, causal and 1 or 0,
    outliers and 1 or 0, folder)
  local t = {}
  for i, name in ipairs { "Q", "K", "V", "dO" } do
    local bits = ct.load_npy(("%s/%s.npy"):format(folder, name))
    t[i] = ct.view(ct.recast(ct.view(bits, ct.size(bits)), ct.bf16):to "cuda",
      ct.row_major { 1, h, s, d })
  end
  local O, LSE = forward.attention(t[1], t[2], t[3], { causal = causal, lse = true })
  save(folder, "O", O)
  for i, g in ipairs { backward.attention_backward(t[4], t[1], t[2], t[3], O, LSE,
    { causal = causal }) } do
    save(folder, names[i + 1], g)
  end
  local ours = fa3:ask("errors_of %s", table.concat(names, " "))
  save(folder, "O", (forward.attention(t[1], t[2], t[3], { causal = causal, lazy = true })))
  print(("errors d%d %s%s, of O, dQ, dK, dV: FA3 %s; ours %s; O lazy %s"):format(d,
    causal and "causal" or "full", outliers and ", outliers" or "", theirs, ours,
    fa3:ask "errors_of O"))
  os.execute("rm -r " .. folder)
  io.stdout:flush()
end

local function all_errors()
  for _, d in ipairs { 64, 128, 256 } do
    for _, causal in ipairs { false, true } do
      for _, outliers in ipairs { false, true } do errors(d, causal, outliers) end
    end
  end
end

-- {====== Running ======

local readers <const> = {
  rounds = function(x) numbers.bur.rounds = math.tointeger(x) end,
  idle = function(x) numbers.bur.idle = math.tointeger(x) end,
  fa3 = function(x) options.fa3 = x end,
  variants = function(x) options.variants = dofile(x) end,
  ["no-fa3"] = function() options.fa3 = false end,
  ["no-cudnn"] = function() options.cudnn = false end,
}

local function read_arguments()
  for _, word in ipairs(arg) do
    local name, value = word:match "^%-%-([%w-]+)=?(.*)$"
    if name and not readers[name] then
      error(("attention_bars: there is no option '%s'"):format(word), 0)
    elseif name then
      readers[name](value)
    else
      table.insert(options.words, word)
    end
  end
end

local function is_wanted(name)
  for _, word in ipairs(options.words) do
    if (" " .. name .. " "):find(" " .. word .. " ", 1, true) then return true end
  end
  return #options.words == 0
end

read_arguments()
if on_gpu then
  local ordinal = ct.device().ordinal or 0
  fa3 = options.fa3 and started("fa3_peer",
    type(options.fa3) == "string" and peers.quoted(options.fa3) or "")
  cudnn = options.cudnn and started("sdpa_peer", ordinal)
else
  numbers.bur = { rounds = 1, idle = 0, warm = 0, reps = 1 }
end
for _, p in ipairs(rows) do
  if is_wanted(p.name) then measure(p) end
end
if fa3 and is_wanted "errors" then all_errors() end
kept = {}
collectgarbage()
if cudnn then cudnn:ask "forget" end
cache.run { is_wanted = is_wanted, peer = cudnn, score = score,
            rounds = numbers.bur.rounds, variants = options.variants.decode or {},
            text_of = text_of }
if fa3 then fa3:close() end
if cudnn then cudnn:close() end
print(("%d of %d bars met, %d wrong"):format(score.met, score.all, score.wrong))
os.exit(score.wrong == 0)
