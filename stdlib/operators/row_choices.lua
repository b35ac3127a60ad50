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

--- An f64 from [0, 1) of two random words.
function M.unit(a, b)
  return cast(cast(a >> 5, u64) << 26 | cast(b >> 6, u64), f64) * 2.0 ^ -53
end

--- A random f64 from [0, 1) for the row.
function M.uniform(row, seed)
  local a, b = rand_u32x4(seed, cast(row:index(), i64))
  return M.unit(a, b)
end

local MAGIC <const> = 0x1.8p23 -- a sum with it ends in the bits of an integer
local LEAST <const>, SLACK <const> = -120.0, 8.0
local MOST <const> = 0x1.fffffep+127
-- 2^x for x in [-0.5, 0.5]: an error of 8e-8; of 3e-6, for elements of 16 bits.
local POLYNOMIAL <const> = { 0x1.5c08e6p-10, 0x1.3d0c52p-7, 0x1.c6b6e4p-5, 0x1.ebf918p-3,
  0x1.62e428p-1, 0x1.000002p+0 }
local SHORT <const> = { 0x1.3997d6p-7, 0x1.ca1440p-5, 0x1.ec06dap-3, 0x1.62e0dcp-1, 0x1.ffffe8p-1 }

-- 2^(d factor) of an f32 d from LEAST / factor to SLACK / factor. Few instructions, all of them
-- exact to the last bit on both engines, unlike fast.exp.
local function power_of_2(d, factor, coefficients)
  local sum = fma(d, factor, f32(MAGIC))
  local fraction, p = fma(d, factor, -(sum - MAGIC)), f32(coefficients[1])
  for i = 2, #coefficients do p = fma(p, fraction, f32(coefficients[i])) end
  return bitcast(bitcast(p, u32) + (bitcast(sum, u32) << 23), f32)
end

--- What row:draw needs to add up weights 2^((v - base) factor) in one pass: a thread's base is at
--- most SLACK / factor below its largest v. Its sum has 2^LEAST of what is not drawn, which no sum
--- shows. `power_below`: the weight of any v not above a finite top, 2^LEAST of what is not drawn.
function M.by_powers(factor, is_narrow)
  local coefficients = is_narrow and SHORT or POLYNOMIAL
  local function distance(v, top) return v - min(top, MOST) end
  local function power_below(v, top)
    return power_of_2(max(v - top, LEAST / factor), factor, coefficients)
  end
  local function power(v, top)
    local within = min(max(distance(v, top), LEAST / factor), SLACK / factor)
    return power_of_2(within, factor, coefficients)
  end
  local function weight(v, top)
    return where(distance(v, top) >= LEAST / factor, power(v, top), 0.0)
  end
  local function add_vector(base, sum, values)
    local most = cast(-math.huge, f32)
    for e = 0, #values do most = max(most, values[e]) end
    if distance(most, base) > SLACK / factor then
      sum, base = sum * weight(base, most), min(most, MOST)
    end
    local more, n = {}, #values + 1 -- a power of two
    for e = 0, n - 1 do more[e] = power(values[e], base) end
    while n > 1 do
      n = n // 2
      for e = 0, n - 1 do more[e] = more[e] + more[e + n] end
    end
    return base, sum + more[0]
  end
  return { distance = distance, weight = weight, power_below = power_below, add_vector = add_vector,
    start = { cast(-math.huge, f32), cast(0, f32) },
    moved = function(sums, bases, all) return { sums[1] * weight(bases[1], all[1]) } end }
end

--- What the distance of two logits is multiplied by, for powers of 2.
function M.factor(temperature) return math.log(math.exp(1), 2) / max(temperature, 1e-20) end

--- A column of the row, drawn with the probabilities that softmax(v / temperature) gives to those
--- that are at least min_p times as probable as the most probable one; log2_min_p is nil: to all.
--- NaN and -inf are not drawn; a row of nothing else has its first column. `u` is
--- M.uniform's, taken before the row's first reduction. The temperature 0 takes the largest.
function M.draw(row, v, u, temperature, log2_min_p)
  local value, factor = cast(v, f32), M.factor(temperature)
  local how = M.by_powers(factor, row.is_narrow)
  if log2_min_p == nil and row.draws_at_once then return max(row:draw(value, u, how), 0) end
  local top = row:max(value) -- NaN is passed over
  local weight = how.weight(value, top)
  if log2_min_p ~= nil then
    weight = where(how.distance(value, top) >= log2_min_p / factor, weight, 0.0)
  end
  return max(row:draw(weight, u), 0)
end

return M
