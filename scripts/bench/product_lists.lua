-- product_lists.lua: products of different extents in bf16 by one launch of lists of tensors
-- (docs/matmul.md#groups), beside as many launches one after another, each by the configuration
-- that matmul chooses for it. Prints milliseconds and TFLOP/s of all.
--   CUTTLE_DEVICE=cuda cuttle scripts/bench/product_lists.lua [COUNT] [--config=NAME ...]
-- On the CPU engine the products are small, to show that it runs.
local ct = require "cuttle"
local operator = require "cuttle.matmul"

local on_gpu = ct.device().sm ~= nil
local UNIT <const> = on_gpu and 256 or 8

local count, names = 16, { false }
for _, word in ipairs(arg) do
  local name = word:match "^%-%-config=(.+)$"
  if name then names[#names + 1] = name else count = math.tointeger(word) or count end
end

local A, B, C, each, flops = {}, {}, {}, {}, 0
for g = 1, count do
  local m, n, k = UNIT * (g % 5 + 1), 2 * UNIT * (g % 3 + 1), 4 * UNIT * (g % 4 + 1)
  A[g], B[g] = ct.randn(ct.bf16, ct.row_major{ m, k }), ct.randn(ct.bf16, ct.row_major{ n, k })
  C[g] = ct.zeros(ct.bf16, ct.row_major{ m, n })
  each[g] = operator.prepare(A[g], B[g], C[g])
  flops = flops + 2 * m * n * k
end

local function show(text, run)
  local ms = ct.bench(run)
  print(("%-40s %8.3f ms  %7.1f TFLOP/s"):format(text, ms, flops / ms * 1e-9))
  io.stdout:flush()
end

show(("%d launches"):format(count), function()
  for _, launch in ipairs(each) do launch() end
end)
for _, name in ipairs(names) do
  local launch, which = operator.prepare(A, B, C, { config = name or nil })
  show("one launch, " .. which, launch)
end
