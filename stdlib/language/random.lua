-- random.lua: random numbers from a seed and an offset, by Philox4x32-10 (Salmon and others,
-- "Parallel random numbers: as easy as 1, 2, 3", SC 2011). No state is kept: the numbers are a
-- function of the arguments, the same on both engines and on the host.
local fail = require "cuttle.fail".fail
local internal = ...
local M = {}

local ROUNDS <const> = 10
local FACTOR_0 <const>, FACTOR_1 <const> = 0xD2511F53, 0xCD9E8D57
local STEP_0 <const>, STEP_1 <const> = 0x9E3779B9, 0xBB67AE85 -- the key grows by these
local LOW <const> = 0xffffffff

-- {====== Words of 32 bits: Lua integers, or run-time values of type u32 ======

local is_number <const> = internal.kernel.is_static

local function check_integer(v, what, name)
  if is_number(v) and math.type(v) ~= "integer" then
    fail(name, "%s is %s; an integer was expected", what, v)
  end
end

-- The low and the high 32 bits of an integer.
local function words_of(v)
  if is_number(v) then return v & LOW, v >> 32 & LOW end
  local wide = cast(v, u64)
  return cast(wide, u32), cast(wide >> 32, u32)
end

-- The low and the high word of a product.
local function product(word, factor)
  if is_number(word) then
    local p = word * factor
    return p & LOW, p >> 32 & LOW
  end
  local p = cast(word, u64) * u64(factor)
  return cast(p, u32), cast(p >> 32, u32)
end

local function xor(a, b)
  if is_number(a) and is_number(b) then return a ~ b end
  return (is_number(a) and u32(a) or a) ~ (is_number(b) and u32(b) or b)
end

local function add(key, step)
  if is_number(key) then return key + step & LOW end
  return key + u32(step)
end

-- {====== Philox ======

local function philox(seed, offset, stream, name)
  check_integer(seed, "the seed", name)
  check_integer(offset, "the offset", name)
  check_integer(stream, "the stream", name)
  local key_0, key_1 = words_of(seed)
  local a, b = words_of(offset)
  local c, d = words_of(stream)
  for round = 1, ROUNDS do
    local low_a, high_a = product(a, FACTOR_0)
    local low_c, high_c = product(c, FACTOR_1)
    a, b, c, d = xor(xor(high_c, b), key_0), low_c, xor(xor(high_a, d), key_1), low_a
    if round < ROUNDS then key_0, key_1 = add(key_0, STEP_0), add(key_1, STEP_1) end
  end
  if internal.kernel.is_tracing() and is_number(a) then return u32(a), u32(b), u32(c), u32(d) end
  return a, b, c, d
end

function M.rand_u32x4(seed, offset, stream)
  return philox(seed, offset, stream or 0, "rand_u32x4")
end

-- {====== Floats: 24 bits of each word ======

local function fraction(word)
  if is_number(word) then return (word >> 8) * 0x1p-24 end
  return cast(word >> 8, f32) * 0x1p-24
end

function M.rand_f32x4(seed, offset, stream)
  local a, b, c, d = philox(seed, offset, stream or 0, "rand_f32x4")
  return fraction(a), fraction(b), fraction(c), fraction(d)
end

-- Two normal numbers of two words, by Box and Muller; 2^-24 keeps the logarithm finite.
local function normal_pair(a, b)
  local radius = sqrt(-2.0 * log(fraction(a) + 0x1p-24))
  local angle = fraction(b) * (2.0 * math.pi)
  return radius * cos(angle), radius * sin(angle)
end

function M.randn_f32x4(seed, offset, stream)
  local a, b, c, d = philox(seed, offset, stream or 0, "randn_f32x4")
  local x, y = normal_pair(a, b)
  return x, y, normal_pair(c, d)
end

return M
