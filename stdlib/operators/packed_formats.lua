-- packed_formats.lua: the element types of packed weights: how codes lie in words, and how a warp
-- makes operand A of an MMA m16n8k16 of them.
--
-- A unit is 16 bytes of each of a warp's 32 lanes: of 16 rows, so many tiles of K = 16 as fill it.
-- Of each 32 of K, the four lanes of a row have 8 each, so that a lane's activations lie side by
-- side: lane 4g + c has rows g and g + 8, and of K = 32 h + 8 c + 4 u + 0 .. 3 tile 2 h + u. The
-- tile's registers a0 and a2 are pairs of row g, a1 and a3 of row g + 8. A format's word has the
-- codes of these pairs where few instructions make numbers of f16 or bf16 of them, exactly:
-- code - zero point, an integer, or what a table says.
--   bits       of a code
--   tiles      of K = 16 of a unit
--   is_integer has zero points; `zero` is that of weights without any, most_zero the largest
--              with which operand is exact, if that is less than 255
--   value(code)  the number of a code, on the host; of a table, the largest is `most`
--   code(x)    in a kernel: the nearest code; absent, it is looked for among 16
--   place(r, half)  where the code of that half of pair r is: a word of the tile, and its bit
--   operand(dtype, word, zero)  the tile's four pairs: of its words, word(i), and, of an integer
--              type, of the zero points that zeros made
--   zeros(dtype, word)  what is subtracted from rows g and g + 8, of a word with both zero points;
--              of nil: what is subtracted where there are none
--   narrow     by the name of a type of 8 bits in which all numbers are exact: {of(word, zero), the
--              tile's four numbers of row g and of row g + 8 as bytes, of K 4 u + 0, 2, 1, 3; unit,
--              what these are to be multiplied by; most_zero, with which they are exact, at least
--              SMALL_ZERO}
--              Of a table: folded(word, tables), the same times scales that are powers of two, of
--              both rows as fold(scale, most) makes tables of them: as parts of the largest of a
--              span of FOLDED of K, which is `most` and so many powers of two larger at most
--   narrow_zeros(word)  what these take as zero, of a word with both zero points or of nil
local internal = ...
local lists = require "cuttle.lists"
local tiles = require "cuttle.tiles"
local M = { FOLDED = 128,
            SMALL_ZERO = 16 } -- with such zero points differences of 4 bits are exact in all types

-- Of two equal halves.
local function twice(bits) return bits << 16 | bits end

local halves <const> = { f16 = function() return f16x2 end, bf16 = function() return bf16x2 end }
local function pairs_of(dtype) return halves[dtype.name]() end

-- The number that codes are or-ed into: of f16 1024, of bf16 128; the last bits count ones.
local magic <const> = { f16 = 0x6400, bf16 = 0x4300 }

-- x & mask | bits as one instruction: of two constants, compilers make two.
local function masked(word, kept, added)
  return internal.kernel.ptx("lop3.b32 $made, $x, $mask, $bits, 0xea;", { made = u32 },
    { x = word, mask = kept, bits = added }, function(x, mask, bits) return x & mask | bits end)
end

-- The code or-ed into the magic number, in both halves; shift: to the code of the low one.
local function integer(dtype, word, shift, mask)
  return masked(word >> shift, twice(mask), twice(magic[dtype.name]))
end

--- A word's halves, each twice.
local function spread(word) return byte_perm(word, word, 0x1010), byte_perm(word, word, 0x3232) end

-- What is subtracted from codes in the magic number, of two zero points or of nil: `absent`, twice.
local function integer_zeros(dtype, word, absent)
  if word == nil then word = u32(twice(absent)) end
  return { spread(word | u32(twice(magic[dtype.name]))) }
end

local function four(make) return make(0), make(1), make(2), make(3) end

-- {====== Integers ======

local BYTES <const> = 0x01010101


local u4 = { bits = 4, tiles = 4, is_integer = true, zero = 8, most_zero = 128 }

function u4.value(code) return code end

function u4.place(r, half) return 0, 4 * r + 16 * half end

function u4.zeros(dtype, word)
  return integer_zeros(dtype, word, u4.zero)
end

function u4.operand(dtype, word, zero)
  local w, sub = word(0), pairs_of(dtype).sub
  return four(function(r) return sub(integer(dtype, w, 4 * r, 0xf), zero[r % 2 + 1]) end)
end

function u4.narrow_zeros(word)
  return word and { byte_perm(word, word, 0x0000), byte_perm(word, word, 0x2222) } or nil
end

-- Bytes 128 + code - zero.
local function differences(codes, zero) return masked(codes, 0x0f0f0f0f, 0x80808080) - zero end

-- Bytes of which bit `sign` says that a number is not negative; below it is what the number is more
-- than the least one. The magnitude is in the bits `kept`.
local function signed_bytes(bytes, sign, kept)
  local negative = ~(bytes >> sign) & u32(BYTES)
  return ((bytes ~ negative * u32((1 << sign) - 1)) & u32(kept * BYTES)) + negative * u32(0x81)
end

-- An integer up to 16 is so many of the least f8e4m3, whose bits it is.
local function u4_as_f8(word, zero)
  local w = word(0)
  if not zero then return signed_bytes(w, 3, 7), signed_bytes(w >> 4, 3, 7) end
  return signed_bytes(differences(w, zero[1]), 7, 31),
    signed_bytes(differences(w >> 4, zero[2]), 7, 31)
end

local function u4_as_i8(word, zero)
  local w, flip = word(0), u32(0x80 * BYTES)
  zero = zero or { u32(u4.zero * BYTES), u32(u4.zero * BYTES) }
  return differences(w, zero[1]) ~ flip, differences(w >> 4, zero[2]) ~ flip
end

u4.narrow = { f8e4m3 = { of = u4_as_f8, unit = 512.0, most_zero = M.SMALL_ZERO },
              i8 = { of = u4_as_i8, unit = 1.0, most_zero = 128 } }

local u8_ = { bits = 8, tiles = 2, is_integer = true, zero = 128 }

function u8_.value(code) return code end

function u8_.place(r, half) return r // 2, 8 * (r % 2) + 16 * half end

-- Of bf16, which has 7 bits beside the first: code - 128, as the low 7 bits less 128 or, where the
-- highest is 1, 0.
local function centred(word, shift)
  local moved = word >> shift
  local top = (moved & u32(0x00800080)) ~ u32(0x43804380) -- 256 or 128
  return bf16x2.sub(masked(moved, 0x007f007f, 0x43004300), top)
end

function u8_.zeros(dtype, word)
  if dtype.name == "bf16" then
    if word == nil then return {} end
    return { spread(centred(word, 0)) }
  end
  return integer_zeros(dtype, word, u8_.zero)
end

function u8_.operand(dtype, word, zero)
  local sub = pairs_of(dtype).sub
  return four(function(r)
    local w, shift, own = word(r // 2), 8 * (r % 2), zero[r % 2 + 1]
    if dtype.name == "f16" then return sub(integer(dtype, w, shift, 0xff), own) end
    return own and sub(centred(w, shift), own) or centred(w, shift)
  end)
end

-- {====== Numbers of a table ======

-- A float: the bits of exponent and fraction become those of the wide type, whose bias a factor
-- makes up for. Of f8e4m3 NaN counts as 480.
local fraction_bits <const> = { f16 = 10, bf16 = 7 }

local function moved_left(w, n) return n >= 0 and w << n or w >> -n end

-- The pair whose codes' last bits are at `bit` of both halves; of: a format with how many bits of
-- fraction there are, how many without the sign, and the factor by type.
local function float_pair(of, dtype, w, bit)
  local at = fraction_bits[dtype.name] - of.fraction
  local sign = moved_left(w, 15 - of.magnitude - bit) & u32(0x80008000)
  local narrow = masked(moved_left(w, at - bit), twice(((1 << of.magnitude) - 1) << at), sign)
  return pairs_of(dtype).mul(narrow, u32(twice(of.factors[dtype.name])))
end

local e2m1 = { bits = 4, tiles = 4, most = 6.0, fraction = 1, magnitude = 3,
               factors = { f16 = 0x7400, bf16 = 0x7e80 } } -- 2^14, 2^126
local e2m1_values <const> = { [0] = 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0 }

function e2m1.value(code)
  local v = e2m1_values[code & 7]
  return code & 8 ~= 0 and -v or v
end

e2m1.place = u4.place
function e2m1.zeros() return {} end

-- Bits of exponent and fraction below the sign, for a bias that is 6 larger.
function e2m1.narrow_zeros() return {} end

local function e2m1_as_f8(word)
  local w = word(0)
  return masked(w << 2, 0x1c1c1c1c, w << 4 & u32(0x80808080)),
    masked(w >> 2, 0x1c1c1c1c, w & u32(0x80808080))
end

-- Bytes of all magnitudes for the largest scale, those of 0 to 1.5 and those of 2 to 6: all but 0
-- have an exponent. Each power of two that a scale has less is one of the exponent.
local function fold_e2m1(scale, most)
  local less = bitcast(most, u32) - bitcast(scale, u32) >> 23
  return { u32(0x6c686000) - less * u32(0x08080800), u32(0x7c787470) - less * u32(0x08080808) }
end

-- The codes of both rows take turns in a word, so every second byte that one row's table gives is
-- of that row.
local function folded_e2m1(word, rows)
  local w = word(0)
  local codes = w & u32(0x77777777)
  local function of(t, bytes)
    return byte_perm(byte_perm(t[1], t[2], codes), byte_perm(t[1], t[2], codes >> 16), bytes)
  end
  return of(rows[1], 0x6420) | w << 4 & u32(0x80808080), of(rows[2], 0x7531) | w & u32(0x80808080)
end

e2m1.narrow = { f8e4m3 = { unit = 64.0, of = e2m1_as_f8, fold = fold_e2m1, folded = folded_e2m1,
                           folded_unit = 2.0 ^ -6, powers = 11 } }

function e2m1.operand(dtype, word)
  local w = word(0)
  return four(function(r) return float_pair(e2m1, dtype, w, 4 * r) end)
end

local e4m3 = { bits = 8, tiles = 2, most = 448.0, fraction = 3, magnitude = 7,
               factors = { f16 = 0x5c00, bf16 = 0x7b80 } } -- 2^8, 2^120

function e4m3.value(code)
  local exponent, fraction = code >> 3 & 15, code & 7
  local v = exponent > 0 and (8 + fraction) * 2.0 ^ (exponent - 10) or fraction * 2.0 ^ -9
  return code & 128 ~= 0 and -v or v
end

function e4m3.code(x) return cast(bitcast(cast(x, f8e4m3), u8), u32) end

e4m3.place = u8_.place
function e4m3.zeros() return {} end

function e4m3.operand(dtype, word)
  return four(function(r) return float_pair(e4m3, dtype, word(r // 2), 8 * (r % 2)) end)
end

-- The 16 numbers of a table, rounded to the operands' type, are bytes of 8 words, of which
-- byte_perm picks: low and high bytes apart. Codes of a pair are adjacent.
local nf4 = { bits = 4, tiles = 4, most = 1.0 }
local nf4_values <const> = {
  [0] = -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
  -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534,
  0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434,
  0.5626170039176941, 0.7229568362236023, 1.0 }

function nf4.value(code) return nf4_values[code] end

function nf4.place(r, half) return 0, 8 * r + 4 * half end
function nf4.zeros() return {} end

local tables = {} -- by name of the operands' type: four words of low bytes, four of high ones

local nf4_table = static_fn(function(dtype)
  if tables[dtype.name] then return tables[dtype.name] end
  local made, numbers = { 0, 0, 0, 0, 0, 0, 0, 0 }, zeros(dtype, 16)
  for i = 0, 15 do numbers[i] = nf4_values[i] end
  local bits = recast(numbers, u16)
  for i = 0, 15 do
    local at, shift = i // 4 + 1, 8 * (i % 4)
    made[at] = made[at] | (bits[i] & 0xff) << shift
    made[at + 4] = made[at + 4] | (bits[i] >> 8 & 0xff) << shift
  end
  tables[dtype.name] = made
  return made
end)

-- Bytes of four words at first .. first + 3 that the low four codes of w choose.
local function bytes_of(list, first, low, high)
  local a = byte_perm(u32(list[first]), u32(list[first + 1]), low)
  local b = byte_perm(u32(list[first + 2]), u32(list[first + 3]), low)
  return byte_perm(a, b, high)
end

function nf4.operand(dtype, word)
  local list, w, made = nf4_table(dtype), word(0), {}
  for half = 0, 1 do
    local codes = w >> 16 * half
    local low, high = codes & u32(0x7777), (codes & u32(0x8888)) >> 1 | u32(0x3210)
    local lows, highs = bytes_of(list, 1, low, high), bytes_of(list, 5, low, high)
    made[2 * half] = byte_perm(lows, highs, 0x5140)
    made[2 * half + 1] = byte_perm(lows, highs, 0x7362)
  end
  return made[0], made[1], made[2], made[3]
end

M.spread = spread
M.formats = { u4 = u4, u8 = u8_, f4e2m1 = e2m1, f8e4m3 = e4m3, nf4 = nf4 }

--- The format of that name; `op` is the operator's name in the message.
function M.find(op, name)
  local found = M.formats[name]
  if found then return found end
  tiles.fail(op, "the type is %s; expected one of %s", tostring(name),
    table.concat(lists.keys(M.formats), ", "))
end

--- Elements of K of a unit.
function M.unit(format) return 16 * format.tiles end

--- The words of a tile of K = 16.
function M.words(format) return 4 // format.tiles end

--- Where the code of row r (below 16) and k (of a unit) is in a unit: lane, word, bit.
function M.place(format, r, k)
  local c, u, q = k % 32 // 8, k % 8 // 4, k % 4
  local tile = 2 * (k // 32) + u
  local word, bit = format.place(r // 8 + 2 * (q // 2), q % 2)
  return 4 * (r % 8) + c, tile * M.words(format) + word, bit
end

--- Elements of K of which a lane has one scale. Of a group of 16 the lanes 0 and 1 of a row have
--- one half of these 32, 2 and 3 the other.
function M.span(group) return math.max(group, 32) end

--- In a kernel: which group a lane's scale is of, for the span that begins at k.
function M.group_of(group, k, lane)
  return k // group + (group < 32 and lane % 4 // 2 or 0)
end

--- In a kernel: a tensor (rows, n) of a packed weight, whose first mode is known.
function M.static(t, rows) return view(t, layout({ rows, size(t, 1) }, { 1, rows })) end

return M
