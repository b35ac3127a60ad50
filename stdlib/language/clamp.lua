-- clamp.lua: a value brought into a range.
local fail = require "cuttle.fail".of "clamp"
local type_name = require "cuttle.type_name"
local M = {}

local function is_number(x) return math.type(x) ~= nil end

-- That x is a number, a run-time value, or of a type that min and max have for themselves.
local function check(x, at)
  local kind = type_name(x)
  if kind == "nil" or kind == "string" or kind == "tensor"
    or kind == "table" and getmetatable(x) == nil then
    fail("argument %d is %s%s; a number was expected", at, kind == "nil" and "" or "a ", kind)
  end
end

-- max and min leave out a NaN, so a NaN becomes a bound.
function M.clamp(x, lo, hi)
  check(x, 1)
  check(lo, 2)
  check(hi, 3)
  if is_number(lo) and is_number(hi) and lo > hi then
    error(("clamp: the bounds are %s and %s; the lower one comes first"):format(lo, hi), 2)
  end
  return max(lo, min(x, hi))
end

return M
