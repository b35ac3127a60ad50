-- operator_config.lua: whether a table that a caller gives is a configuration of an operator. It is
-- compared with the rows of the operator's list: its template must be that of some. What all of
-- these have of lists and of some numbers must be there, and be like theirs.
local tiles = require "cuttle.tiles"
local M = {}

-- Numbers that no kernel is made without.
local numbers <const> = { stages = true, depth = true, rows = true, keys = true, warps = true }

local function is_like(value, other)
  if type(other) == "number" then return math.type(value) == "integer" and value > 0 end
  if type(value) ~= "table" or #value ~= #other then return false end
  for i = 1, #other do
    if not is_like(value[i], other[i]) then return false end
  end
  return true
end

local function is_needed(name, value)
  return type(value) == "number" and numbers[name] or type(value) == "table" and #value > 0
end

-- The rows of a template, and {name, value of the first row} of what they all need.
local function needs_of(list, template)
  local rows, needs = {}, {}
  for _, row in ipairs(list) do
    if row.template == template then rows[#rows + 1] = row end
  end
  for name, value in pairs(rows[1] or {}) do
    local is_common = is_needed(name, value)
    for _, row in ipairs(rows) do is_common = is_common and row[name] ~= nil end
    if is_common then needs[#needs + 1] = { name, value } end
  end
  table.sort(needs, function(a, b) return a[1] < b[1] end)
  return rows, needs
end

local function text_of(value)
  if type(value) ~= "table" then return tostring(value) end
  local parts = {}
  for i, x in ipairs(value) do parts[i] = tostring(x) end
  return "{" .. table.concat(parts, ", ") .. "}"
end

-- {list = {row = true}}
local known = setmetatable({}, { __mode = "k" })

local function is_row(list, config)
  if not known[list] then
    known[list] = {}
    for _, row in ipairs(list) do known[list][row] = true end
  end
  return known[list][config] ~= nil
end

--- That the table is a configuration as those of the list are; else an error of the operator `op`,
--- in which `option` names what it was given as.
function M.check(op, option, config, list)
  if is_row(list, config) then return end
  local rows, needs = needs_of(list, config.template)
  if #rows == 0 then
    tiles.fail(op, "%s is a table whose template is %s; expected the name of a configuration, or "
      .. "a table like that of '%s', whose template is \"%s\"", option, tostring(config.template),
      list[1].name, list[1].template)
  end
  for _, need in ipairs(needs) do
    local name, like = need[1], need[2]
    if not is_like(config[name], like) then
      tiles.fail(op, "%s is a table whose %s is %s; expected one like that of '%s', %s", option,
        name, text_of(config[name]), rows[1].name, text_of(like))
    end
  end
end

return M
