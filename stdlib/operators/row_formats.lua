-- row_formats.lua: the formats of few bits that rows are quantised to. Each is a function for
-- row_kernel or its method followed_by: f(row, v) -> the element, and what its block has once.
local M = {}

-- The largest number of a type, and the exponent of its largest power of two.
local ranges <const> = {
  [f8e4m3] = { most = 448.0, exponent = 8 },
  [f8e5m2] = { most = 57344.0, exponent = 15 },
  [i8] = { most = 127.0 },
}

local TINY <const> = 1e-12 -- a block of zeros is divided by something

--- v / scale in `dtype`, f8e4m3, f8e5m2 or i8, and the scale of each block of n columns, f32: the
--- block's largest element becomes the type's largest number. i8 is rounded to the nearest number,
--- of two the even one.
function M.blocks(dtype, n)
  local most = ranges[dtype].most
  return function(row, v)
    local scale = max(row:group_max(abs(v), n), TINY) * (1.0 / most)
    local scaled = v * (1.0 / scale)
    if dtype == i8 then scaled = rint(scaled) end
    return scaled, row:group_once(scale, n)
  end
end

local MX_BLOCK <const> = 32
local BIAS <const>, MANTISSA <const> = 127, 23 -- of f32, and of a scale byte

--- OCP's MX format of `dtype`, f8e4m3 or f8e5m2: v / 2^e, and for each block of 32 columns the byte
--- e + 127. e is floor(log2(largest |v|)) less the exponent of the type's largest power of two, and
--- at least -127. What is too large for the type becomes its largest number.
function M.mx(dtype)
  local exponent = ranges[dtype].exponent
  return function(row, v)
    local bits = bitcast(row:group_max(abs(cast(v, f32)), MX_BLOCK), i32)
    local byte = max((bits >> MANTISSA) - exponent, 0)
    local inverse = bitcast((2 * BIAS - byte) << MANTISSA, f32)
    return cast(v, f32) * inverse, row:group_once(byte, MX_BLOCK)
  end
end

--- The named formats: {suffix of the operators' names, function, types of both results}.
M.named = {
  { "fp8_blocks", M.blocks(f8e4m3, 128), { f8e4m3, f32 } },
  { "fp8_e5m2_blocks", M.blocks(f8e5m2, 128), { f8e5m2, f32 } },
  { "int8_blocks", M.blocks(i8, 128), { i8, f32 } },
  { "mxfp8", M.mx(f8e4m3), { f8e4m3, u8 } },
  { "mxfp8_e5m2", M.mx(f8e5m2), { f8e5m2, u8 } },
}

return M
