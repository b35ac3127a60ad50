-- row_kernel.lua: row_kernel(name, f, options): an operator of rows from a function of one element.
-- row_plan.lua chooses how threads share a row, row_template.lua makes the kernel; this file reads
-- arguments, makes results and launches.
local internal = ...
local arguments = require "cuttle.arguments"
local overlap = require "cuttle.overlap"
local planner = require "cuttle.row_plan"
local template = require "cuttle.row_template"
local tiles = require "cuttle.tiles"
local on_device = require "cuttle.operator_device"
local launches = require "cuttle.operator_steps"
local M = {}

local op <const> = "row_kernel"

local function fail(name, format, ...) tiles.fail(name, format, ...) end

local RowKernel = {}
local row_type = tiles.new_type("row_kernel", RowKernel)

-- {====== Arguments ======

-- The names of the function's parameters after the row, for messages and the CUDA C: no two alike.
local function names_of(op_name, f)
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

local function is_options(x)
  return type(x) == "table" and getmetatable(x) == nil and x[1] == nil
end

local known_options <const> = { "check", "out", "stream" }

-- {name, kind = "number", value} or what arguments.describe returns, of each.
local function read_inputs(self, given)
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
        fail(self.name, "%s is %s; its mode %d has extent %d, but another argument has %d; what "
          .. "has one value for each row is (..., 1)", t.name, shape(t.tensor), #t.extent - i, n,
          have)
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
  local last, rows = t.extent[#t.extent] or 1, 1
  for i = 1, #t.extent - 1 do rows = rows * t.extent[i] end
  if last == 1 and extents[1] > 1 then return "of row" end
  return rows == 1 and product(extents, 2) > 1 and "columns" or "elements"
end

-- {====== Plans ======

-- The CPU engine has clusters, too.
local function has_clusters(target) return target.sm == 0 or target.sm >= 90 end

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
    divides = tiles.power_in(columns, 16), columns_divide = tiles.power_in(columns, 256),
    n_reductions = n_reductions, n_columns = 0 }
  problem.has_clusters = has_clusters(on_device.target(inputs.device))
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
          if strides[i] ~= 0 then problem.divides = tiles.power_in(strides[i], problem.divides) end
        end
      end
    end
  end
  return problem
end

-- {====== Results ======

local function check_found(self, found)
  if #found == 0 then fail(self.name, "the function returns nothing; return what to store") end
  for i, t in pairs(self.types) do
    if found[i] == nil then
      fail(self.name, "types[%s] is %s, but the function returns %d values", i, t, #found)
    end
  end
end

-- What the function returns: a list of "elements", "once" or "column"; its `types`, none of them
-- narrow; and n_reductions. Found by a trace.
local function kinds_of(self, inputs, given)
  local key = {}
  for i, t in ipairs(inputs) do key[i] = t.tensor and t.tensor.dtype.name .. t.kind or "number" end
  key = table.concat(key, " ")
  if self.kinds[key] == nil then
    local found
    local reads_at = {}
    local note = static_fn(function(kinds, types, n)
      found = { n_reductions = n, types = table.move(types, 1, #types, 1, {}), reads_at = reads_at }
      table.move(kinds, 1, #kinds, 1, found)
    end)
    local note_at = static_fn(function(name) reads_at[name] = true end)
    local p = { name = self.name, f = self.f, columns = 2, rows = 1, parts = 1, lanes = 32,
      inputs = inputs, width = 1, deep = 1, vectors = 2, holds = true,
      n_reductions = 0, note_at = note_at }
    template.probe(p, note) { grid = 1, block = 32 }:source(given)
    check_found(self, found)
    self.kinds[key] = found
  end
  return self.kinds[key]
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
    or internal.launch.address(result.tensor) ~= internal.launch.address(input.tensor) then
    return false
  end
  local a, b = strides_of(result, extents), strides_of(input, extents)
  for i in ipairs(a) do
    if a[i] ~= b[i] then return false end
  end
  return true
end

-- Sums of columns are stored when all rows have been read.
local function check_input(self, kinds, r, input, extents)
  if input.kind == "number" or r.kind == "column" or not overlap.shares(r, input) then return end
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
  for i, r in ipairs(results) do
    if r.tensor.device ~= inputs.device then
      fail(self.name, "%s is on %s but the arguments are on %s; expected all on one device", r.name,
        r.tensor.device, inputs.device)
    elseif overlap.has_shared(r) then
      fail(self.name, "%s is %s: elements share memory, so they cannot hold different results",
        r.name, r.tensor.layout)
    end
    for _, input in ipairs(inputs) do check_input(self, kinds, r, input, extents) end
    for j = 1, i - 1 do
      if overlap.shares(r, results[j]) then
        fail(self.name, "%s shares memory with %s; give %s memory of its own", r.name,
          results[j].name, r.name)
      end
    end
  end
end

local function given_results(self, kinds, out)
  if tiles.type_name(out) == "tensor" then out = { out } end
  if out == nil or type(out) == "table" and #out == #kinds then return out end
  if type(out) ~= "table" then
    fail(self.name, "out is of type %s; expected a tensor, or a list of them", tiles.type_name(out))
  end
  fail(self.name, "out has %d tensors; the function returns %d values", #out, #kinds)
end

local function read_results(self, kinds, inputs, extents, options)
  local out = given_results(self, kinds, options.out)
  local results = {}
  for i, kind in ipairs(kinds) do
    local shape = shape_of(kind, extents)
    local x = out and out[i]
      or on_device.new(inputs.device, type_of(self, i, kinds, inputs), row_major(shape))
    arguments.check_tensor(self.name, x, ("out[%d]"):format(i), "of the result's shape",
      "a row_kernel launches its kernel itself")
    results[i] = arguments.flat(arguments.describe(self.name, x, ("out[%d]"):format(i), true))
    results[i].kind, results[i].given = kind, x
    check_result(self, results[i], shape)
  end
  if out then check_places(self, kinds, results, inputs, extents) end
  return results
end

-- {====== Launches ======

local function text_of(p)
  local key = { p.columns, p.width, p.lanes, p.rows, p.parts, p.stages or 0,
    p.shape, tostring(p.in_turns), tostring(p.is_narrow), tostring(p.spares) }
  for i, kind in ipairs(p.kinds) do key[#key + 1] = kind .. p.types[i].name end
  for _, t in ipairs(p.inputs) do key[#key + 1] = t.kind end
  return table.concat(key, " ")
end

local function kernel_of(self, p)
  local key = text_of(p)
  self.made[key] = self.made[key] or template.make(p)
  return self.made[key]
end

local CPU_SMS <const> = 4 -- multiprocessors that the CPU engine stands for

-- How many blocks, or clusters, are launched for so many turns.
local function blocks_for(p, n_turns, place)
  if not p.in_turns then return n_turns end
  local sms = on_device.target(place).n_sms or CPU_SMS
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

local function sum_of_columns(partial, sums)
  return { kernel = template.add_columns, args = { partial, sums },
    launch = { grid = cdiv(size(sums), 32), block = 1024, pdl = true } }
end

-- The results as the kernel takes them, and the steps that add partial sums up.
local function results_for(p, results, extents, n_blocks, device)
  local outs, after = {}, {}
  for i, t in ipairs(results) do
    if p.kinds[i] == "column" then
      local partial = on_device.new(device, p.types[i], row_major { n_blocks, p.columns })
      outs["r" .. i] = partial
      after[#after + 1] = sum_of_columns(partial, t.given)
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
  local n_blocks = blocks_for(p, cdiv(n_rows, p.rows), inputs.device)
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

-- Without elements there are still sums of columns, zeros; rows without columns have no element of
-- which what a row has once could be computed.
local function steps_of_nothing(self, kinds, results, extents, options, device)
  local steps = {}
  for i, t in ipairs(results) do
    if kinds[i] == "once" and product(extents, 2) > 0 then
      fail(self.name, "rows have 0 columns, so there is no element of which result %d could be "
        .. "computed; expected at least 1", i)
    elseif kinds[i] == "column" and extents[1] > 0 then
      local partial = on_device.new(device, kinds.types[i], row_major { 0, extents[1] })
      steps[#steps + 1] = sum_of_columns(partial, t.given)
      steps[#steps].launch.stream, steps[#steps].launch.check = options.stream, options.check
    end
  end
  return steps
end

-- Must threads behind the last row leave it alone, as others write to it?
local function needs_spared(p, results, n_rows)
  for _, t in ipairs(results) do
    if t.is_in_place and n_rows % p.rows ~= 0 then return true end
  end
  return false
end

-- All that a call needs: steps, the plan, the results.
local function prepare(self, ...)
  if tiles.type_name(self) ~= "row_kernel" then
    fail(op, "a method was called with '.'; write ':', as in k:prepare(x)")
  end
  local given = table.pack(...)
  local options = {}
  if is_options(given[given.n]) then
    options = table.remove(given, given.n)
    given.n = given.n - 1
  end
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
  if product(extents, 1) == 0 then
    return steps_of_nothing(self, kinds, results, extents, options, device), nil, tensors
  end
  local p = planner.plan(problem_of(inputs, results, extents, kinds, kinds.n_reductions))
  p.spares = needs_spared(p, results, product(extents, 2))
  p.is_narrow = true
  for _, t in ipairs(inputs) do
    if t.kind == "elements" then p.is_narrow = p.is_narrow and t.tensor.dtype.bytes <= 2 end
  end
  p.name, p.f, p.inputs, p.kinds, p.types = self.name, self.f, names, kinds, kinds.types
  return steps_of(self, p, args, inputs, results, extents, options), p, tensors
end

row_type.__call = function(self, ...)
  local steps, _, tensors = prepare(self, ...)
  launches.run(steps)
  return table.unpack(tensors)
end

row_type.__tostring = function(self)
  return ("row_kernel %s(%s)"):format(self.name, table.concat(self.names, ", "))
end

--- The launches as a function without arguments, to be called often, and the list of results.
function RowKernel:prepare(...)
  local steps, _, tensors = prepare(self, ...)
  return launches.prepare(steps), tensors
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

-- The given types of results, by number; those that are not given are chosen for each call.
local function types_in(options)
  local types = options.types
  if types == nil then return {} end
  if type(types) ~= "table" or getmetatable(types) ~= nil then
    fail(op, "option types is of type %s; expected a list such as {f16}", tiles.type_name(types))
  end
  for i, t in pairs(types) do
    if tiles.type_name(t) ~= "dtype" then
      fail(op, "types[%s] is of type %s; expected an element type such as f16", i,
        tiles.type_name(t))
    end
  end
  return types
end

--- row_kernel([name, ]f[, options])
function M.row_kernel(name, f, options)
  if type(name) == "function" then name, f, options = "rows", name, f end
  if type(f) ~= "function" then
    fail(op, "argument 2 is of type %s; expected a function (row, x, ...) of one element",
      tiles.type_name(f))
  end
  if type(name) ~= "string" or not name:find "^[%a_][%w_]*$" then
    fail(op, "the name is %s; letters, digits and '_' were expected", tostring(name))
  end
  options = arguments.options(op, options, creation_options, "{types = {f16}}")
  return setmetatable({ name = name, f = f, names = names_of(op, f), types = types_in(options),
    kinds = {}, made = {} }, row_type)
end

return M
