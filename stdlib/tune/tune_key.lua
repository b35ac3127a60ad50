-- tune_key.lua: what makes a call of a tuned function another problem than the last one, as text:
-- "f32(512,512) f32(512,512)". Of two keys that differ in numbers only, one can stand for the
-- other.
local tiles = require "cuttle.tiles"
local M = {}

local fail = require "cuttle.fail".of "tune"

local DEEPEST <const> = 8 -- tables in tables, as launches take them

local function check_depth(depth)
  if depth > DEEPEST then
    fail("an argument is a table in more than %d others, or contains itself; give its tensors "
      .. "one beside the other", DEEPEST)
  end
end

local part_of -- (value, depth): a tensor by type and shape

local function part_of_table(t, depth)
  local parts = {}
  check_depth(depth)
  for i, value in ipairs(t) do parts[i] = part_of(value, depth + 1) end
  return #parts > 0 and "{" .. table.concat(parts, " ") .. "}" or nil
end

function part_of(value, depth)
  if type(value) == "table" then return part_of_table(value, depth or 0) end
  if tiles.type_name(value) ~= "tensor" then return nil end
  local shape = tostring(shape(value))
  return value.dtype.name .. (shape:find "^%(" and shape or "(" .. shape .. ")")
end

-- All tensors.
local function key_of_tensors(...)
  local parts = {}
  for i = 1, select("#", ...) do parts[#parts + 1] = part_of((select(i, ...))) end
  return table.concat(parts, " ")
end

-- A tensor by type and shape, another value by its text. What has no text of its own would be
-- another key in each run.
local function text_of(value)
  local part = part_of(value)
  local meta = getmetatable(value)
  local has_text = type(meta) == "table" and meta.__tostring
  if not part and not has_text and (type(value) == "table" or type(value) == "function") then
    fail("key has a %s; tensors, numbers and texts were expected, as in "
      .. "key = function(x, y) return size(x) // 1024 end", type(value))
  end
  return part or tostring(value)
end

-- The arguments of these numbers.
local function key_of_places(places, ...)
  local parts = {}
  for i, place in ipairs(places) do
    local value = select(place, ...)
    parts[i] = text_of(value)
  end
  return table.concat(parts, " ")
end

local function joined(...)
  local parts = table.pack(...)
  for i = 1, parts.n do parts[i] = text_of(parts[i]) end
  return table.concat(parts, " ")
end

local function check_table(value, depth)
  if type(value) ~= "table" then return end
  check_depth(depth)
  for _, x in pairs(value) do check_table(x, depth + 1) end
end

--- That the arguments can be copied and compared, with all that their tables hold.
function M.check_arguments(...)
  for i = 1, select("#", ...) do check_table(select(i, ...), 0) end
end

--- A function of the arguments that gives their key. key: nil, a function or a table.
function M.new(key)
  if key == nil then return key_of_tensors end
  if type(key) == "function" then return function(...) return joined(key(...)) end end
  for name, place in pairs(key) do
    local is_listed = math.type(name) == "integer"
    if not is_listed or math.type(place) ~= "integer" or place < 1 then
      fail("key has %s%s; numbers of arguments were expected, as {1, 2}",
        is_listed and "" or tostring(name) .. " = ", tostring(place))
    end
  end
  return function(...) return key_of_places(key, ...) end
end

--- The key without its numbers, and these; the 32 of f32 is none.
function M.split(key)
  local numbers = {}
  local rest = key:gsub("%f[%w.]%d+%.?%d*", function(n)
    numbers[#numbers + 1] = tonumber(n)
    return "#"
  end)
  return rest, numbers
end

--- How far keys with these numbers are apart: the sum of the logarithms of their ratios.
function M.apart(a, b)
  local sum = 0
  for i, x in ipairs(a) do sum = sum + math.abs(math.log((x + 1) / (b[i] + 1), 2)) end
  return sum
end

--- The same of two keys; nil: they differ in more than numbers.
function M.distance(a, b)
  local rest_a, numbers_a = M.split(a)
  local rest_b, numbers_b = M.split(b)
  if rest_a ~= rest_b then return nil end
  return M.apart(numbers_a, numbers_b)
end

return M
