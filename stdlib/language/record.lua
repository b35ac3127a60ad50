-- record.lua: records of values. A value is a scalar, or a record: a table of scalars. What is done
-- to a scalar is done to each field of a record, in the order of its keys. A scalar has none: nil.
local type_name = require("cuttle.tiles").type_name
local M = {}

local fail = require "cuttle.fail".fail

local function comes_first(a, b)
  if type(a) == type(b) then return a < b end
  return type(a) == "number"
end

-- Values that are no numbers, here or in a kernel.
local refused <const> =
  { table = true, string = true, ["function"] = true, tensor = true, layout = true }

--- Fails unless the value, which messages call `what`, is one that a kernel computes with.
function M.check_scalar(v, what, name)
  local kind = type(v) == "userdata" and type_name(v) or type(v)
  if v == nil or refused[kind] then
    fail(name, "%s is %s%s; expected a number or a run-time value%s", what, v == nil and "" or "a ",
      kind, kind == "tensor" and ", such as t[i]" or "")
  end
end

local function check_field(key, field, name)
  if type(key) ~= "string" and math.type(key) ~= "integer" then
    fail(name, "a key of the table is a %s; expected names and integers", type(key))
  end
  M.check_scalar(field, ("key '%s'"):format(key), name)
end

--- Sorted, or nil of a scalar. `name` begins messages.
function M.keys_of(v, name)
  if type(v) ~= "table" then return nil end
  local keys = {}
  for key, field in pairs(v) do
    check_field(key, field, name)
    keys[#keys + 1] = key
  end
  if #keys == 0 then fail(name, "the table is empty; give it a field for each value") end
  table.sort(keys, comes_first)
  return keys
end

--- f of the scalar, or a record with f of each field.
function M.map(keys, v, f)
  if keys == nil then return f(v) end
  local r = {}
  for _, key in ipairs(keys) do r[key] = f(v[key], key) end
  return setmetatable(r, getmetatable(v))
end

--- A function of a scalar, called `name`, for each field of the record.
function M.each(f, name, v, ...)
  local rest = table.pack(...)
  return M.map(M.keys_of(v, name), v, function(x) return f(x, table.unpack(rest, 1, rest.n)) end)
end

-- {====== Lists of values as lists of scalars ======

--- What says how the values, of which some are records, lie in a flat list: false for a scalar, or
--- {keys =, meta =}.
function M.shapes_of(what, ...)
  local shapes = {}
  for i = 1, select("#", ...) do
    local v = (select(i, ...))
    local keys = M.keys_of(v, what .. " " .. i)
    shapes[i] = keys and { keys = keys, meta = getmetatable(v) } or false
  end
  return shapes
end

--- The flat list, and its length.
function M.flatten(shapes, ...)
  local flat, n = {}, 0
  for i, shape in ipairs(shapes) do
    local v = (select(i, ...))
    if shape then
      for _, key in ipairs(shape.keys) do
        n = n + 1
        flat[n] = v[key]
      end
    else
      n = n + 1
      flat[n] = v
    end
  end
  return flat, n
end

--- The values again.
function M.rebuild(shapes, ...)
  local values, n = {}, 0
  for i, shape in ipairs(shapes) do
    if shape then
      local r = {}
      for _, key in ipairs(shape.keys) do
        n = n + 1
        r[key] = (select(n, ...))
      end
      values[i] = setmetatable(r, shape.meta)
    else
      n = n + 1
      values[i] = (select(n, ...))
    end
  end
  return table.unpack(values, 1, #shapes)
end

return M
