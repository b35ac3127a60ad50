-- copies.lua: copies between tensors of a device whose layouts differ, beside a plain copy in the
-- same run; copies_torch.py times PyTorch's:
--   CUTTLE_DEVICE=cuda cuttle scripts/bench/copies.lua; python3 scripts/bench/copies_torch.py
-- Bytes are those read once and written once; of fill and clear, those written.
local ct = require "cuttle"
local f32, bf16, u8, f64 = ct.f32, ct.bf16, ct.u8, ct.f64
local size, shape, zeros, tile = ct.size, ct.shape, ct.zeros, ct.tile
local SMALLER <const> = ct.device().sm and 1 or 32

local function extents(list)
  local e = {}
  for i, n in ipairs(list) do e[i] = math.max(1, n // SMALLER) end
  return e
end

local function report(name, bytes, f)
  local ms = ct.bench(f)
  print(("%-32s %9.1f us %8.1f GB/s"):format(name, 1e3 * ms, bytes / ms * 1e-6))
end

local function turned(name, dtype, list, order)
  local from = ct.select(zeros(dtype, extents(list)), table.unpack(order))
  local to = zeros(dtype, shape(from))
  report(name, 2 * size(to) * dtype.bits // 8, function() ct.copy(from, to) end)
end

turned("f32 32x48x32x40x16 to 3,0,4,2,1", f32, { 32, 48, 32, 40, 16 }, { 3, 0, 4, 2, 1 })
turned("f32 8192^2 transposed", f32, { 8192, 8192 }, { 1, 0 })
turned("bf16 8192^2 transposed", bf16, { 8192, 8192 }, { 1, 0 })
turned("u8 8192^2 transposed", u8, { 8192, 8192 }, { 1, 0 })
turned("f64 4096^2 transposed", f64, { 4096, 4096 }, { 1, 0 })
turned("bf16 128x16x4096x8 to 0,2,1,3", bf16, { 128, 16, 4096, 8 }, { 0, 2, 1, 3 })
turned("f32 64x128x64x64 to 0,2,1,3", f32, { 64, 128, 64, 64 }, { 0, 2, 1, 3 })

local whole = zeros(f32, extents{ 8192, 8192 })
local half = zeros(f32, extents{ 4096, 8192 })
local bytes = size(half) * 4
report("f32 rows 0..4095 of 8192^2", 2 * bytes, function()
  ct.copy(tile(whole, shape(half), { 0, 0 }), half)
end)
report("f32 8192^2 filled", 2 * bytes, function() ct.fill(whole, 1.5) end)
report("f32 rows 4096..8191 cleared", bytes, function()
  ct.clear(tile(whole, shape(half), { 1, 0 }))
end)
local other = zeros(f32, half.layout)
report("f32 4096x8192, plain copy", 2 * bytes, function() ct.copy(half, other) end)
