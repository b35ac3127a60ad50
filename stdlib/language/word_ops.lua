-- word_ops.lua: operations on the bits and bytes of words. Rotations, funnel shifts and bit fields
-- are made of the language's shifts, which compilers know again. What no shifts give (prmt, dp4a)
-- is CUDA C with a twin. On the host, rotations and bit fields take Lua's 64 bits, the others words
-- of 32 bits.
local ct = require "cuttle"
local internal = ...
local tiles = require "cuttle.tiles"
local M = {}

local cast, where, ashr, min = ct.cast, ct.where, ct.ashr, ct.min
local u32, i32, u64, i64 = ct.u32, ct.i32, ct.u64, ct.i64
local LOW <const> = 0xffffffff
local HALF <const> = 0x7fffffff

local function is_number(x) return getmetatable(x) == nil end

-- The type of a word: nil of a Lua integer.
local function word_type(op, x)
  if is_number(x) then
    if x ~= x // 1 then tiles.fail(op, "integers expected, got %s", tostring(x)) end
    return nil
  end
  local t = internal.dtype_of(x)
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

-- A word of 32 bits as a u32, or a Lua integer's low bits.
local function to_u32(op, x)
  local t = word_type(op, x)
  if t == nil then return x & LOW end
  if t.bits ~= 32 then
    tiles.fail(op, "words of 32 bits expected, got %s; cast(x, u32) gives the low bits", t)
  end
  return t == u32 and x or cast(x, u32)
end

-- {====== Rotations ======

local function rotate(op, x, n, sign)
  local t = word_type(op, x)
  word_type(op, n)
  local bits = width_of(t)
  local left = sign * n & bits - 1
  if t == nil then
    if not is_number(n) then
      tiles.fail(op, "the word is a Lua integer, but the count is known at run time only; give the "
        .. "word a type, as in %s(u32(1), n)", op)
    end
    return x << left | x >> (-left & 63)
  end
  local unsigned = unsigned_of(t)
  local word = t == unsigned and x or cast(x, unsigned)
  local right = -left & bits - 1
  local turned = word << cast(left, unsigned) | word >> cast(right, unsigned)
  return t == unsigned and turned or cast(turned, t)
end

function M.rotl(x, n) return rotate("rotl", x, n, 1) end
function M.rotr(x, n) return rotate("rotr", x, n, -1) end

-- {====== Funnel shifts ======

local function typed(x) return is_number(x) and u32(x) or x end

-- All three as u32, or as Lua integers if all are known.
local function funnel(op, lo, hi, n)
  lo, hi, n = to_u32(op, lo), to_u32(op, hi), to_u32(op, n) & 31
  if is_number(lo) and is_number(hi) and is_number(n) then return lo, hi, n end
  return typed(lo), typed(hi), typed(n)
end

function M.funnel_shift_l(lo, hi, n)
  lo, hi, n = funnel("funnel_shift_l", lo, hi, n)
  return (hi << n | lo >> 1 >> (n ~ 31)) & LOW
end

function M.funnel_shift_r(lo, hi, n)
  lo, hi, n = funnel("funnel_shift_r", lo, hi, n)
  return (lo >> n | (hi & HALF) << 1 << (n ~ 31)) & LOW
end

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

-- {====== Bytes ======

local function pick_bytes(a, b, which)
  local word = 0
  for i = 0, 3 do
    local from = which >> 4 * i & 7
    word = word | ((from < 4 and a or b) >> (from & 3) * 8 & 255) << 8 * i
  end
  return word
end

function M.byte_perm(a, b, which)
  a, b = to_u32("byte_perm", a), to_u32("byte_perm", b)
  word_type("byte_perm", which)
  if is_number(a) and is_number(b) and is_number(which) then return pick_bytes(a, b, which) end
  a, b = typed(a), typed(b)
  return internal.cuda("__byte_perm($a, $b, $which)", {a = a, b = b, which = which}, u32,
    function(a, b, which) -- luacheck: ignore
      local word = u32(0)
      for i in ct.unroll(0, 4) do
        local from = where((which >> 4 * i & 4) == 0, a, b)
        word = word | (from >> (which >> 4 * i & 3) * 8 & 255) << 8 * i
      end
      return word
    end)
end

-- Byte i of a word, as its type has it.
local function byte_of(x, i, is_signed)
  local byte = x >> 8 * i & 255
  if is_signed then return (byte ~ 128) - 128 end
  return byte
end

local function sum_of_products(a, b, c, is_a_signed, is_b_signed)
  local sum = c
  for i in ct.unroll(0, 4) do
    sum = sum + byte_of(a, i, is_a_signed) * byte_of(b, i, is_b_signed)
  end
  return sum
end

-- The overloads of __dp4a have operands of one sign; PTX has the others.
local MIXED <const> = "[&] { int d; asm(\"dp4a.%s.%s %%0, %%1, %%2, %%3;\" : \"=r\"(d) : "
  .. "\"r\"($a), \"r\"($b), \"r\"($c)); return d; }()"

function M.dp4a(a, b, c)
  local is_a_signed = word_type("dp4a", a) ~= u32
  local is_b_signed = word_type("dp4a", b) ~= u32
  word_type("dp4a", c)
  a, b = to_u32("dp4a", a), to_u32("dp4a", b)
  if is_number(a) and is_number(b) and is_number(c) then
    return sum_of_products(a, b, c, true, true)
  end
  local result = (is_a_signed or is_b_signed) and i32 or u32
  a, b, c = cast(typed(a), i32), cast(typed(b), i32), cast(c, result)
  local text = "__dp4a($a, $b, $c)"
  if is_a_signed ~= is_b_signed then
    text = MIXED:format(is_a_signed and "s32" or "u32", is_b_signed and "s32" or "u32")
  elseif not is_a_signed then
    a, b = cast(a, u32), cast(b, u32)
  end
  return internal.cuda(text, {a = a, b = b, c = c}, result, function(a, b, c) -- luacheck: ignore
    return cast(sum_of_products(cast(a, i32), cast(b, i32), cast(c, i32), is_a_signed,
      is_b_signed), result)
  end)
end

return M
