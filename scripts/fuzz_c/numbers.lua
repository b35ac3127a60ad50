-- numbers.lua: the numbers that random kernels compute with: small ones, random bits, and the ends
-- of each type. Those of a float type are exact in it: Lua, C and the kernel read the same.
local M = {}
local random = math.random

local function pick(list) return list[random(#list)] end

-- Bits of a random length, sign-extended to 64.
local function bits(t)
  local n = random(t.bits)
  return random(0) >> (64 - n) ~ -random(0, 1)
end

local function wrap(t, i)
  if t.bits == 64 then return i end
  i = i & (1 << t.bits) - 1
  return t.signed and i >> (t.bits - 1) == 1 and i - (1 << t.bits) or i
end

function M.int(t)
  local k = random(10)
  if k <= 5 then return wrap(t, random(-9, 9)) end
  local top = 1 << (t.bits - 1)
  return wrap(t, k <= 7 and pick { top, top - 1, -1, top | 1 } or bits(t))
end

local small <const> = { 0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 7.75, -0.0, 64.0, 1000.0 }
local ends <const> = {
  f16 = { 65504.0, 2.0 ^ -14, 2.0 ^ -24, -65504.0, 2049.0 - 1 },
  f32 = { 2.0 ^ 127, 2.0 ^ -149, 2.0 ^ -126, 2.0 ^ 24, -2.0 ^ 31, 2.0 ^ 32, 2.0 ^ 63, 65520.0 },
  f64 = {
    2.0 ^ 1023, 2.0 ^ -1074, 2.0 ^ 53, -2147483649.0, 4294967295.5, 2.0 ^ 63, 2.0 ^ 64, 2.0 ^ -150,
    65519.99,
  },
}

function M.float(t)
  local k = random(12)
  if k <= 6 then return pick(small) end
  if k <= 8 then return pick(ends[t.name]) end
  if k == 9 then return pick { math.huge, -math.huge } end
  local digits = random(t.digits)
  local whole = (random(0) >> (64 - digits)) * pick { 1.0, -1.0 }
  local most = t.name == "f16" and 4 or 40
  return whole * 2.0 ^ (t.name == "f16" and random(-14, most - 4) or random(-most, most))
end

function M.of(t) return (t.float and M.float or M.int)(t) end

-- {====== As texts ======

local function float_text(x, inf)
  if x ~= x then return "(0.0 / 0.0)" end
  if x == math.huge or x == -math.huge then return (x < 0 and "(-%s)" or "(%s)"):format(inf) end
  return ("(%a)"):format(x)
end

function M.lua(n)
  if math.type(n) == "float" then return float_text(n, "math.huge") end
  if n == math.mininteger then return "math.mininteger" end
  return (n < 0 and "(%d)" or "%d"):format(n)
end

function M.c(n)
  if math.type(n) == "float" then return float_text(n, "HUGE_VAL") end
  return n == math.mininteger and "INT64_MIN" or ("(%dLL)"):format(n)
end

return M
