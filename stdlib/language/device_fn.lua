-- device_fn.lua: what is traced for a function of device_fn; see interp/ops/bind_function.c. Its
-- arguments and results are scalars there: records go as their fields.
local record = require "cuttle.record"
local internal = ...
local M = {}

-- Of these results, the shapes, or nil if there are no records, and the scalars.
local function flat_results(...)
  local has_record = false
  for i = 1, select("#", ...) do has_record = has_record or type((select(i, ...))) == "table" end
  if not has_record then return nil, ... end
  local shapes = record.shapes_of("device_fn: result", ...)
  local flat, n = record.flatten(shapes, ...)
  return shapes, table.unpack(flat, 1, n)
end

function M.body(f, ...) internal.kernel.function_results(flat_results(f(...))) end

--- Results with records, as the function leaves them when it is traced in place.
function M.results(...)
  return record.rebuild(flat_results(...))
end

M.rebuild = record.rebuild

-- [f][the shapes of its arguments] = the function of the scalars.
local flat_functions = setmetatable({}, { __mode = "k" })

local function signature(shapes)
  local words = {}
  for _, shape in ipairs(shapes) do
    words[#words + 1] = not shape and "." or ("%p"):format(shape.meta)
    for _, key in ipairs(shape and shape.keys or {}) do
      words[#words + 1] = ("%s %q"):format(math.type(key) or "name", key)
    end
  end
  return table.concat(words, ",")
end

local function flat_function(f, shapes)
  flat_functions[f] = flat_functions[f] or {}
  local of, key = flat_functions[f], signature(shapes)
  of[key] = of[key] or function(...) return f(record.rebuild(shapes, ...)) end
  return of[key]
end

--- Of a call f(...) with records: the function of the scalars, and these.
function M.flatten(f, ...)
  local shapes = record.shapes_of("device_fn: argument", ...)
  local flat, n = record.flatten(shapes, ...)
  return flat_function(f, shapes), table.unpack(flat, 1, n)
end

return M
