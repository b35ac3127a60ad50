-- row_formats.lua: the formats of few bits that rows are quantised to. Each is a function for
-- row_kernel or its method followed_by: f(row, v) -> the element, and what its block has once.
local internal = ...
local tiles = require "cuttle.tiles"
local M = {}

-- The largest number of a type, and the exponent of the largest power of two of OCP's formats.
local largest <const> = { [f8e4m3] = 448.0, [f8e5m2] = 57344.0, [i8] = 127.0 }
local exponents <const> = { [f8e4m3] = 8, [f8e5m2] = 15, [f6e3m2] = 4, [f6e2m3] = 2, [f4e2m1] = 2 }

local function range_of(list, dtype)
  if list[dtype] then return list[dtype] end
  local names = {}
  for t in pairs(list) do names[#names + 1] = t.name end
  table.sort(names)
  tiles.fail("row_formats", "the element type is %s; expected one of %s", tostring(dtype),
    table.concat(names, ", "))
end

--- The number that a type's largest element is scaled to; nil: elements of it are not scaled.
function M.largest(dtype) return largest[dtype] end

local TINY <const> = 1e-12 -- a block of zeros is divided by something

-- 1 / v, for a v from 2^-100 to 2^100, as a division rounds it, but without a division's branches.
local function reciprocal(v)
  if internal.kernel.dtype_of(v) ~= f32 then return 1.0 / v end
  local near = fast.rcp(v)
  return fma(near, fma(-near, v, 1.0), near)
end

-- f(v, largest_of) -> v / scale, scale: what largest_of(|v|) returns becomes the type's largest
-- number.
local function by_largest(dtype)
  local most = range_of(largest, dtype)
  return function(v, largest_of)
    local scale = max(largest_of(abs(v)), TINY) * (1.0 / most)
    local scaled = v * reciprocal(scale)
    return dtype == i8 and rint(scaled) or scaled, scale
  end
end

--- v / scale in `dtype`, f8e4m3, f8e5m2 or i8, and the scale of each block of n columns, f32: the
--- block's largest element becomes the type's largest number. i8 is rounded to the nearest number,
--- of two the even one.
function M.blocks(dtype, n)
  local scaled_by = by_largest(dtype)
  return function(row, v)
    local scaled, scale = scaled_by(v, function(size) return row:group_max(size, n) end)
    return scaled, row:group_once(scale, n)
  end
end

--- The same with a scale for each row.
function M.rows(dtype)
  local scaled_by = by_largest(dtype)
  return function(row, v)
    local scaled, scale = scaled_by(v, function(size) return row:max(size) end)
    return scaled, row:once(scale)
  end
end

local MX_BLOCK <const> = 32
local BIAS <const>, MANTISSA <const> = 127, 23 -- of f32
local LEAST <const> = 0x00400000 -- the bits of 2^-127, a scale's least value

--- OCP's MX format of `dtype`, f8e4m3, f8e5m2, f6e3m2, f6e2m3 or f4e2m1: v / 2^e, and 2^e for each
--- block of 32 columns. e is floor(log2(largest |v|)) less the exponent of the type's largest power
--- of two, and at least -127. What is too large for the type becomes its largest number.
function M.mx(dtype)
  local exponent = range_of(exponents, dtype)
  return function(row, v)
    local bits = bitcast(row:group_max(abs(cast(v, f32)), MX_BLOCK), i32)
    local e = max((bits >> MANTISSA) - exponent, 0)
    local scale = bitcast(where(e == 0, LEAST, e << MANTISSA), f32)
    local inverse = bitcast((2 * BIAS - e) << MANTISSA, f32)
    return cast(v, f32) * inverse, row:group_once(scale, MX_BLOCK)
  end
end

local NV_BLOCK <const> = 16
local NV_LARGEST <const> = 6.0 -- of f4e2m1

--- The largest |v| of a tensor that nvfp4 holds with `global` = 1.
M.nvfp4_largest = NV_LARGEST * largest[f8e4m3]

--- NVFP4: v / (scale global) in f4e2m1, and the scale of each block of 16 columns, f8ue4m3: the
--- block's largest element becomes 6. `global`, one number for the whole tensor, is its largest |v|
--- by nvfp4_largest, so that no scale is too large. A block whose scale is rounded to 0 becomes 0.
function M.nvfp4(row, v, global)
  local most = row:group_max(abs(cast(v, f32)), NV_BLOCK)
  local scale = cast(most * (1.0 / (NV_LARGEST * global)), f8ue4m3)
  local by = cast(scale, f32) * global
  local scaled = where(by == 0.0, 0.0, cast(v, f32) * (1.0 / by))
  return scaled, row:group_once(scale, NV_BLOCK)
end

--- The named formats: {suffix of the operators' names, function, types of both results}.
M.named = {
  { "fp8_rows", M.rows(f8e4m3), { f8e4m3, f32 } },
  { "int8_rows", M.rows(i8), { i8, f32 } },
  { "fp8_blocks", M.blocks(f8e4m3, 128), { f8e4m3, f32 } },
  { "fp8_e5m2_blocks", M.blocks(f8e5m2, 128), { f8e5m2, f32 } },
  { "int8_blocks", M.blocks(i8, 128), { i8, f32 } },
  { "mxfp8", M.mx(f8e4m3), { f8e4m3, f8ue8m0 } },
  { "mxfp8_e5m2", M.mx(f8e5m2), { f8e5m2, f8ue8m0 } },
  { "mxfp4", M.mx(f4e2m1), { f4e2m1, f8ue8m0 } },
}

return M
