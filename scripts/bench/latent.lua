-- latent.lua: attention_decode of 128 latent heads (576/512), which the tensor cores limit, beside
-- cuBLAS's bf16 product of 8192 cubed in the same run: in bursts and sustained (regimes.lua).
--   make bench-tools && CUTTLE_DEVICE=cuda cuttle scripts/bench/latent.lua [--quick]
--     [--variants=FILE] [--heads=N] [--narrow] [BxN ...]
--   BxN              sequences of so many keys; 64x8192 and 7x65536
--   --heads=N        in place of 128
--   --narrow         also a cache of f8e4m3, with scales of 128 columns and 64 columns of bf16
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
local H, numbers, variants, shapes, narrow = 128, regimes.regimes, { false }, {}, false

for _, word in ipairs(arg) do
  local file, b, n = word:match "^%-%-variants=(.*)$", word:match "^(%d+)x(%d+)$"
  local heads = word:match "^%-%-heads=(%d+)$"
  if word == "--quick" then
    numbers = regimes.quick
  elseif word == "--narrow" then
    narrow = true
  elseif heads then
    H = math.tointeger(heads)
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

-- The same queries and a cache of 8 bits of other elements.
local function eight_bits(list, Q, b, n)
  local function like(dtype, columns, seed)
    return ct.view(data.normal(dtype, b * n * columns, seed), ct.row_major { b, 1, n, columns })
  end
  local K, rope, scales = like(ct.f8e4m3, DV, 3), like(ct.bf16, D - DV, 4), like(ct.f32, GROUPS, 5)
  local options = { k_rope = rope, k_scale = scales, v_scale = scales }
  local function prepare(config)
    options.config = config
    return decode.prepare(Q, K, K, options)
  end
  local plain, _, want = prepare "plain"
  plain()
  local launch, name, O = prepare "latent 8 bits"
  data.poison(O)
  launch()
  table.insert(list, candidate(("%dx%d %s"):format(b, n, name), launch, 2 * b * n * H * (D + DV),
    ("%.2g to plain"):format(data.compare(O, want).relative)))
end

local function latent(list, b, n)
  local K = ct.view(data.normal(ct.bf16, b * n * D, 2), ct.row_major { b, 1, n, D })
  local V = ct.view(K, ct.layout({ b, 1, n, DV }, { n * D, 0, D, 1 }))
  local Q = ct.view(data.normal(ct.bf16, b * H * D, 1), ct.row_major { b, H, D })
  local plain, _, want = decode.prepare(Q, K, V, { config = "plain" })
  plain()
  for _, config in ipairs(variants) do
    for _, lazy in ipairs { false, true } do
      local launch, name, O = decode.prepare(Q, K, V, { config = config or nil, lazy = lazy })
      data.poison(O)
      launch()
      table.insert(list, candidate(("%dx%d %s%s"):format(b, n, name, lazy and ", lazy" or ""),
        launch, 2 * b * n * H * (D + DV), ("%.2g to plain"):format(data.compare(O, want).relative)))
    end
  end
  if narrow then eight_bits(list, Q, b, n) end
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
