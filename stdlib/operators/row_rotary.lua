-- row_rotary.lua: rotary embedding in its layouts, alone and after an RMS norm of each head.
-- Arguments are x (..., columns), the tables cos and sin (positions, pairs), and the position of
-- each row, (..., 1) or a number. The first 2 pairs of columns turn, the others stay.
local planner = require "cuttle.row_plan"
local M = {}

local MOST_SWAPPED <const> = 1024 -- columns of a group

-- By layout: the column that turns with this one, is this one the first of both, and their pair.
-- `n`: how many columns turn.
local layouts <const> = {
  halves = function(c, n)
    local is_first = c < n // 2
    return where(is_first, c + n // 2, c - n // 2), is_first, where(is_first, c, c - n // 2)
  end,
  pairs = function(c) return c ~ 1, c % 2 == 0, c // 2 end,
}

local group_of <const> = {
  halves = function(n) return n end,
  pairs = function() return 2 end,
}

-- The value of the column that turns with this one: through registers if groups have it, else
-- value_at(column) computes it again.
local function partner(row, layout_name, n, value, value_at)
  local group = group_of[layout_name](n)
  local is_group = group <= MOST_SWAPPED and group & group - 1 == 0
  if is_group and row:length() % planner.divisor(group) == 0 then
    return row:group_swap(value, group)
  end
  local c = row:column()
  local other = layouts[layout_name](c, n)
  return value_at(where(c < n, other, c))
end

-- An element of x turned by its row's angles, or back with direction -1.
local function turned(row, layout_name, value, value_at, tables, position, direction)
  local n, c = 2 * row:extent("cos", 1), row:column()
  local other = partner(row, layout_name, n, value, value_at)
  local _, is_first, pair = layouts[layout_name](c, n)
  local column, each = where(c < n, pair, 0), layout_name == "pairs" and 2 or 1
  local cos = cast(row:along(tables.cos, position, column, each), f32)
  local sin = cast(row:along(tables.sin, position, column, each), f32)
  local signed = where(is_first, -direction, direction) * sin
  return where(c < n, value * cos + other * signed, value)
end

-- The columns that turn are all or fewer; what has no f32 beside it is widened as others are.
local function operator(name, layout_name, direction)
  M[name] = row_kernel(name, function(row, x, cos, sin, position)
    row:expect_once "position"
    return turned(row, layout_name, x, function(c) return row:at("x", c) end,
      { cos = cos, sin = sin }, position, direction)
  end, { tables = { "cos", "sin" } })
end

-- Each head is a row: x / rms(x) weight, then turned; and 1 / rms.
local function after_norm(name, layout_name)
  M["rms_norm_" .. name] = row_kernel("rms_norm_" .. name,
    function(row, x, weight, epsilon, cos, sin, position)
      row:expect_once "position"
      local scale = rsqrt(row:mean(x * x) + epsilon)
      local y = turned(row, layout_name, x * scale * weight,
        function(c) return row:at("x", c) * scale * row:at("weight", c) end,
        { cos = cos, sin = sin }, position, 1.0)
      return y, row:once(scale)
    end, { tables = { "cos", "sin" } })
  -- The gradient of both: dx, dweight.
  M["rms_norm_" .. name .. "_backward"] = row_kernel("rms_norm_" .. name .. "_backward",
    function(row, dy, x, weight, scale, cos, sin, position)
      row:expect_once "position"
      row:expect_once "scale"
      local d = turned(row, layout_name, dy, function(c) return row:at("dy", c) end,
        { cos = cos, sin = sin }, position, -1.0)
      local normal, g = x * scale, d * weight
      return (g - normal * row:mean(g * normal)) * scale, row:column_sum(d * normal)
    end, { tables = { "cos", "sin" } })
end

for layout_name in pairs(layouts) do
  local name = "rotary_" .. layout_name
  operator(name, layout_name, 1.0)
  operator(name .. "_backward", layout_name, -1.0)
  after_norm(name, layout_name)
end

return M
