-- packed_spread.lua: the spread of a packed weight's scales (packed_weights.lua). If all scales are
-- powers of two, it is the largest difference of their exponents within FOLDED elements of a row,
-- along K. A scale whose elements are all 0 does not count. If the spread is small, products may
-- multiply the elements by their scales first, in a format that folds.
local formats = require "cuttle.packed_formats"
local memo = require "cuttle.memo"
local on_device = require "cuttle.operator_device"
local M = { NONE = 255 } -- the spread where scales are no powers of two, or nobody asks

local THREADS <const>, CODES_OF_WORD <const> = 128, 8 -- of a u32 of four-bit codes
local MAGNITUDE <const>, EXPONENT <const> = 7, 23 -- bits of a code; where f32 has its exponent
local OTHERS <const> = 0x807fffff -- sign and fraction

--- In a kernel: the code of an element of W (N,K,G) of bytes or of words.
function M.code_at(W, is_words, n, k, group)
  if not is_words then return cast(W[{n, k, group}], u32) end
  return cast(W[{n, k // CODES_OF_WORD, group}], u32) >> cast(4 * (k % CODES_OF_WORD), u32)
    & u32(15)
end

-- The bits of scales from `first` on, below `last`, where a number is not 0: calls f for them.
local function each_scale(W, is_words, scales, at, dtype, f)
  for j in range(at.first, at.last) do
    local any = u32(0)
    for k in range(j * at.group, (j + 1) * at.group) do
      any = any | M.code_at(W, is_words, at.n, k, at.g)
    end
    if any & u32(MAGNITUDE) ~= u32(0) then
      f(bitcast(cast(cast(scales[{at.n, j, at.g}], dtype), f32), u32))
    end
  end
end

local finder = memo.by_arguments(function(is_words, dtype)
  return kernel("spread_of_scales", function(W, scales, out, group)
    local i, of_span = blockIdx.x * THREADS + threadIdx.x, formats.FOLDED // group
    local n_spans = cdiv(size(scales, 1), of_span)
    local n, span, g = i % size(W, 0), i // size(W, 0) % n_spans, i // size(W, 0) // n_spans
    if g >= size(W, 2) then return end
    local low, high, is_power = u32(M.NONE), u32(0), true
    each_scale(W, is_words, scales, { n = n, g = g, group = group, first = span * of_span,
      last = min((span + 1) * of_span, size(scales, 1)) }, dtype, function(bits)
      low, high = min(low, bits >> EXPONENT), max(high, bits >> EXPONENT)
      is_power = is_power and bits & u32(OTHERS) == u32(0) and bits ~= u32(0)
    end)
    if not is_power then low, high = u32(0), u32(M.NONE) end
    if high > low then atomic_max(out, 0, high - low) end
  end)
end)

--- The spread of codes (N,K,G) with such scales (N,K/group,G): {format =, group =, dtype = in which
--- scales are stored}.
function M.find(codes, is_words, scales, of)
  local narrow = (of.format.narrow or {}).f8e4m3
  if not (narrow and narrow.folded) or of.group >= formats.FOLDED
    or of.group < formats.span(of.group) then
    return M.NONE
  end
  local out = on_device.bring(codes.device, zeros(u32, 1))
  local n = size(codes, 0) * cdiv(size(scales, 1), formats.FOLDED // of.group) * size(codes, 2)
  finder(is_words, of.dtype){grid = cdiv(n, THREADS), block = THREADS}(codes, scales, out, of.group)
  return out[0]
end

return M
