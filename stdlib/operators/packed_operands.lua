-- packed_operands.lua: in kernels, codes of packed weights as operands of products.
local internal = ...
local formats = require "cuttle.packed_formats"
local M = {}

local wide <const> = { f8e4m3 = function() return f16 end, i8 = function() return f16 end }

--- The type that tensor cores multiply activations of `dtype` in, by mma.sync.
function M.wide(dtype)
  local of = wide[dtype.name]
  return of and of() or dtype
end

local function f16_bits(byte)
  return cast(bitcast(cast(bitcast(cast(byte, u8), f8e4m3), f16), u16), u32)
end

-- The lower two bytes of a word, f8e4m3, as a pair of f16.
local function widened(word)
  return internal.kernel.ptx([[
    .reg .b16 low, high;
    mov.b32 {low, high}, $x;
    cvt.rn.f16x2.e4m3x2 $pair, low;
  ]], { pair = u32 }, { x = word }, function(x)
    return f16_bits(x & 0xff) | f16_bits(x >> 8 & 0xff) << 16
  end)
end

-- The same of i8: 0x64 above a byte b is 1024 + b.
local function widened_i8(word)
  return f16x2.sub(byte_perm(word ~ u32(0x80808080), u32(0x64646464), 0x4140), f16x2(1152.0))
end

--- Words of f8e4m3 or i8 as words of pairs of f16, to a fragment of twice as many.
function M.widen(dtype, words, out)
  local f = dtype == i8 and widened_i8 or widened
  for i = 0, size(words) - 1 do out[2 * i], out[2 * i + 1] = f(words[i]), f(words[i] >> 16) end
end

-- The halves of a word as numbers. A recast fragment would be put together again by instructions.
local function halves_of(pair, dtype)
  return internal.kernel.ptx("mov.b32 {$lo, $hi}, $word;", { lo = dtype, hi = dtype },
    { word = pair }, function(word)
      return bitcast(cast(word, u16), dtype), bitcast(cast(word >> 16, u16), dtype)
    end)
end

-- Pairs to the elements of a fragment.
local function put(dtype, out, ...)
  for i, word in ipairs{...} do out[2 * i - 2], out[2 * i - 1] = halves_of(word, dtype) end
  return out
end

--- Pairs as an operand.
function M.of(dtype, ...) return put(dtype, fragment(dtype, 2 * select("#", ...)), ...) end

-- The pairs of tile i of a lane's four words of a unit; zero: see packed_formats.lua.
local function pairs_of(format, dtype, words, i, zero)
  local per_tile = formats.words(format)
  return format.operand(dtype, function(n) return words[i * per_tile + n] end, zero)
end

--- They, as operand A; with `factors`, times these.
function M.weight(format, dtype, words, i, zero, factors)
  if not factors then return M.of(dtype, pairs_of(format, dtype, words, i, zero)) end
  local out = fragment(dtype, 8)
  M.scaled(format, dtype, words, i, zero, factors, out)
  return out
end

--- Tile i as two words of operand A of 8 bits, of rows g and g + 8; make: of the format's functions
--- that do so, with what it takes beside the words.
function M.narrow(format, words, i, make, zero)
  local per_tile = formats.words(format)
  return make(function(n) return words[i * per_tile + n] end, zero)
end

--- The scales of rows g and g + 8, of one word or, of f32, two.
function M.scales(dtype, word)
  if dtype == f32 then return bitcast(word(0), f32), bitcast(word(1), f32) end
  return (dtype == f16 and f16x2 or bf16x2).unpack(word(0))
end

--- The same times factors of rows g and g + 8, each a word of two halves, to the fragment `out`.
function M.scaled(format, dtype, words, i, zero, factors, out)
  local mul = (dtype == f16 and f16x2 or bf16x2).mul
  local a, b, c, d = pairs_of(format, dtype, words, i, zero)
  put(dtype, out, mul(a, factors[1]), mul(b, factors[2]), mul(c, factors[1]), mul(d, factors[2]))
end

return M
