-- selection_keys.lua: keys of sorts as unsigned numbers in the order of the keys. NaN comes after
-- all numbers, whatever its sign, and -0 is +0.
local internal = ...
local call = require "cuttle.selection_call"
local M = {}

--- Types that keys may have.
M.types = { bool, u8, i8, u16, i16, f16, bf16, u32, i32, f32, u64, i64, f64 }

local words <const> = { [1] = u32, [2] = u32, [4] = u32, [8] = u64 }
local as_bits <const> = { [2] = u16, [4] = u32, [8] = u64 }

--- The type of a key's number, and how many of its low bits there are.
function M.word(dtype) return words[dtype.bytes], dtype == bool and 1 or 8 * dtype.bytes end

local function ones(word, n) return cast(n == 64 and -1 or (1 << n) - 1, word) end

local signed <const> = { [i8] = true, [i16] = true, [i32] = true, [i64] = true }

-- Negative numbers have all bits turned, others the sign.
local function of_float(v, word, n)
  local bits = cast(bitcast(v, as_bits[n // 8]), word)
  local sign = cast(1, word) << n - 1
  local low = bits & (sign - 1)
  local magnitudes = { [f16] = 0x7c00, [bf16] = 0x7f80, [f32] = 0x7f800000,
    [f64] = 0x7ff0000000000000 }
  local infinity = cast(magnitudes[internal.kernel.dtype_of(v)], word)
  local is_negative = bits & sign ~= 0 and low ~= 0
  local turned = where(is_negative, ones(word, n) ~ bits, low | sign)
  return where(low > infinity, ones(word, n), turned)
end

--- The number of a kernel's value: a < b of numbers of keys is a before b. For a descending order
--- all bits are turned.
function M.number(v, is_descending)
  local dtype = internal.kernel.dtype_of(v)
  local word, n = M.word(dtype)
  local key
  if dtype.is_float then
    key = of_float(v, word, n)
  elseif signed[dtype] then
    key = cast(v, word) & ones(word, n) ~ cast(1, word) << n - 1
  else
    key = call.number(v, word)
  end
  return is_descending and key ~ ones(word, n) or key
end

return M
