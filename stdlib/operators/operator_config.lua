-- operator_config.lua: the configuration that a caller gives an operator: the name of a row of the
-- operator's list, or a table. A table is compared with the rows: its template must be that of
-- some. What all of these have of lists and of some numbers must be there, and be like theirs.
local lists = require "cuttle.lists"
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
  local parts = lists.map(value, tostring)
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

--- Why a device of that compute capability, 0 on the CPU engine, lacks the row's instructions, or
--- nil. `sm` of a row is the capability that they need; `sm_from` is the first that has them.
function M.lack(config, sm)
  if config.sm and config.sm ~= sm then
    return ("its kernel is for sm_%d, and this is sm_%d"):format(config.sm, sm)
  elseif sm < (config.sm_from or 0) then
    return ("its kernel is for sm_%d and later, and this is sm_%d"):format(config.sm_from, sm)
  end
end

--- The same of a target, as operator_device.lua has it, of whose memory a block needs `bytes`.
function M.lack_on(config, target, bytes)
  return M.lack(config, target.sm) or bytes > target.shared
    and ("a block needs %d bytes of shared memory, but there are %d"):format(bytes, target.shared)
    or nil
end

local function by_name(op, list, name, why_not, problem)
  local names = {}
  for i, config in ipairs(list) do
    if config.name == name then
      local why = why_not(config)
      if why then
        tiles.fail(op, "configuration '%s' is not for this problem: %s; %s", name, problem, why)
      end
      return config
    end
    names[i] = "'" .. config.name .. "'"
  end
  tiles.fail(op, "there is no configuration '%s'; there are %s", name, table.concat(names, ", "))
end

--- What was given as `option`: a table, as M.check has it, or the name of a row of the list.
--- why_not(row) says why the row is not for the problem, or returns nil; `problem` describes the
--- problem. Both are for the error of the operator `op`.
function M.named(op, option, config, list, why_not, problem)
  if type(config) ~= "table" then return by_name(op, list, tostring(config), why_not, problem) end
  M.check(op, option, config, list)
  return config
end

return M
