-- tune_key.lua: what makes a call of a tuned function another problem than the last one, as text:
-- "f32(512,512) f32(512,512)". Of two keys that differ in numbers only, one can stand for the
-- other.
local ct = require "cuttle"
local internal = ...
local tiles = require "cuttle.tiles"
local M = {}

local function fail(format, ...) internal.fail("tune: " .. format:format(...)) end

local part_of -- (value): a tensor by type and shape

local function part_of_table(t)
  local parts = {}
  for i, value in ipairs(t) do parts[i] = part_of(value) end
  return #parts > 0 and "{" .. table.concat(parts, " ") .. "}" or nil
end

function part_of(value)
  if type(value) == "table" then return part_of_table(value) end
  if tiles.type_name(value) ~= "tensor" then return nil end
  local shape = tostring(ct.shape(value))
  return value.dtype.name .. (shape:find "^%(" and shape or "(" .. shape .. ")")
end

-- All tensors.
local function key_of_tensors(...)
  local parts = {}
  for i = 1, select("#", ...) do parts[#parts + 1] = part_of((select(i, ...))) end
  return table.concat(parts, " ")
end

-- The arguments of these numbers, tensors by type and shape, the others by value.
local function key_of_places(places, ...)
  local parts = {}
  for i, place in ipairs(places) do
    local value = select(place, ...)
    parts[i] = part_of(value) or tostring(value)
  end
  return table.concat(parts, " ")
end

local function joined(...)
  local parts = table.pack(...)
  for i = 1, parts.n do parts[i] = part_of(parts[i]) or tostring(parts[i]) end
  return table.concat(parts, " ")
end

--- A function of the arguments that gives their key.
function M.new(key)
  if key == nil then return key_of_tensors end
  if type(key) == "function" then return function(...) return joined(key(...)) end end
  if type(key) ~= "table" then
    fail("key is a %s; numbers of arguments were expected, as {1, 2}, or a function of them",
      type(key))
  end
  for _, place in ipairs(key) do
    if math.type(place) ~= "integer" or place < 1 then
      fail("key has %s; numbers of arguments were expected, as {1, 2}", tostring(place))
    end
  end
  return function(...) return key_of_places(key, ...) end
end

-- The key without its numbers, and these; the 32 of f32 is none.
local function split(key)
  local numbers = {}
  local rest = key:gsub("%f[%w.]%d+%.?%d*", function(n)
    numbers[#numbers + 1] = tonumber(n)
    return "#"
  end)
  return rest, numbers
end

--- How far two keys are apart: the sum of the logarithms of their numbers' ratios; nil: they differ
--- in more than numbers.
function M.distance(a, b)
  local rest_a, numbers_a = split(a)
  local rest_b, numbers_b = split(b)
  if rest_a ~= rest_b then return nil end
  local sum = 0
  for i, x in ipairs(numbers_a) do
    sum = sum + math.abs(math.log((x + 1) / (numbers_b[i] + 1), 2))
  end
  return sum
end

return M
