-- packed_operands.lua: in kernels, codes of packed weights as operands of products.
local internal = ...
local formats = require "cuttle.packed_formats"
local M = {}

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

--- The same times factors of rows g and g + 8, each a word of two halves, to the fragment `out`.
function M.scaled(format, dtype, words, i, zero, factors, out)
  local mul = (dtype == f16 and f16x2 or bf16x2).mul
  local a, b, c, d = pairs_of(format, dtype, words, i, zero)
  put(dtype, out, mul(a, factors[1]), mul(b, factors[2]), mul(c, factors[1]), mul(d, factors[2]))
end

return M
