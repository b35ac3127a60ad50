-- attention_decode_narrow.lua: keys and values of 8 bits, f8e4m3 or i8, as operands of products of
-- f16. ldmatrix moves pairs of bytes, so a lane gets four adjacent bytes of a row where the
-- instruction wants two pairs of numbers that lie 8 apart: the depth is permuted in groups of 16,
-- the same way for queries and keys. Of values, transposed, it gets two columns of two rows: even
-- columns make one atom of the product, odd ones the next, so columns of O are permuted, too.
local internal = ...
local M = {}

local GROUP <const> = 16 -- bytes of a row in a matrix of ldmatrix
local WORD <const> = 4

--- Where element d of a query's row is to be in shared memory.
function M.place_of(d)
  local at = d % GROUP
  return d - at + at % WORD // 2 * 8 + at // WORD * 2 + at % 2
end

--- Column first + c of O as an MMA has it: the element of the depth. `first` is the thread's first
--- column, c a multiple of 8, or one more.
function M.column(first, c)
  local at = c % GROUP
  return 2 * first + c - at + at % 8 * 2 + at // 8
end

local function f8_of(byte) return cast(bitcast(cast(byte, u8), f8e4m3), f16) end

-- Two numbers of f16 from the lower two bytes of x.
local function pair_of_f8(x)
  return internal.kernel.ptx([[
    .reg .b32 both;
    cvt.rn.f16x2.e4m3x2 both, $two;
    mov.b32 {$lo, $hi}, both;
  ]], { lo = f16, hi = f16 }, { two = cast(x, u16) }, function(two)
    local bits = cast(two, u32)
    return f8_of(bits & 0xff), f8_of(bits >> 8)
  end)
end

-- The same as a word.
local function word_of_f8(x)
  return internal.kernel.ptx("cvt.rn.f16x2.e4m3x2 $word, $two;", { word = u32 },
    { two = cast(x, u16) }, function(two)
      local bits = cast(two, u32)
      return cast(bitcast(f8_of(bits & 0xff), u16), u32)
        | cast(bitcast(f8_of(bits >> 8), u16), u32) << 16
    end)
end

-- 0x64 above a byte b is 1024 + b; of b + 128, in place of b, 1152 is to be taken away.
local BIAS <const>, EXPONENT <const> = 0x80808080, 0x64646464

local function word_of_i8(x, which)
  return f16x2.sub(byte_perm(x, u32(EXPONENT), u32(which)), f16x2(1152.0))
end

local function pair_of_i8(x, which)
  local both = word_of_i8(x, which)
  return internal.kernel.ptx("mov.b32 {$lo, $hi}, $word;", { lo = f16, hi = f16 }, { word = both },
    function(word)
      return bitcast(cast(word, u16), f16), bitcast(cast(word >> 16, u16), f16)
    end)
end

-- Four bytes as numbers of f16: of bytes 0 and 1, then of 2 and 3.
local function widen(dtype, x)
  if dtype == i8 then
    x = x ~ u32(BIAS)
    local a, b = pair_of_i8(x, 0x4140)
    return a, b, pair_of_i8(x, 0x4342)
  end
  local a, b = pair_of_f8(x)
  return a, b, pair_of_f8(x >> 16)
end

--- The same as two words of two numbers.
function M.words(dtype, x)
  if dtype ~= i8 then return word_of_f8(x), word_of_f8(x >> 16) end
  x = x ~ u32(BIAS)
  return word_of_i8(x, 0x4140), word_of_i8(x, 0x4342)
end

-- Calls f(number of the matrix, its word) for all of a tile of 16 rows, four at a time: matrix
-- 4 i + j has rows from 8 (j % 2) on and group 2 i + j // 2 of the depth.
local function each_matrix(name, tile_of_bytes, lane, f)
  local words = recast(tile_of_bytes, u16)
  local by = atom(name, u16)
  for i in unroll(0, size(words, 1) // GROUP) do
    local four = fragment(u16, 8)
    local row, piece = lane % 16, 2 * i + lane // 16
    copy(by, tile(words(row, _), {8}, {piece}), four)
    local w = recast(four, u32)
    for j = 0, 3 do f(j % 2, 2 * i + j // 2, w[j]) end
  end
end

--- Operand B of the scores, (V,N,K), of a tile of 16 keys.
function M.keys(s, lane)
  local n = size(s, 1) // GROUP
  local out = fragment(f16, layout({ { 2, 2 }, 2, n }, { { 1, 2 }, 4 * n, 4 }))
  each_matrix("SM75_U32x4_LDSM_N", s, lane, function(half, group, w)
    out[{ { 0, 0 }, half, group }], out[{ { 1, 0 }, half, group }],
      out[{ { 0, 1 }, half, group }], out[{ { 1, 1 }, half, group }] = widen(s.dtype, w)
  end)
  return out
end

--- Operand B of the sums, of a tile of 16 values.
function M.values(s, lane)
  local n = size(s, 1) // GROUP
  local out = fragment(f16, layout({ { 2, 2 }, 2 * n, 1 }, { { 1, 2 }, 4, 0 }))
  each_matrix("SM75_U16x8_LDSM_T", s, lane, function(half, group, w)
    out[{ { 0, half }, 2 * group, 0 }], out[{ { 1, half }, 2 * group, 0 }],
      out[{ { 0, half }, 2 * group + 1, 0 }], out[{ { 1, half }, 2 * group + 1, 0 }] =
      widen(s.dtype, byte_perm(w, w, u32(0x3120)))
  end)
  return out
end

return M
