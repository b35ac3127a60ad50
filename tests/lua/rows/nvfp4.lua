-- NVFP4 and MXFP4: elements and scales against the same steps in plain Lua, each rounded to f32; and
-- the law that an element is off by at most half of its neighbours' distance.
local rows = require "cuttle.rows"
local checked <const> = { check = true }

local function f32_of(v) return (string.unpack("<f", string.pack("<f", v))) end
local function narrow(v, dtype) return reference.cast(full(f32, 1, v), dtype)[0] end

local function largest(x, r, first, n)
  local most = 0
  for i = first, first + n - 1 do most = math.max(most, math.abs(x[{ r, i }])) end
  return most
end

local x = randn(f32, row_major { 3, 96 })
for i = 0, 15 do x[{ 0, i }] = 0 end
for i = 16, 31 do x[{ 0, i }] = x[{ 0, i }] * 1e-6 end -- its scale is rounded to 0
for i = 32, 47 do x[{ 1, i }] = x[{ 1, i }] * 50 end
local global = rows.nvfp4_global(x)
local all = 0
for r = 0, 2 do all = math.max(all, largest(x, r, 0, 96)) end
print(global.dtype, math.abs(global[0] * 2688 / all - 1) < 1e-6)  -- expect: f32	true

-- The same by a number as by a tensor.
for _, by in ipairs { global, global[0] } do
  local q, scale = rows.quantize_nvfp4(x, by, checked)
  local wrong, far, top = 0, 0, 0
  local factor = f32_of(1 / f32_of(6 * global[0]))
  for r = 0, 2 do
    for g = 0, 5 do
      local s = narrow(f32_of(largest(x, r, 16 * g, 16) * factor), f8ue4m3)
      local unit = f32_of(s * global[0])
      if scale[{ r, g }] ~= s then wrong = wrong + 1 end
      top = math.max(top, s)
      for i = 16 * g, 16 * g + 15 do
        local v = unit == 0 and 0 or narrow(f32_of(x[{ r, i }] * f32_of(1 / unit)), f4e2m1)
        if q[{ r, i }] ~= v then wrong = wrong + 1 end
        local off = math.abs(v * unit - x[{ r, i }])
        if s >= 2.0 ^ -6 and off > 1.13 * unit then far = far + 1 end
      end
    end
  end
  print(q.dtype, scale.dtype, scale.shape, wrong, far, top, scale[{ 0, 1 }])
end
-- expect: f4e2m1	f8ue4m3	(3,6)	0	0	448.0	0.0
-- expect: f4e2m1	f8ue4m3	(3,6)	0	0	448.0	0.0

-- A tensor of zeros has a scale, too.
print(rows.nvfp4_global(zeros(bf16, row_major { 2, 32 }))[0])  -- expect: 1.0

-- MXFP4 packs two elements in a byte, also where rows end within a block, and after other operators.
local q, scale = rows.quantize_mxfp4(full(bf16, row_major { 2, 40 }, 3.0), checked)
print(q.dtype, scale.shape, scale[{ 1, 1 }], q[{ 1, 39 }], recast(q, u8)[0])
-- expect: f4e2m1	(2,2)	0.5	6.0	119
local y = rows.swiglu_mxfp4(ones(f32, row_major { 2, 32 }), ones(f32, row_major { 2, 32 }), checked)
print(y.dtype, y[{ 0, 0 }])  -- expect: f4e2m1	6.0

-- Hosts have no type for its elements: bytes of two each may be given, of both formats.
local bytes, few = full(u8, row_major { 2, 20 }, 7), view(rand(f32, 80), row_major { 2, 40 })
local made = rows.quantize_mxfp4(few, { out = { bytes, zeros(f8ue8m0, row_major { 2, 2 }) } })
print(made.dtype, reference.difference(bytes, recast(rows.quantize_mxfp4(few), u8)))
-- expect: f4e2m1	nil
rows.quantize_nvfp4(few, 0.01, { out = { bytes, zeros(f8ue4m3, row_major { 2, 3 }) } })
print(reference.difference(bytes, recast(rows.quantize_nvfp4(few, 0.01), u8)))  -- expect: nil
local _, why = pcall(rows.quantize_mxfp4, few, { out = { zeros(u8, row_major { 2, 21 }),
  zeros(f8ue8m0, row_major { 2, 2 }) } })
print(why:match "out.*")  -- expect: out[1] is (2,21):(21,1); expected (2,40)
