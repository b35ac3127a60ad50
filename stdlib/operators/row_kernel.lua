-- row_kernel.lua: row_kernel(name, f, options): an operator of rows from a function of one element.
-- row_plan.lua chooses how threads share a row, row_template.lua makes the kernel; this file reads
-- arguments, makes results and launches.
local internal = ...
local arguments = require "cuttle.arguments"
local devices = require "cuttle.profile_device"
local planner = require "cuttle.row_plan"
local template = require "cuttle.row_template"
local tiles = require "cuttle.tiles"
local M = {}

local op <const> = "row_kernel"

local function fail(name, format, ...) tiles.fail(name, format, ...) end

local RowKernel = {}
local row_type = tiles.new_type("row_kernel", RowKernel)

-- {====== Arguments ======

-- The names of the function's parameters after the row, for messages and the CUDA C.
local function names_of(f)
  local names, i = {}, 2
  local name = debug.getlocal(f, i)
  while name do
    names[#names + 1] = name
    i = i + 1
    name = debug.getlocal(f, i)
  end
  return names
end

local function is_options(x) return type(x) == "table" and getmetatable(x) == nil end

local known_options <const> = { "check", "out", "stream" }

-- {name, kind = "number", value} or what arguments.describe returns, of each.
local function read_inputs(self, given)
  if #given ~= #self.names then
    fail(self.name, "%d arguments; expected %d: %s", #given, #self.names,
      table.concat(self.names, ", "))
  end
  local inputs, device = {}, nil
  for i, x in ipairs(given) do
    local name = self.names[i]
    if type(x) == "number" then
      inputs[i] = { name = name, kind = "number", value = x }
    else
      arguments.check_tensor(self.name, x, name, "(..., columns), or a number", "a row_kernel "
        .. "launches its kernel itself")
      inputs[i] = arguments.flat(arguments.describe(self.name, x, name, true))
      if device and x.device ~= device.tensor.device then
        fail(self.name, "%s is on %s but %s is on %s; expected all on one device", name, x.device,
          device.name, device.tensor.device)
      end
      device = device or inputs[i]
    end
  end
  if not device then
    fail(self.name, "no argument is a tensor; expected one of shape (..., columns)")
  end
  return inputs, device.tensor.device
end

-- The shape to which all tensors broadcast, as in NumPy: last modes are aligned, and extents of 1
-- stretch.
local function broadcast(self, inputs)
  local extents = {} -- from the last one on
  for _, t in ipairs(inputs) do
    for i = 1, t.extent and #t.extent or 0 do
      local n = t.extent[#t.extent + 1 - i]
      local have = extents[i] or 1
      if have ~= 1 and n ~= 1 and n ~= have then
        fail(self.name, "%s is %s; its mode %d has extent %d, but another argument has %d", t.name,
          shape(t.tensor), #t.extent - i, n, have)
      end
      extents[i] = have == 1 and n or have
    end
  end
  return extents
end

local function product(extents, first)
  local n = 1
  for i = first, #extents do n = n * extents[i] end
  return n
end

-- The stride of each broadcast mode, from the last one on; 0 where it stretches.
local function strides_of(t, extents)
  local strides = {}
  for i = 1, #extents do
    local at = #t.extent + 1 - i
    strides[i] = at >= 1 and t.extent[at] > 1 and t.stride[at] or 0
  end
  return strides
end

-- The rows' modes as one, the last of them first, so that neighbours become one mode.
local function rows_of(extents, strides)
  local e, s = { 1 }, { 0 }
  for i = 2, #extents do e[i], s[i] = extents[i], strides[i] end
  local l = coalesce(layout(e, s))
  return shape(l), stride(l)
end

-- The tensor as (row, column), or (column) where all rows have the same.
local function as_rows(t, extents)
  local strides = strides_of(t, extents)
  local n, d = rows_of(extents, strides)
  if t.kind == "columns" then return view(t.tensor, layout(extents[1], strides[1])) end
  if t.kind == "of row" then return view(t.tensor, layout({ n, 1 }, { d, 0 })) end
  return view(t.tensor, layout({ n, extents[1] }, { d, strides[1] }))
end

local function kind_of(t, extents)
  local last, rows = t.extent[#t.extent] or 1, product(t.extent, 1)
  if last == 1 and extents[1] > 1 then return "of row" end
  return rows == last and product(extents, 2) > 1 and "columns" or "elements"
end

-- {====== Plans ======

local function power_in(n, most)
  local p = 1
  while p < most and n % (2 * p) == 0 do p = 2 * p end
  return p
end

local function has_clusters(place)
  local sm = internal.launch.emit_sm()
  if sm then return sm >= 90 end
  return place == "cpu" or device().sm >= 90
end

-- Can TMA bring rows of the input? One stride for all rows, and 16 bytes between them.
local function has_boxes(t, extents)
  local strides = strides_of(t, extents)
  local n, d = rows_of(extents, strides)
  if type(n) == "table" and #n == 1 then n, d = n[1], d[1] end
  local bytes = t.tensor.dtype.bytes
  return math.type(n) == "integer" and d * bytes % 16 == 0 and strides[1] == 1
    and internal.launch.address(t.tensor) % 16 == 0
end

-- What row_plan.lua asks.
local function problem_of(inputs, results, extents, kinds, n_reductions)
  local columns = extents[1]
  local problem = { columns = columns, bytes = 0, largest = 1, smallest = 16,
    divides = power_in(columns, 16), columns_divide = power_in(columns, 256),
    n_reductions = n_reductions, n_columns = 0 }
  problem.has_clusters = has_clusters(inputs.device)
  problem.has_boxes = problem.has_clusters
  for _, kind in ipairs(kinds) do
    if kind == "column" then problem.n_columns = problem.n_columns + 1 end
  end
  for _, list in ipairs { inputs, results } do
    for _, t in ipairs(list) do
      if t.kind == "elements" or t.kind == "columns" then
        local size, strides = t.tensor.dtype.bytes, strides_of(t, extents)
        if t.kind == "elements" and list == inputs then
          problem.bytes = problem.bytes + size
          problem.smallest = math.min(problem.smallest, size)
          problem.has_boxes = problem.has_boxes and has_boxes(t, extents)
        end
        problem.largest = math.max(problem.largest, size)
        if strides[1] ~= 1 and columns > 1 then problem.divides = 1 end
        for i = 2, #strides do
          if strides[i] ~= 0 then problem.divides = power_in(strides[i], problem.divides) end
        end
      end
    end
  end
  return problem
end

-- {====== Results ======

-- What the function returns: a list of "elements", "once" or "column"; its `types`, none of them
-- narrow; and n_reductions. Found by a trace.
local function kinds_of(self, inputs, given)
  local key = {}
  for i, t in ipairs(inputs) do key[i] = t.tensor and t.tensor.dtype.name .. t.kind or "number" end
  key = table.concat(key, " ")
  if self.kinds[key] == nil then
    local found
    local note = static_fn(function(kinds, types, n)
      found = { n_reductions = n, types = table.move(types, 1, #types, 1, {}) }
      table.move(kinds, 1, #kinds, 1, found)
    end)
    local p = { name = self.name, f = self.f, columns = 2, rows = 1, parts = 1, lanes = 32,
      inputs = inputs, width = 1, deep = 1, vectors = 2, holds = true, n_reductions = 0 }
    template.probe(p, note) { grid = 1, block = 32 }:source(given)
    if #found == 0 then fail(self.name, "the function returns nothing; return what to store") end
    self.kinds[key] = found
  end
  return self.kinds[key]
end

local function new_tensor(dtype, shape, device)
  local t = tensor(dtype, row_major(shape))
  return t.device == device and t or t:to(device)
end

-- The extents of a result of that kind.
local function shape_of(kind, extents)
  if kind == "column" then return { extents[1] } end
  local shape = {}
  for i = #extents, 2, -1 do shape[#shape + 1] = extents[i] end
  shape[#shape + 1] = kind == "once" and 1 or extents[1]
  return shape
end

local function type_of(self, i, kinds, inputs)
  if self.types[i] then return self.types[i] end
  if kinds[i] ~= "elements" then return kinds.types[i] end
  for _, t in ipairs(inputs) do
    if t.kind == "elements" then return t.tensor.dtype end
  end
end

local function check_result(self, t, shape)
  for i = 1, math.max(#shape, #t.extent) do
    if t.extent[i] ~= shape[i] then
      fail(self.name, "%s is %s; expected (%s)", t.name, t.tensor.layout, table.concat(shape, ","))
    end
  end
end

local function read_results(self, kinds, inputs, extents, options)
  local out = options.out
  if tiles.type_name(out) == "tensor" then out = { out } end
  if out ~= nil and #out ~= #kinds then
    fail(self.name, "out has %d tensors; the function returns %d values", #out, #kinds)
  end
  local results = {}
  for i, kind in ipairs(kinds) do
    local shape = shape_of(kind, extents)
    local x = out and out[i] or new_tensor(type_of(self, i, kinds, inputs), shape, inputs.device)
    arguments.check_tensor(self.name, x, ("out[%d]"):format(i), "of the result's shape",
      "a row_kernel launches its kernel itself")
    results[i] = arguments.flat(arguments.describe(self.name, x, ("out[%d]"):format(i), true))
    results[i].kind, results[i].given = kind, x
    check_result(self, results[i], shape)
  end
  return results
end

-- {====== Launches ======

local function text_of(p)
  local key = { p.columns, p.width, p.lanes, p.rows, p.parts, p.stages or 0,
    p.shape, tostring(p.in_turns), tostring(p.is_narrow) }
  for i, kind in ipairs(p.kinds) do key[#key + 1] = kind .. p.types[i].name end
  for _, t in ipairs(p.inputs) do key[#key + 1] = t.kind end
  return table.concat(key, " ")
end

local function kernel_of(self, p)
  local key = text_of(p)
  self.made[key] = self.made[key] or template.make(p)
  return self.made[key]
end

-- How many blocks, or clusters, are launched for so many turns.
local function blocks_for(p, n_turns, place)
  if not p.in_turns then return n_turns end
  local sms = place == "cpu" and 4 or devices.n_sms(device())
  local each = math.min(p.per_sm, math.max(1, 2048 // p.threads))
  return math.min(n_turns, math.max(1, sms * each // p.parts))
end

-- The inputs for TMA, (elements of a box, boxes of a row, row).
local function boxes_for(p, inputs, extents)
  local boxes = {}
  for _, t in ipairs(inputs) do
    if t.kind == "elements" then
      local n, d = rows_of(extents, strides_of(t, extents))
      boxes[t.name] = view(t.tensor,
        layout({ p.box, p.columns // p.box, n }, { 1, p.box, n == 1 and p.columns or d }))
    end
  end
  return boxes
end

-- The results as the kernel takes them, and the steps that add partial sums up.
local function results_for(p, results, extents, n_blocks, device)
  local outs, after = {}, {}
  for i, t in ipairs(results) do
    if p.kinds[i] == "column" then
      local partial = new_tensor(p.types[i], { n_blocks, p.columns }, device)
      outs["r" .. i] = partial
      after[#after + 1] = { kernel = template.add_columns, args = { partial, t.given },
        launch = { grid = (p.columns + 31) // 32, block = 1024, pdl = true } }
    else
      t.kind = p.kinds[i] == "once" and "of row" or "elements"
      outs["r" .. i] = as_rows(t, extents)
    end
  end
  return outs, after
end

-- {kernel =, launch =, args =} of each launch, in order.
local function steps_of(self, p, args, inputs, results, extents, options)
  local n_rows = product(extents, 2)
  local n_blocks = blocks_for(p, (n_rows + p.rows - 1) // p.rows, inputs.device)
  local outs, steps = results_for(p, results, extents, n_blocks, inputs.device)
  local first = { kernel = kernel_of(self, p), args = { args, outs, n_rows },
    launch = { grid = n_blocks * p.parts, block = p.threads,
      cluster = p.parts > 1 and not p.is_flat and p.parts or nil } }
  if p.stages then table.insert(first.args, 2, boxes_for(p, inputs, extents)) end
  table.insert(steps, 1, first)
  for _, step in ipairs(steps) do
    step.launch.stream, step.launch.check = options.stream, options.check
  end
  return steps
end

-- All that a call needs: steps, the plan, the results.
local function prepare(self, ...)
  local given = { ... }
  local options = is_options(given[#given]) and table.remove(given) or {}
  options = arguments.options(self.name, options, known_options, "{out = y}")
  local inputs, device = read_inputs(self, given)
  inputs.device = device
  local extents = broadcast(self, inputs)
  local args, tensors, names = {}, {}, {}
  for i, t in ipairs(inputs) do
    t.kind = t.kind or kind_of(t, extents)
    args[t.name] = t.kind == "number" and t.value or as_rows(t, extents)
    names[i] = { name = t.name, kind = t.kind }
  end
  local kinds = kinds_of(self, inputs, args)
  local results = read_results(self, kinds, inputs, extents, options)
  for i, t in ipairs(results) do tensors[i] = t.given end
  if product(extents, 1) == 0 then return {}, nil, tensors end
  local p = planner.plan(problem_of(inputs, results, extents, kinds, kinds.n_reductions))
  p.is_narrow = true
  for _, t in ipairs(inputs) do
    if t.kind == "elements" then p.is_narrow = p.is_narrow and t.tensor.dtype.bytes <= 2 end
  end
  p.name, p.f, p.inputs, p.kinds, p.types = self.name, self.f, names, kinds, kinds.types
  return steps_of(self, p, args, inputs, results, extents, options), p, tensors
end

row_type.__call = function(self, ...)
  local steps, _, tensors = prepare(self, ...)
  for _, step in ipairs(steps) do step.kernel(step.launch)(table.unpack(step.args)) end
  return table.unpack(tensors)
end

--- The launches as a function without arguments, to be called often, and the list of results.
function RowKernel:prepare(...)
  local steps, _, tensors = prepare(self, ...)
  local launches = {}
  for i, step in ipairs(steps) do
    launches[i] = step.kernel:prepare(step.launch)(table.unpack(step.args))
  end
  if #launches == 1 then return launches[1], tensors end
  return function()
    for _, launch in ipairs(launches) do launch() end
  end, tensors
end

--- Which shape runs for these arguments, and why: {shape =, threads =, ..., text =}.
function RowKernel:explain(...)
  local _, p = prepare(self, ...)
  if not p then
    return { shape = "none", text = "a result without elements: nothing is launched" }
  end
  local text = ("%s: %s; vectors of %d, %d for each thread, %d rows in a block of %d threads")
    :format(p.shape, p.why, p.width, p.deep, p.rows, p.threads)
  return { shape = p.shape, threads = p.threads, lanes = p.lanes, rows = p.rows, parts = p.parts,
    width = p.width, deep = p.deep, text = text }
end

--- The CUDA C of the kernel for these arguments.
function RowKernel:source(...)
  local step = prepare(self, ...)[1]
  return step and step.kernel(step.launch):source(table.unpack(step.args))
end

local creation_options <const> = { "types" }

--- row_kernel([name, ]f[, options])
function M.row_kernel(name, f, options)
  if type(name) == "function" then name, f, options = "rows", name, f end
  if type(f) ~= "function" then
    fail(op, "argument 2 is of type %s; expected a function (row, x, ...) of one element",
      tiles.type_name(f))
  end
  options = arguments.options(op, options, creation_options, "{types = {f16}}")
  return setmetatable({ name = name, f = f, names = names_of(f), types = options.types or {},
    kinds = {}, made = {} }, row_type)
end

return M
