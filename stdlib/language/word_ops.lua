-- word_ops.lua: rotations, bit fields and sums with a carry. CUDA has no functions for them, so
-- they are made of shifts and comparisons, which compilers know again. On the host they take Lua's
-- 64 bits.
local internal = ...
local tiles = require "cuttle.tiles"
local M = {}

local function is_number(x) return getmetatable(x) == nil end

-- The type of a word: nil of a Lua integer.
local function word_type(op, x)
  local kind = tiles.type_name(x)
  if kind ~= "number" then
    tiles.fail(op, "integers expected, got %s%s", kind == "nil" and "" or "a ", kind)
  end
  if is_number(x) then
    if not math.tointeger(x) then tiles.fail(op, "integers expected, got %s", tostring(x)) end
    return nil
  end
  local t = internal.kernel.dtype_of(x)
  if t ~= u32 and t ~= i32 and t ~= u64 and t ~= i64 then
    tiles.fail(op, "words of 32 or 64 bits expected, got %s; write cast(x, u32), "
      .. "or bitcast(x, u32) for the bits of an f32", t)
  end
  return t
end

local function width_of(t)
  if t == nil then return 64 end
  return t.bits
end
local function unsigned_of(t) return t.bits == 32 and u32 or u64 end

-- {====== Rotations ======

local function turn(word, n, bits, is_left)
  if bits == 32 then
    return (is_left and funnel_shift_l or funnel_shift_r)(word, word, n)
  end
  local there, back = cast(n & bits - 1, u64), cast(-n & bits - 1, u64)
  if is_left then return word << there | word >> back end
  return word >> there | word << back
end

local function rotate(op, x, n, is_left)
  local t = word_type(op, x)
  word_type(op, n)
  if t == nil then
    if not is_number(n) then
      tiles.fail(op, "the word is a Lua integer, but the count is known only at run time; give the "
        .. "word a type, as in %s(u32(1), n)", op)
    end
    local left = (is_left and n or -n) & 63
    return x << left | x >> (-left & 63)
  end
  local unsigned = unsigned_of(t)
  local turned = turn(t == unsigned and x or cast(x, unsigned), n, t.bits, is_left)
  return t == unsigned and turned or cast(turned, t)
end

function M.rotl(x, n) return rotate("rotl", x, n, true) end
function M.rotr(x, n) return rotate("rotr", x, n, false) end

-- {====== Bit fields ======

local function check_field(op, bits, at, n)
  word_type(op, at)
  word_type(op, n)
  if is_number(at) and is_number(n) and (at < 0 or n < 0 or at + n > bits) then
    tiles.fail(op, "the field begins at bit %d and has %d bits; expected a field within 0 .. %d",
      at, n, bits - 1)
  end
end

-- n ones, above `at` zeros.
local function mask_of(unsigned, at, n)
  if unsigned == nil then return (1 << n) - 1 << at end
  return (unsigned(1) << cast(n, unsigned)) - 1 << cast(at, unsigned)
end

function M.bfe(x, at, n)
  local t = word_type("bfe", x)
  check_field("bfe", width_of(t), at, n)
  if t == nil then return x >> at & mask_of(nil, 0, n) end
  if t == u32 or t == u64 then return x >> cast(at, t) & mask_of(t, 0, n) end
  local top = min(at + n, t.bits)
  return where(n == 0, cast(0, t), ashr(x << cast(t.bits - top, t), cast(t.bits - top + at, t)))
end

function M.bfi(a, b, at, n)
  local t, into = word_type("bfi", a), word_type("bfi", b)
  t = into or t
  check_field("bfi", width_of(t), at, n)
  if t == nil then
    local mask = mask_of(nil, at, n)
    return b & ~mask | a << at & mask
  end
  local unsigned = unsigned_of(t)
  local mask = mask_of(unsigned, at, n)
  local result = cast(b, unsigned) & ~mask | cast(a, unsigned) << cast(at, unsigned) & mask
  return t == unsigned and result or cast(result, t)
end

-- {====== Sums of several words ======

local function check_unsigned(op, x)
  local t = word_type(op, x)
  if t == i32 or t == i64 then
    tiles.fail(op, "a word without a sign expected, got %s; write cast(x, %s)", t, unsigned_of(t))
  end
  return t
end

local function is_less(t, a, b)
  if t == nil then return math.ult(a, b) end
  return a < b
end

-- The type of two words, which is nil of plain numbers, and the words, 1 and 0 in it.
local function two_words(op, a, b)
  local t, u = check_unsigned(op, a), check_unsigned(op, b)
  t = t or u
  if t == nil then return t, a, b, 1, 0 end
  return t, cast(a, t), cast(b, t), cast(1, t), cast(0, t)
end

-- The sum of two words and, of a carry from below, 1; and whether it goes beyond the word.
function M.add_carry(a, b, carry)
  local t, x, y, one, zero = two_words("add_carry", a, b)
  local sum = x + y
  local over = is_less(t, sum, x)
  if carry == nil then return sum, over end
  local total = sum + where(carry, one, zero)
  return total, where(over, true, is_less(t, total, sum))
end

-- The difference of two words and, of a borrow from below, 1; and whether it goes below 0.
function M.sub_borrow(a, b, borrow)
  local t, x, y, one, zero = two_words("sub_borrow", a, b)
  local rest = x - y
  local under = is_less(t, x, y)
  if borrow == nil then return rest, under end
  local total = rest - where(borrow, one, zero)
  return total, where(under, true, is_less(t, rest, total))
end

return M
