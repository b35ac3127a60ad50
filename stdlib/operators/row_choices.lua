-- row_choices.lua: the largest value of a row and its column, for the operators that choose one.
local reducer = require "cuttle.row_reduce"
local M = {}

-- The first one of equals.
local function larger(a, b)
  local is_b = b.value > a.value or b.value == a.value and b.at < a.at
  return { value = where(is_b, b.value, a.value), at = where(is_b, b.at, a.at) }
end

local NO_COLUMN <const> = 0x7fffffff

--- {value =, at =}; NaN is passed over, and a row of nothing else has its first column.
function M.largest(row, value)
  local best = row:reduce({ value = value, at = row:column() }, larger,
    { value = reducer.lowest(value), at = i32(NO_COLUMN) })
  return { value = best.value, at = where(best.at == NO_COLUMN, 0, best.at) }
end

-- {====== Draws ======

--- A random f64 from [0, 1) for the row.
function M.uniform(row, seed)
  local a, b = rand_u32x4(seed, cast(row:index(), i64))
  return cast(cast(a >> 5, u64) << 26 | cast(b >> 6, u64), f64) * 2.0 ^ -53
end

local MAGIC <const> = 0x1.8p23 -- a sum with it ends in the bits of an integer
local POLYNOMIAL <const> = { 1.535336188319500e-4, 1.339887440266574e-3, 9.618437357674640e-3,
  5.550332471162809e-2, 2.402264791363012e-1, 6.931472028550421e-1, 1.0 }
local LEAST <const> = -120.0

-- 2^x of an f32 x <= 0, with an error of 1e-7 of it, and 0 of NaN and of x < LEAST. Few
-- instructions, all of them exact to the last bit on both engines, unlike fast.exp.
local function power_of_2(x)
  local y = max(x, LEAST)
  local sum = y + MAGIC
  local fraction, p = y - (sum - MAGIC), f32(POLYNOMIAL[1])
  for i = 2, #POLYNOMIAL do p = fma(p, fraction, f32(POLYNOMIAL[i])) end
  local power = bitcast(bitcast(p, u32) + (bitcast(sum, u32) << 23), f32)
  return where(x >= LEAST, power, 0.0)
end

--- A column of the row, drawn with the probabilities that softmax(v / temperature) gives to those
--- that are at least min_p times as probable as the most probable one; log2_min_p is nil: to all.
--- NaN and -inf are not drawn; a row of nothing else has its first column. `u` is
--- M.uniform's, taken before the row's first reduction. The temperature 0 takes the largest.
function M.draw(row, v, u, temperature, log2_min_p)
  local score = cast(v, f32) * (math.log(math.exp(1), 2) / max(temperature, 1e-20))
  local top = row:max(score) -- NaN is passed over
  local below = where(score == top, 0.0, score - top)
  local weight = power_of_2(below)
  if log2_min_p ~= nil then weight = where(below >= log2_min_p, weight, 0.0) end
  return where(top > -math.huge, max(row:draw(weight, u), 0), 0)
end

return M
