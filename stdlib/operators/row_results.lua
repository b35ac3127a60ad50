-- row_results.lua: the results of a row_kernel: their shapes and types, and whether those that are
-- given can hold them.
local arguments = require "cuttle.arguments"
local overlap = require "cuttle.overlap"
local on_device = require "cuttle.operator_device"
local reader = require "cuttle.row_arguments"
local tiles = require "cuttle.tiles"
local M = {}

local fail <const> = tiles.fail

-- How many columns result i has.
function M.columns_of(i, kinds, extents)
  if kinds[i] == "group" then return cdiv(extents[1], kinds.by_result[i]) end
  return kinds[i] == "once" and 1 or extents[1]
end

-- The extents of result i.
local function shape_of(i, kinds, extents)
  if kinds[i] == "column" then return { extents[1] } end
  local shape = {}
  for m = #extents, 2, -1 do shape[#shape + 1] = extents[m] end
  shape[#shape + 1] = M.columns_of(i, kinds, extents)
  return shape
end

local function type_of(self, i, kinds, inputs)
  if self.types[i] then return self.types[i] end
  if kinds[i] ~= "elements" then return kinds.types[i] end
  for _, kind in ipairs { "elements", "of row", "columns" } do
    for _, t in ipairs(inputs) do
      if t.kind == kind then
        local dtype = t.tensor.dtype
        local computed = kinds.types[i]
        return computed.is_float and not dtype.is_float and computed or dtype
      end
    end
  end
end

local function check_result(self, t, shape)
  local columns = shape[#shape]
  if t.tensor.dtype == f4e2m1 and columns % 2 ~= 0 then
    fail(self.name, "rows have %d columns; two elements of f4e2m1 share a byte, so give them an "
      .. "even number", columns)
  end
  for i = 1, math.max(#shape, #t.extent) do
    if t.extent[i] ~= shape[i] then
      fail(self.name, "%s is %s; expected (%s)", t.name, t.tensor.layout, table.concat(shape, ","))
    end
  end
end

-- Has the result the input's elements, each at its own place?
local function is_in_place(result, input, extents)
  if result.kind ~= "elements" or input.kind ~= "elements"
    or result.tensor.dtype.bytes ~= input.tensor.dtype.bytes
    or not overlap.begin_together(result.tensor, input.tensor) then
    return false
  end
  return reader.as_rows(result, extents).layout == reader.as_rows(input, extents).layout
end

-- Sums of columns are stored when all rows have been read.
local function check_input(self, kinds, r, input, extents)
  if input.kind == "number" or r.kind == "column"
    or not overlap.shares(arguments.flat(r), arguments.flat(input)) then return end
  r.is_in_place = is_in_place(r, input, extents)
  if not r.is_in_place then
    fail(self.name, "%s shares memory with %s, but not element by element: it would be read after "
      .. "it is written; give %s memory of its own", r.name, input.name, r.name)
  elseif kinds.reads_at[input.name] then
    fail(self.name, "%s takes the place of %s, of which row:at reads other elements: they would "
      .. "be read after they are written; give %s memory of its own", r.name, input.name, r.name)
  end
end

-- Given results: do they keep what is stored, and does nobody read it too late?
local function check_places(self, kinds, results, inputs, extents)
  local before = {}
  for i, r in ipairs(results) do
    if r.tensor.device ~= inputs.device then
      fail(self.name, "%s is on %s but the arguments are on %s; expected all on one device", r.name,
        r.tensor.device, inputs.device)
    end
    local flat = arguments.flat(r)
    arguments.check_distinct(self.name, flat)
    for _, input in ipairs(inputs) do check_input(self, kinds, r, input, extents) end
    arguments.check_apart(self.name, flat, before)
    before[i] = flat
  end
end

-- Result i as it would be made, without its memory.
local function not_made(dtype, shape)
  local strides, n = {}, 1
  for i = #shape, 1, -1 do strides[i], n = n, n * shape[i] end
  return { tensor = { dtype = dtype }, extent = shape, stride = strides }
end

-- A result x of f4e2m1 that is given as bytes, of two elements each: hosts have no other type.
local function of_bytes(x, dtype, columns)
  local is_bytes = dtype == f4e2m1 and tiles.type_name(x) == "tensor" and x.dtype == u8
    and 2 * size(x, rank(x) - 1) == columns
  return is_bytes and recast(x, f4e2m1) or x
end

local function describe_result(self, i, x)
  local name = ("out[%d]"):format(i)
  arguments.check_tensor(self.name, x, name, "of the result's shape",
    "a row_kernel launches its kernel itself")
  local result = arguments.describe(self.name, x, name, "rows")
  result.given = x
  return result
end

-- The results, given or made; with `makes_none` those that are not given stay without memory.
function M.read(self, call, makes_none)
  local kinds, inputs, extents = call.kinds, call.inputs, call.extents
  local out = arguments.results(self.name, call.options.out, #kinds)
  local results = {}
  for i, kind in ipairs(kinds) do
    local shape = shape_of(i, kinds, extents)
    local dtype = not out and type_of(self, i, kinds, inputs)
    if makes_none and not out then
      results[i] = not_made(dtype, shape)
    else
      results[i] = describe_result(self, i, out
        and of_bytes(out[i], self.types[i], shape[#shape])
        or on_device.new(inputs.device, dtype, row_major(shape)))
      check_result(self, results[i], shape)
    end
    results[i].kind = kind
  end
  if out then check_places(self, kinds, results, inputs, extents) end
  return results
end

return M
