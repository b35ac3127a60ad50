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

--- A number with a Gumbel distribution for each element: that of probability p is the one with the
--- largest log p + number with probability p.
function M.gumbel(row, seed)
  local u = rand_f32x4(seed, cast(row:index(), i64) * row:length() + row:column())
  return -log(-log(max(u, 1e-30)))
end

return M
