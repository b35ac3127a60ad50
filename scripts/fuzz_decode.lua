-- fuzz_decode.lua: attention_decode of random problems on the device, against
-- reference.attention_decode in double precision: O and LSE. TAP, one line for each configuration:
-- the largest errors of an element to its value, but at least to 1.
--   cuttle scripts/fuzz_decode.lua CALLS SEED [CONFIG...]
local decode = require "cuttle.attention_decode"
local CALLS <const>, SEED <const> = tonumber(arg[1] or 5), tonumber(arg[2] or 1)
local configs = table.pack(table.unpack(arg, 3))
local HALVES <const> = { bf16, f16 }
-- Of a configuration: types of queries; narrow: keys and values of 8 bits; latent: values are
-- columns of keys; page: the size of pages is a multiple of it; pairs: more than 64 queries share
-- their keys; deep: rows have up to 256 columns; one_scale: keys and values share their four
-- scales, and their products with them are rounded.
local known <const> = {
  plain = { types = { f32 } },
  ["mma 8 warps"] = { types = HALVES }, ["mma 4 warps"] = { types = HALVES },
  ["mma 6 warps"] = { types = HALVES, deep = true },
  ["mma 4 warps, 2 stages"] = { types = HALVES, deep = true },
  ["mma 8 bits"] = { types = HALVES, narrow = true, deep = true },
  ["mma 8 bits, 2 stages"] = { types = HALVES, narrow = true, deep = true },
  ["mma 8 bits, 6 warps"] = { types = HALVES, narrow = true, deep = true },
  ["mma 8 bits, 4 warps"] = { types = HALVES, narrow = true, deep = true },
  ["latent 64 keys"] = { types = HALVES, latent = true },
  ["latent 8 bits"] = { types = HALVES, latent = true, narrow = true },
  ["latent hopper, rows"] = { types = HALVES, latent = true },
  ["latent hopper, 8 bits"] = { types = HALVES, latent = true, narrow = true, one_scale = true,
    page = 64 },
  ["latent hopper"] = { types = HALVES, latent = true, page = 64 },
  ["latent hopper, pairs"] = { types = HALVES, latent = true, page = 64, pairs = true },
}
if #configs == 0 then
  configs = { "plain" }
  for _, row in ipairs(device().sm == 90 and decode.configs or {}) do
    if known[row.name] and row.name ~= "plain" then table.insert(configs, row.name) end
  end
end

local MOST <const> = device().sm and 1500 or 300 -- keys of a sequence
local random = math.random

local function one_of(list) return list[random(#list)] end

local function is_often(n) return random(n) > 1 end

-- {====== Problems ======

local function host(t) return t:to "cpu" end

local function cast_random(dtype, shape)
  if dtype == i8 then
    local list = {}
    for i = 1, size(row_major(shape)) do list[i] = random(-127, 127) end
    return view(host(from_table(i8, list)), row_major(shape))
  end
  return view(host(reference.cast(host(randn(f32, size(row_major(shape)))), dtype)),
    row_major(shape))
end

-- Numbers of different pages, (b, n); has_holes: some of them -1.
local function random_pages(b, n, has_holes)
  local list = {}
  for i = 1, b * n do list[i] = i - 1 end
  for i = b * n, 2, -1 do
    local j = random(i)
    list[i], list[j] = list[j], list[i]
  end
  for i = 1, has_holes and b * n or 0 do list[i] = is_often(3) and list[i] or -1 end
  return view(host(from_table(i32, list)), row_major { b, n })
end

-- Lengths of all kinds, some of them 0 or all that there is room for.
local function random_lengths(b, room)
  local list = {}
  for i = 1, b do list[i] = one_of { 0, room, random(room), random(math.min(room, 70)) } end
  return host(from_table(i32, list))
end

-- Which of the last s keys each of s queries sees.
local function random_tree(b, s)
  local list = {}
  for i = 1, b * s * s do list[i] = random(0, 1) end
  return view(host(from_table(u8, list)), row_major { b, s, s })
end

-- Adds masks and scores for so many heads.
local function add_scores(options, heads)
  local function per_head(f)
    local list = {}
    for i = 1, heads do list[i] = f() end
    return host(from_table(f32, list))
  end
  if is_often(2) then options.window = { one_of { 0, 5, 100, 700 }, one_of { -1, 0, 2 } } end
  if is_often(2) then options.sinks = per_head(function() return random() * 4 - 2 end) end
  if is_often(3) then options.softcap = one_of { 1.5, 30.0 } end
  if is_often(3) then options.alibi = per_head(function() return random() / 10 end) end
  if is_often(4) then options.mask = function(q, k, h) return (q + k + h) % 4 ~= 0 end end
end

-- Of n parts of a key's columns, or of all columns, 256, 128 or 64.
local function random_scales(first, rows, n)
  local list
  n, list = n or one_of { 1, 2, 4, 8 }, {}
  for i = 1, first * rows * n do list[i] = random() / 16 end
  return view(host(from_table(f32, list)), row_major { first, 1, rows, n })
end

-- Q, K, V and options, on the host.
local function problem(of)
  local b, dtype, room = random(5), one_of(of.types), random(MOST)
  local h, s = one_of { 1, 2, 3, 4, 7 }, one_of { 1, 1, 2, 3 }
  local hk, d = one_of { 1, 2 }, 32 * random(of.deep and 8 or 4)
  local kv = of.narrow and one_of { f8e4m3, i8 } or dtype
  if of.latent then hk, d, h = 1, 576, one_of { 1, 9, 16, 60 } end
  if of.pairs then h, s = one_of { 66, 100, 128 }, 1 end
  local options = { lse = true, causal = is_often(2), lazy = is_often(2) }
  local first, rows = b, room
  if is_often(2) then
    rows = one_of { 64, 128 }
    if not of.page then rows = one_of { 1, 7, 16, 48, 64 } end
    local n = cdiv(room, rows)
    options.holes = rows == 1 and is_often(2) or nil
    if options.holes then options.causal = nil end
    options.block_table, first, room = random_pages(b, n, options.holes), b * n, n * rows
  end
  options.cache_seqlens = random_lengths(b, room)
  if s > 1 and not options.causal and not options.holes and is_often(2) then
    options.tree_mask = random_tree(b, s)
  end
  if of.narrow then options.k_scale, options.v_scale = 1 / 32, one_of { 0.5, 1 / 64 } end
  if of.narrow and not of.latent and is_often(2) then
    for _, name in ipairs { "k_scale", "v_scale" } do
      options[name] = host(rand(f32, row_major { first, hk, rows }, 0.01, 0.05))
    end
  end
  local depth = d
  if of.one_scale or of.narrow and of.latent and is_often(4) then
    options.k_rope = host(randn(dtype, row_major { first, 1, rows, 64 }))
    d = 512
    options.k_scale = random_scales(first, rows, of.one_scale and 4)
    options.v_scale = of.one_scale and options.k_scale or random_scales(first, rows)
  end
  local K = cast_random(kv, { first, hk, rows, d })
  local V = of.latent and view(K, layout({ first, 1, rows, 512 }, { rows * d, 0, d, 1 }))
    or cast_random(kv, { first, hk, rows, 32 * random(of.deep and 8 or 4) })
  if not of.latent and not options.holes and is_often(3) then
    options.k = host(randn(dtype, row_major { b, hk, s, d }))
    options.v = host(randn(dtype, row_major { b, hk, s, size(V, 3) }))
  end
  if not options.holes and is_often(2) then add_scores(options, h * hk) end
  return host(randn(dtype, row_major { b, h * hk, s, depth })), K, V, options
end

-- {====== Comparison ======

local function to_device(t)
  return type(t) == "userdata" and t.device == "cpu" and device().sm and t:to "cuda" or t
end

local function distance(a, b)
  local worst, y = 0, view(b, layout { size(b) }):totable()
  for i, x in ipairs(view(a, layout { size(a) }):totable()) do
    local d = x == y[i] and 0 or math.abs(x - y[i]) / math.max(1, math.abs(y[i]))
    worst = (d ~= d or d > worst) and d or worst
  end
  return worst
end

-- The row of that name, with a random number of parts.
local function config_of(name)
  local config = { parts = random(3) }
  for _, row in ipairs(decode.configs) do
    for key, x in pairs(row.name == name and row or {}) do config[key] = x end
  end
  return config
end

local function errors(name, Q, K, V, options)
  local own = { config = config_of(name) }
  for key, x in pairs(options) do own[key] = to_device(x) end
  if options.v_scale == options.k_scale then own.v_scale = own.k_scale end
  local on_device = to_device(K)
  local values = known[name].latent and view(on_device, V.layout) or to_device(V)
  local O, LSE = attention_decode(to_device(Q), on_device, values, own)
  local R, RL = reference.attention_decode(Q, K, V, options)
  return distance(host(O), host(R)), distance(host(LSE), host(RL))
end

-- The same of a random problem, another one where a block has no memory for it.
local function errors_of_one(name)
  local ok, off, off_lse = pcall(errors, name, problem(known[name]))
  if ok then return off, off_lse end
  if not tostring(off):find("make a tile smaller", 1, true) then error(off, 0) end
  return errors_of_one(name)
end

math.randomseed(SEED)
manual_seed(SEED)
print(("1..%d"):format(#configs))
local failed = 0
for i, name in ipairs(configs) do
  local worst = { 0, 0 }
  for _ = 1, CALLS do
    for k, e in ipairs { errors_of_one(name) } do
      if e ~= e or e > worst[k] then worst[k] = e end
    end
  end
  local is_rounded, is_exact = known[name].one_scale, known[name].types[1] == f32
  local is_ok = worst[1] < (is_exact and 2e-5 or is_rounded and 4e-2 or 2e-2)
    and worst[2] < (is_rounded and 2e-3 or 1e-4)
  failed = failed + (is_ok and 0 or 1)
  print(("%s %d - %s: O %.2g, LSE %.2g"):format(is_ok and "ok" or "not ok", i, name, worst[1],
    worst[2]))
end
os.exit(failed == 0)
