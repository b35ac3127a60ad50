-- option_names.lua: what functions check of a table of options: that it is one, its keys, and its
-- values. A reader says of a value whether it is right, and what was expected.
local errors = require "cuttle.fail"
local lists = require "cuttle.lists"
local type_name = require "cuttle.type_name"
local M = {}

-- A set as a list, in the order of the alphabet; a list as it is.
local function as_list(known)
  if known[1] ~= nil then return known end
  return lists.keys(known)
end

local function holds(known, key)
  if known[1] == nil then return known[key] ~= nil end
  return lists.any(known, function(name) return name == key end)
end

-- "a, b or c"
local function any_of(list)
  if #list == 1 then return list[1] end
  return table.concat(list, ", ", 1, #list - 1) .. " or " .. list[#list]
end

--- That a key of a table, "option" or `what`, is one of `known`: a list, or a set.
function M.check_key(op, key, known, what)
  if holds(known, key) then return end
  local list = as_list(known)
  local nearest = require "cuttle.near".nearest(tostring(key), list)
  if nearest then
    errors.fail(op, "%s '%s' is unknown; did you mean %s?", what or "option", tostring(key),
      nearest)
  end
  errors.fail(op, "%s '%s' is unknown; %s", what or "option", tostring(key),
    "expected " .. any_of(list))
end

-- {====== Values ======

--- What messages call a value.
local function shown(value)
  if type(value) == "number" or type(value) == "boolean" then return tostring(value) end
  return type(value) == "string" and ("'%s'"):format(value) or "a " .. type_name(value)
end

M.shown = shown

local function check_value(op, name, value, reader)
  local ok, expected = reader(value)
  if not ok then errors.fail(op, "%s is %s; %s was expected", name, shown(value), expected) end
end

--- Readers of one type; of integers from `least` on.
function M.flag(v) return type(v) == "boolean", "true or false" end
function M.text(v) return type(v) == "string" and v ~= "", "a text" end
function M.func(v) return type(v) == "function", "a function" end
function M.number(v) return type(v) == "number", "a number" end
function M.table(v) return type(v) == "table", "a table" end

function M.whole(least)
  return function(v)
    return math.type(v) == "integer" and v >= least, ("an integer from %d on"):format(least)
  end
end

--- {rtol =, atol =}, which may be missing.
function M.tolerance(v)
  local ok = type(v) == "table"
  for name, bound in pairs(ok and v or {}) do
    ok = ok and (name == "rtol" or name == "atol") and type(bound) == "number" and bound >= 0
  end
  return ok, "{rtol =, atol =}, numbers from 0 on,"
end

--- Of a value that its function reads itself.
function M.any() return true end

-- {====== Tables of options ======

-- Readers of options that mean the same wherever they are.
local common <const> = {}
for name in ([[accumulate causal cooperative descending deterministic exclusive glu holes lazy
    masters nesterov normalize overlap pdl reverse sass smallest stochastic]]):gmatch "%l+" do
  common[name] = M.flag
end

--- That the fields of the table are of `known`, a list or a set, and that readers among the values
--- of the set accept them. `what` names such a field in messages, as "field"; `owner` begins
--- messages, as "input x: ".
function M.read(op, t, known, what, owner)
  for name, value in pairs(t) do
    M.check_key(op, name, known, (owner or "") .. (what or "option"))
    local reader = known[name]
    if type(reader) ~= "function" then reader = common[name] end
    if reader then check_value(op, (owner or "") .. name, value, reader) end
  end
  return t
end

--- The options, {} for none, as above. `example` is a table of options, for the message.
function M.check(op, options, known, example)
  if options == nil then return {} end
  if type(options) ~= "table" then
    errors.fail(op, "the options are of type %s; expected a table%s", type_name(options),
      example and " such as " .. example or "")
  end
  return M.read(op, options, known)
end

return M
