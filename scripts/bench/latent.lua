-- latent.lua: attention_decode of 128 latent heads (576/512), which the tensor cores limit, beside
-- cuBLAS's bf16 product of 8192 cubed in the same run: in bursts and sustained (regimes.lua).
--   make bench-tools && CUTTLE_DEVICE=cuda cuttle scripts/bench/latent.lua [--quick]
--     [--variants=FILE] [--heads=N] [--narrow] [--scores] [--chosen=N] [BxN ...]
--   BxN              sequences of so many keys; 64x8192 and 7x65536
--   --heads=N        in place of 128
--   --narrow         also a cache of f8e4m3, with scales of 128 columns and 64 columns of bf16
--   --scores         also masks and scores
--   --chosen=N       a query sees so many of its sequence's keys, in any order, by pages of one;
--                    also with an eighth of them left out, as holes
--   --variants=FILE  Lua that returns a list of tables as attention_decode takes for `config`
-- Prints us, TFLOP/s, their ratio to the tensor cores' 989 and to cuBLAS, and the difference from
-- the plain kernel.
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local ct = require "cuttle"
local data = require "data"
local decode = require "cuttle.attention_decode"
local libraries = require "libraries"
local regimes = require "regimes"

local D <const>, DV <const>, PEAK <const>, N <const> = 576, 512, 989, 8192
local GROUPS <const> = 4 -- scales of a key
local H, numbers, variants, shapes = 128, regimes.regimes, {}, {}
local narrow, with_scores, chosen = false, false

for _, word in ipairs(arg) do
  local file, b, n = word:match "^%-%-variants=(.*)$", word:match "^(%d+)x(%d+)$"
  local heads, n_chosen = word:match "^%-%-heads=(%d+)$", word:match "^%-%-chosen=(%d+)$"
  if word == "--quick" then
    numbers = regimes.quick
  elseif word == "--narrow" then
    narrow = true
  elseif word == "--scores" then
    with_scores = true
  elseif heads then
    H = math.tointeger(heads)
  elseif n_chosen then
    chosen = math.tointeger(n_chosen)
  elseif file then
    for _, config in ipairs(dofile(file)) do table.insert(variants, config) end
  else
    table.insert(shapes, { math.tointeger(b), math.tointeger(n) })
  end
end
if #shapes == 0 then shapes = { { 64, 8192 }, { 7, 65536 } } end

local function candidate(name, launch, flops, verdict, queue)
  local c = regimes.candidate(name, launch, queue)
  c.flops, c.verdict = flops, verdict
  return c
end

local function product()
  local function operand(seed)
    return ct.view(data.normal(ct.bf16, N * N, seed), ct.row_major { N, N })
  end
  local C = ct.tensor(ct.bf16, ct.layout({ N, N }, { 1, N }))
  return candidate("cuBLAS, bf16, 8192 cubed", assert(libraries.cublas(operand(1), operand(2), C)),
    2 * N ^ 3, "", libraries.queue())
end

-- Adds a candidate for each of `configs`, beside the plain kernel's result.
local function each_config(list, title, flops, configs, Q, K, V, options)
  local function prepare(config, lazy)
    options.config, options.lazy = config, lazy
    return decode.prepare(Q, K, V, options)
  end
  local plain, _, want = prepare "plain"
  plain()
  for _, config in ipairs(configs) do
    for _, lazy in ipairs(type(config) == "table" and { false } or { false, true }) do
      local launch, name, O = prepare(config or nil, lazy)
      data.poison(O)
      launch()
      if not lazy or name:find "hopper" then
        table.insert(list, candidate(("%s %s%s"):format(title, name, lazy and ", lazy" or ""),
          launch, flops, ("%.2g to plain"):format(data.compare(O, want).relative)))
      end
    end
  end
end

-- `first` configurations, then those of the file: of 8 bits, or the others.
local function with_variants(first, is_narrow)
  for _, config in ipairs(variants) do
    local is_meant = (config.narrow or false) == is_narrow and not (chosen and is_narrow)
    if is_meant then table.insert(first, config) end
  end
  return first
end

-- The b sequences of n keys in a pool of pages of one key. Each sees some of its own, in any order.
local function choose(options, b, n)
  local list = {}
  for i = 1, b * chosen do list[i] = (i - 1) // chosen * n + math.random(0, n - 1) end
  options.block_table = ct.view(ct.from_table(ct.i32, list), ct.row_major { b, chosen })
  local lengths = {}
  for i = 1, b do lengths[i] = chosen end
  options.cache_seqlens = ct.from_table(ct.i32, lengths)
  return options
end

-- The same lists with holes.
local function with_holes(options, b)
  local list = options.block_table:totable()
  for i = 1, b do
    for j = 1, chosen do list[i][j] = math.random(8) == 1 and -1 or list[i][j] end
  end
  return { block_table = ct.from_table(ct.i32, list), cache_seqlens = options.cache_seqlens,
           holes = true }
end

local function numbers_of_heads(f)
  local of = {}
  for h = 1, H do of[h] = f(h) end
  return of
end

local scores <const> = {
  { "sinks", { sinks = numbers_of_heads(function(h) return h / 64 end) } },
  { "a window of 1,024", { window = { 1023, 0 } } }, { "a soft-cap", { softcap = 30.0 } },
  { "ALiBi", { alibi = numbers_of_heads(function(h) return 1 / h end) } },
  { "a mask", { mask = function(_, k) return k % 3 ~= 1 end } },
}

local function latent(list, b, n)
  local first, rows, seen = b, n, n
  local options, options_8 = {}, {}
  if chosen then
    first, rows, seen = b * n, 1, chosen
    choose(options, b, n)
    options_8.block_table, options_8.cache_seqlens = options.block_table, options.cache_seqlens
  end
  local title, flops = ("%dx%d"):format(b, seen), 2 * b * seen * H * (D + DV)
  local function like(dtype, columns, seed)
    return ct.view(data.normal(dtype, b * n * columns, seed),
      ct.row_major { first, 1, rows, columns })
  end
  local K = like(ct.bf16, D, 2)
  local V = ct.view(K, ct.layout({ first, 1, rows, DV }, { rows * D, 0, D, 1 }))
  local Q = ct.view(data.normal(ct.bf16, b * H * D, 1), ct.row_major { b, H, D })
  each_config(list, title, flops,
    with_variants(chosen and { false, "latent 64 keys" } or { false }, false), Q, K, V, options)
  if chosen then
    each_config(list, title .. ", holes,", flops, { false }, Q, K, V, with_holes(options, b))
  end
  for _, case in ipairs(with_scores and scores or {}) do
    each_config(list, ("%s, %s,"):format(title, case[1]), flops, { false }, Q, K, V, case[2])
  end
  if narrow then
    K = like(ct.f8e4m3, DV, 3)
    options_8.k_rope, options_8.k_scale = like(ct.bf16, D - DV, 4), like(ct.f32, GROUPS, 5)
    options_8.v_scale = options_8.k_scale
    each_config(list, title, flops,
      with_variants({ "latent 8 bits", not chosen and "latent hopper, 8 bits" or nil }, true),
      Q, K, K, options_8)
  end
end

local list = { product() }
for _, shape in ipairs(shapes) do latent(list, table.unpack(shape)) end
for _, regime in ipairs { "bur", "sus" } do
  regimes.time(list, regime, numbers)
  local function rate(c) return c.flops / c.ms[regime] * 1e-9 end
  print(regime)
  for _, c in ipairs(list) do
    print(("  %-44s %8.1f us %5.0f TFLOP/s %6.3f of peak %6.3f of cuBLAS  %s"):format(c.name,
      c.ms[regime] * 1000, rate(c), rate(c) / PEAK, rate(c) / rate(list[1]), c.verdict))
  end
end
