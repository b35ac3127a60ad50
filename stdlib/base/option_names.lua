-- option_names.lua: what functions check of a table of options: that it is one, and its keys.
local errors = require "cuttle.fail"
local near = require "cuttle.near"
local type_name = require "cuttle.type_name"
local M = {}

-- A set as a list, in the order of the alphabet; a list as it is.
local function as_list(known)
  if known[1] ~= nil then return known end
  local list = {}
  for name in pairs(known) do list[#list + 1] = name end
  table.sort(list)
  return list
end

local function holds(known, key)
  if known[1] == nil then return known[key] ~= nil end
  for _, name in ipairs(known) do
    if name == key then return true end
  end
  return false
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
  local nearest = near.nearest(tostring(key), list)
  if nearest then
    errors.fail(op, "%s '%s' is unknown; did you mean %s?", what or "option", tostring(key),
      nearest)
  end
  errors.fail(op, "%s '%s' is unknown; %s", what or "option", tostring(key),
    "expected " .. any_of(list))
end

--- The options, {} for none: a table with no other keys than those of `known`. `example` is such a
--- table, for the message.
function M.check(op, options, known, example)
  if options == nil then return {} end
  if type(options) ~= "table" then
    errors.fail(op, "the options are of type %s; expected a table%s", type_name(options),
      example and " such as " .. example or "")
  end
  for key in pairs(options) do M.check_key(op, key, known) end
  return options
end

return M
