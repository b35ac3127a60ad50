-- row_arguments.lua: what a row_kernel is called with: the names of its parameters, the shape to
-- which arguments broadcast, and each argument as (row, column).
local arguments = require "cuttle.arguments"
local tiles = require "cuttle.tiles"
local M = {}

local fail <const> = tiles.fail

-- The names of the function's parameters after the row, for messages and the CUDA C: no two alike.
function M.names_of(op_name, f)
  local info = debug.getinfo(f, "u")
  if info.isvararg or info.nparams < 2 then
    fail(op_name, "the function has %s; expected one for the row and one for each argument, as in "
      .. "function(row, x, weight)", info.isvararg and "'...' for parameters"
      or info.nparams .. " parameters")
  end
  local names, is_taken = {}, {}
  for i = 2, info.nparams do
    local name = debug.getlocal(f, i)
    if is_taken[name] then name = ("%s_%d"):format(name, i - 1) end
    names[i - 1], is_taken[name] = name, true
  end
  return names
end

-- {name, kind = "number", value} or what arguments.describe returns, of each; kind = "table" of a
-- tensor that the function gets whole.
function M.read_inputs(self, given)
  for i = 1, math.min(given.n, #self.names) do
    if given[i] == nil then
      fail(self.name, "%s is nil, perhaps a misspelt name; expected a tensor (..., columns), or a "
        .. "number", self.names[i])
    end
  end
  if given.n ~= #self.names then
    fail(self.name, "%d arguments; expected %d: %s", given.n, #self.names,
      table.concat(self.names, ", "))
  end
  local inputs, device, has_rows = {}, nil, false
  for i, x in ipairs(given) do
    local name = self.names[i]
    if type(x) == "number" and self.is_table[name] then
      fail(self.name, "%s is a number; expected a tensor, which the function indexes", name)
    elseif type(x) == "number" then
      inputs[i] = { name = name, kind = "number", value = x }
    else
      arguments.check_tensor(self.name, x, name, "(..., columns), or a number", "a row_kernel "
        .. "launches its kernel itself")
      inputs[i] = arguments.describe(self.name, x, name, self.is_table[name] or "rows")
      if self.is_table[name] then inputs[i].kind = "table" end
      if device and x.device ~= device.tensor.device then
        fail(self.name, "%s is on %s but %s is on %s; expected all on one device", name, x.device,
          device.name, device.tensor.device)
      end
      device = device or inputs[i]
      has_rows = has_rows or not self.is_table[name]
    end
  end
  if not has_rows then
    fail(self.name, "no argument is a tensor with rows; expected one of shape (..., columns)")
  end
  return inputs, device.tensor.device
end

-- The shape to which all tensors broadcast, as in NumPy: last modes are aligned, and extents of 1
-- stretch.
function M.broadcast(self, inputs)
  local extents = {} -- from the last one on
  for _, t in ipairs(inputs) do
    for i = 1, t.extent and t.kind ~= "table" and #t.extent or 0 do
      local n = t.extent[#t.extent + 1 - i]
      local have = extents[i] or 1
      if have ~= 1 and n ~= 1 and n ~= have then
        fail(self.name, "%s is %s; its mode %d has extent %d, but another argument has %d; what "
          .. "has one value for each row is (..., 1)", t.name, shape(t.tensor), #t.extent - i, n,
          have)
      end
      extents[i] = have == 1 and n or have
    end
  end
  return extents
end

function M.product(extents, first)
  local n = 1
  for i = first, #extents do n = n * extents[i] end
  return n
end

-- The stride of each broadcast mode, from the last one on, 0 where it stretches; and the shape of
-- each. Both are tables of a mode that has modes with more than one stride.
function M.strides_of(t, extents)
  local strides, shapes = {}, {}
  for i = 1, #extents do
    local at = #t.extent + 1 - i
    local is_there = at >= 1 and t.extent[at] > 1
    local nested = is_there and t.nested and t.nested[at] or { extents[i], t.stride[at] }
    shapes[i], strides[i] = nested[1], is_there and nested[2] or 0
  end
  return strides, shapes
end

-- The rows' modes as one, the last of them first, so that neighbours become one mode.
function M.rows_of(t, extents)
  local strides, shapes = M.strides_of(t, extents)
  shapes[1], strides[1] = 1, 0
  local l = coalesce(layout(shapes, strides))
  return shape(l), stride(l)
end

-- The tensor as (row, column), or (column) where all rows have the same.
function M.as_rows(t, extents)
  local strides = M.strides_of(t, extents)
  local n, d = M.rows_of(t, extents)
  if t.kind == "columns" then return view(t.tensor, layout(extents[1], strides[1])) end
  if t.kind == "of row" then return view(t.tensor, layout({ n, 1 }, { d, 0 })) end
  return view(t.tensor, layout({ n, extents[1] }, { d, strides[1] }))
end

-- "elements", "of row" or "columns". A tensor of fewer modes than others has the same for all rows,
-- even if there is one row: how threads share a row does not depend on the number of rows.
function M.kind_of(t, extents)
  local last, rows = t.extent[#t.extent] or 1, 1
  for i = 1, #t.extent - 1 do rows = rows * t.extent[i] end
  if last == 1 and extents[1] > 1 then return "of row" end
  local is_shared = M.product(extents, 2) > 1 or #t.extent < #extents
  return rows == 1 and is_shared and "columns" or "elements"
end

return M
