-- row_kernel.lua: row_kernel(name, f, options): an operator of rows from a function of one element.
-- row_arguments.lua reads arguments, row_results.lua makes results, row_plan.lua chooses how
-- threads share a row, row_template.lua makes the kernel; this file joins them and launches.
local internal = ...
local arguments = require "cuttle.arguments"
local option_names = require "cuttle.option_names"
local plural = require "cuttle.plural"
local reader = require "cuttle.row_arguments"
local outcome = require "cuttle.row_results"
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

-- {====== Calls ======

local known_options <const> = { "check", "out", "stream", "work" }

-- {====== Plans ======

local CPU_SMS <const> = 4 -- multiprocessors that the CPU engine stands for

-- The CPU engine has clusters, too.
local function has_clusters(target) return target.sm == 0 or target.sm >= 90 end

-- The strides of modes of rows that are not 0, also of those that have one row.
local function row_strides(t)
  local strides = {}
  for i = 1, #t.extent - 1 do
    local nested = t.nested and t.nested[i][2] or t.stride[i]
    for _, d in ipairs(type(nested) == "table" and nested or { nested }) do
      if d ~= 0 then strides[#strides + 1] = d end
    end
  end
  return strides
end

-- Can TMA bring rows of the input? One stride for all rows, and 16 bytes between them, also where
-- there is only one: a row's results do not depend on how many there are.
local function has_boxes(t, extents)
  local strides = reader.strides_of(t, extents)
  local n, d = reader.rows_of(t, extents)
  if type(n) == "table" and #n == 1 then n, d = n[1], d[1] end
  local bytes = t.tensor.dtype.bytes
  for _, stride in ipairs(row_strides(t)) do
    if stride * bytes % 16 ~= 0 then return false end
  end
  return math.type(n) == "integer" and d * bytes % 16 == 0 and strides[1] == 1
    and internal.launch.address(t.tensor) % 16 == 0
end

-- The columns of the function's largest group that is reduced, nil: it has no groups.
local function group_of(self, kinds, columns)
  if #kinds.groups == 0 and #kinds.sizes == 0 then return nil end
  local most = math.max(1, table.unpack(kinds.groups))
  local divisor = planner.divisor(most)
  if columns % divisor ~= 0 then
    fail(self.name, "rows have %d columns; groups of %d need a multiple of %d", columns, most,
      divisor)
  end
  return most
end

-- What row_plan.lua asks.
local function problem_of(self, inputs, results, extents, kinds)
  local columns = extents[1]
  local problem = { columns = columns, bytes = 0, largest = 1, smallest = 16,
    divides = tiles.power_in(columns, 16), columns_divide = tiles.power_in(columns, 256),
    n_reductions = kinds.n_reductions, n_columns = 0, group = group_of(self, kinds, columns),
    swap = #kinds.sizes == 0 and kinds.swap or 0, at_once = kinds.at_once,
    keeps = kinds.keeps, reads_once = kinds.reads_once, shared = 0, stored = 0, is_bf16 = true,
    n_rows = reader.product(extents, 2) }
  local target = on_device.target(inputs.device)
  problem.has_clusters, problem.n_sms = has_clusters(target), target.n_sms or CPU_SMS
  problem.has_boxes = problem.has_clusters
  for _, kind in ipairs(kinds) do
    if kind == "column" then problem.n_columns = problem.n_columns + 1 end
    if kind == "elements" then problem.stores = true end
  end
  for _, list in ipairs { inputs, results } do
    for _, t in ipairs(list) do
      if t.kind == "elements" or t.kind == "columns" then
        local size, strides = t.tensor.dtype.bytes, reader.strides_of(t, extents)
        if t.kind == "elements" and list == inputs then
          problem.bytes = problem.bytes + size
          problem.smallest = math.min(problem.smallest, size)
          problem.is_bf16 = problem.is_bf16 and t.tensor.dtype == bf16
          problem.has_boxes = problem.has_boxes and has_boxes(t, extents)
        end
        if t.kind == "elements" and list == results then problem.stored = problem.stored + size end
        if t.kind == "columns" and list == inputs then problem.shared = problem.shared + size end
        problem.largest = math.max(problem.largest, size)
        if strides[1] ~= 1 and columns > 1 then problem.divides = 1 end
        for _, stride in ipairs(row_strides(t)) do
          problem.divides = tiles.power_in(stride, problem.divides)
        end
      end
    end
  end
  return problem
end

-- {====== What the function returns ======

local function check_found(self, found)
  if #found == 0 then fail(self.name, "the function returns nothing; return what to store") end
  for i, t in pairs(self.types) do
    if found[i] == nil then
      fail(self.name, "types[%s] is %s, but the function returns %d values", i, t, #found)
    end
  end
end

-- What the function returns: a list of "elements", "once", "column" or "group"; its `types`, none
-- of them narrow; n_reductions; the sizes of its `groups` that are reduced, and `sizes` and
-- `by_result` of those that are stored. Found by a trace.
local function kinds_of(self, inputs, given, columns)
  local key = { [0] = columns }
  for i, t in ipairs(inputs) do
    key[i] = t.tensor and t.tensor.dtype.name .. t.kind or "number"
    if t.kind == "table" then key[i] = key[i] .. tostring(t.tensor.shape) end
  end
  key = table.concat(key, " ", 0)
  if self.kinds[key] == nil then
    local found
    local reads_at = {}
    local note = static_fn(function(kinds, types, n, groups, sizes, by_result, more)
      found = { n_reductions = n, types = table.move(types, 1, #types, 1, {}), reads_at = reads_at,
        groups = groups, sizes = sizes, by_result = by_result,
        swap = more.swap, at_once = more.at_once, keeps = more.keeps,
        reads_once = more.reads_once }
      table.move(kinds, 1, #kinds, 1, found)
    end)
    local note_at = static_fn(function(name) reads_at[name] = true end)
    local picks = {}
    local note_pick = static_fn(function(name) picks[name] = true end)
    local p = { name = self.name, f = self.f, columns = columns, rows = 1, parts = 1, lanes = 32,
      inputs = inputs, width = 1, deep = 1, vectors = columns, holds = true,
      each = 1, n_reductions = 0, note_at = note_at, note_pick = note_pick }
    template.probe(p, note) { grid = 1, block = 32 }:source(given)
    check_found(self, found)
    found.picks = picks
    -- A reduction comes between what a row picks and what it stores.
    for name in pairs(found.n_reductions == 0 and picks or {}) do reads_at[name] = true end
    self.kinds[key] = found
  end
  return self.kinds[key]
end

-- {====== Launches ======

local function text_of(p)
  local key = { p.columns, p.width, p.lanes, p.rows, p.parts, p.stages or 0, p.slots or 0, p.each,
    p.shape, tostring(p.in_turns), tostring(p.is_narrow), tostring(p.spares), tostring(p.orders),
    tostring(p.group ~= nil), p.swap or 0, tostring(p.overlaps), tostring(p.keeps_columns),
    tostring(p.warps_send), p.ahead or 0, tostring(p.widens) }
  for i, kind in ipairs(p.kinds) do key[#key + 1] = kind .. p.types[i].name end
  for _, t in ipairs(p.inputs) do
    key[#key + 1] = t.kind .. (t.kind == "table" and table.concat(t.extent, ",") or "")
  end
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
  local sms = on_device.target(place).n_sms
  local each = math.min(p.per_sm, math.max(1, 2048 // p.threads))
  -- Pairs always find room; of more blocks, a cluster that finds none would begin after the others.
  local n = sms and p.parts > 2 and each * on_device.clusters(place, p.parts)
    or (sms or CPU_SMS) * each // p.parts
  return math.min(n_turns, math.max(1, n))
end

local function blocks_of(p, call)
  return blocks_for(p, cdiv(reader.product(call.extents, 2), p.rows * p.each), call.inputs.device)
end

-- The inputs for TMA, (elements of a box, boxes of a row, row).
local function boxes_for(p, inputs, extents)
  local boxes = {}
  for _, t in ipairs(inputs) do
    if t.kind == "elements" then
      local n, d = reader.rows_of(t, extents)
      boxes[t.name] = view(t.tensor,
        layout({ p.box, p.columns // p.box, n }, { 1, p.box, n == 1 and p.columns or d }))
    end
  end
  return boxes
end

-- The step that adds up the rows of partial sums; two results have one step.
local function sum_of_columns(partial, sums, more)
  return { kernel = template.add_columns, args = { n = 3, partial, sums, more },
    launch = { grid = cdiv(size(partial, 1), 32), block = 1024, pdl = true } }
end

-- The f32 elements of the partial sums of n_blocks.
local function work_for(p, n_blocks)
  local n = 0
  for i, kind in ipairs(p.kinds) do
    if kind == "column" and p.types[i] == f32 then n = n + n_blocks * p.columns end
  end
  return n
end

-- new(dtype, layout) makes a tensor of partial sums: a part of `work`, if it is given.
local function in_work(device, work)
  local used = 0
  return function(dtype, n_blocks, n)
    if not work or dtype ~= f32 then
      return on_device.scratch(device, dtype, row_major { n_blocks, n })
    end
    local part = tile(work, { n_blocks * n }, { used // (n_blocks * n) })
    used = used + n_blocks * n
    return view(part, row_major { n_blocks, n })
  end
end

-- Partial sums of results of one type side by side, two at a time: a list of {partial sums of both,
-- first result, second result or nil}, and of each result its own. `new` is in_work's.
local function partial_sums(p, n_blocks, new)
  local pairs_, own = {}, {}
  for i, kind in ipairs(p.kinds) do
    if kind == "column" then
      local last = pairs_[#pairs_]
      if last and not last.second and p.types[last.first] == p.types[i] then
        last.second = i
      else
        pairs_[#pairs_ + 1] = { first = i }
      end
    end
  end
  for _, pair in ipairs(pairs_) do
    local n = (pair.second and 2 or 1) * p.columns
    pair.all = new(p.types[pair.first], n_blocks, n)
    own[pair.first] = view(pair.all, layout({ n_blocks, p.columns }, { n, 1 }))
    if pair.second then
      own[pair.second] = view(tile(pair.all, { 1, p.columns }, { 0, 1 }),
        layout({ n_blocks, p.columns }, { n, 1 }))
    end
  end
  return pairs_, own
end

-- The results as the kernel takes them, and the steps that add partial sums up.
local function results_for(p, results, extents, n_blocks, new)
  local outs, after = {}, {}
  local pairs_, own_sums = partial_sums(p, n_blocks, new)
  for i, pair in ipairs(pairs_) do
    local second = pair.second and results[pair.second].given
    after[i] = sum_of_columns(pair.all, results[pair.first].given, second)
  end
  for i, t in ipairs(results) do
    if p.kinds[i] == "column" then
      outs["r" .. i] = own_sums[i]
    else
      t.kind = p.kinds[i] == "once" and "of row" or "elements"
      local own = table.move(extents, 1, #extents, 1, {})
      own[1] = outcome.columns_of(i, p.kinds, extents)
      outs["r" .. i] = reader.as_rows(t, own)
    end
  end
  return outs, after
end

-- {kernel =, launch =, args =} of each launch, in order.
local function steps_of(self, p, call, results)
  local inputs, extents, options = call.inputs, call.extents, call.options
  local n_rows = reader.product(extents, 2)
  local n_blocks = blocks_of(p, call)
  if options.work then
    arguments.check_work(self.name, options.work, work_for(p, n_blocks), inputs.device)
  end
  local outs, steps = results_for(p, results, extents, n_blocks,
    in_work(inputs.device, options.work))
  local first = { kernel = kernel_of(self, p), args = { call.args, outs, n_rows },
    launch = { grid = n_blocks * p.parts, block = p.threads, pdl = p.overlaps,
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
local function steps_of_nothing(self, call, results)
  local kinds, extents, options, device = call.kinds, call.extents, call.options,
    call.inputs.device
  local steps = {}
  for i, t in ipairs(results) do
    if kinds[i] == "once" and reader.product(extents, 2) > 0 then
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

-- Must threads beyond the last row leave it alone, as others write to it?
local function needs_spared(p, results, n_rows)
  for _, t in ipairs(results) do
    if t.is_in_place and n_rows % (p.rows * p.each) ~= 0 then return true end
  end
  return false
end

-- Does a result take the place of an input of which a row picks an element?
local function is_pick_replaced(results)
  for _, t in ipairs(results) do
    if t.is_in_place then return true end
  end
  return false
end

-- What a call is given: {inputs, options, extents, kinds}, and `args` and `names` for the kernel.
local function read_call(self, ...)
  if tiles.type_name(self) ~= "row_kernel" then
    fail(op, "a method was called with '.'; write ':', as in k:prepare(x)")
  end
  local given = table.pack(...)
  local options = arguments.options(self.name, arguments.take_options(given), known_options,
    "{out = y}")
  local inputs, device = reader.read_inputs(self, given)
  inputs.device = device
  local extents = reader.broadcast(self, inputs)
  local args, names = {}, {}
  for i, t in ipairs(inputs) do
    t.kind = t.kind or reader.kind_of(t, extents)
    args[t.name] = t.value or t.kind == "table" and t.tensor or reader.as_rows(t, extents)
    names[i] = { name = t.name, kind = t.kind, extent = t.extent }
  end
  return { inputs = inputs, options = options, extents = extents, args = args, names = names,
    kinds = kinds_of(self, inputs, args, math.max(1, extents[1])) }
end

-- The plan, nil: there are no elements.
local function plan_of(self, call, results)
  local inputs, extents, kinds = call.inputs, call.extents, call.kinds
  if reader.product(extents, 1) == 0 then return nil end
  local p = planner.plan(problem_of(self, inputs, results, extents, kinds))
  p.spares = needs_spared(p, results, reader.product(extents, 2))
  p.orders = next(kinds.picks) ~= nil and is_pick_replaced(results)
  p.is_narrow = true
  for _, t in ipairs(inputs) do
    if t.kind == "elements" then p.is_narrow = p.is_narrow and t.tensor.dtype.bytes <= 2 end
  end
  p.name, p.f, p.inputs, p.kinds, p.types = self.name, self.f, call.names, kinds, kinds.types
  return p
end

-- The steps of a call, and its results.
local function prepare(self, ...)
  local call = read_call(self, ...)
  local results, tensors = outcome.read(self, call), {}
  for i, t in ipairs(results) do tensors[i] = t.given end
  local p = plan_of(self, call, results)
  if p then return steps_of(self, p, call, results), tensors end
  return steps_of_nothing(self, call, results), tensors
end

row_type.__call = function(self, ...)
  local steps, tensors = prepare(self, ...)
  launches.run(steps)
  return table.unpack(tensors)
end

row_type.__tostring = function(self)
  return ("row_kernel %s(%s)"):format(self.name, table.concat(self.names, ", "))
end

--- The launches as a function without arguments, to be called often, and the list of results.
function RowKernel:prepare(...)
  local steps, tensors = prepare(self, ...)
  return launches.prepare(steps), tensors
end

-- How the largest groups are reduced.
local function explain_groups(p)
  local lanes = math.min(p.group // p.width, p.lanes)
  return lanes <= 1 and "; groups of columns by one thread"
    or ("; groups of %d columns by %d lanes of a warp"):format(p.group, lanes)
end

--- The launches as a list of steps and the list of results, for an operator that has more steps.
function RowKernel:steps(...) return prepare(self, ...) end

--- Which shape runs for these arguments, and why: {shape =, threads =, ..., text =}.
function RowKernel:explain(...)
  local call = read_call(self, ...)
  local p = plan_of(self, call, outcome.read(self, call, true))
  if not p then
    return { shape = "none", text = "a result without elements: nothing is launched" }
  end
  local text = ("%s: %s; vectors of %d, %d for each thread, %s in a block of %s"):format(p.shape,
    p.why, p.width, p.deep, plural(p.rows, "row"), plural(p.threads, "thread"))
  if p.group then text = text .. explain_groups(p) end
  return { shape = p.shape, threads = p.threads, lanes = p.lanes, rows = p.rows, parts = p.parts,
    width = p.width, deep = p.deep, text = text }
end

--- How many f32 the option `work` has to have for such a call, 0 if it needs no memory of its own.
function RowKernel:work(...)
  local call = read_call(self, ...)
  local p = plan_of(self, call, outcome.read(self, call, true))
  return p and work_for(p, blocks_of(p, call)) or 0
end

--- The CUDA C of the kernel for these arguments.
function RowKernel:source(...)
  local steps = prepare(self, ...)
  local step = steps[1]
  return step and step.kernel(step.launch):source(table.unpack(step.args))
end

local creation_options <const> = { tables = option_names.table, types = true }

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

local function check_name(name)
  if type(name) ~= "string" or not name:find "^[%a_][%w_]*$" then
    fail(op, "the name is '%s'; letters, digits and '_' were expected", tostring(name))
  end
end

local function check_function(f, which, want)
  if type(f) ~= "function" then
    fail(op, "%s is of type %s; expected a function %s of one element", which, tiles.type_name(f),
      want)
  end
end

-- The names of arguments that are tables, as keys.
local function tables_in(options, names)
  local is_table = {}
  for _, name in ipairs(options.tables or {}) do is_table[name] = true end
  for _, name in ipairs(names) do
    if is_table[name] then is_table[name] = "known" end
  end
  for name, known in pairs(is_table) do
    if known ~= "known" then
      fail(op, "option tables has '%s', but the arguments are %s", tostring(name),
        table.concat(names, ", "))
    end
  end
  return is_table
end

local function new(name, f, names, options)
  options = arguments.options(op, options, creation_options, "{types = {f16}}")
  return setmetatable({ name = name, f = f, names = names, types = types_in(options), kinds = {},
    made = {}, is_table = tables_in(options, names) }, row_type)
end

--- row_kernel([name, ]f[, options])
function M.row_kernel(name, f, options)
  if type(name) == "function" then name, f, options = "rows", name, f end
  check_function(f, "argument 2", "(row, x, ...)")
  check_name(name)
  return new(name, f, reader.names_of(op, f), options)
end

-- f(row, its n arguments), whose first result g gets in place of an element, with the arguments
-- that are left. g's results take its place.
local function composed(f, n, g)
  return function(row, ...)
    local given = { ... }
    local first = { f(row, table.unpack(given, 1, n)) }
    local all = { g(row, first[1], table.unpack(given, n + 1)) }
    for i = 2, #first do all[#all + 1] = first[i] end
    return table.unpack(all)
  end
end

--- A row_kernel that gives its first result to another function while it is in registers:
--- g(row, v, ...) with v in place of an element, and then arguments of its own. What g returns
--- takes the place of the first result.
function RowKernel:followed_by(name, g, options)
  if tiles.type_name(self) ~= "row_kernel" then
    fail(op, "a method was called with '.'; write ':', as in k:followed_by(name, g)")
  end
  check_name(name)
  if tiles.type_name(g) == "row_kernel" then g = g.f end
  check_function(g, "followed_by's argument 2", "(row, v, ...)")
  local names, more = table.move(self.names, 1, #self.names, 1, {}), reader.names_of(op, g)
  for i = 2, #more do
    for _, taken in ipairs(self.names) do
      if taken == more[i] then
        fail(op, "followed_by: '%s' is the name of an argument of both functions; give it another "
          .. "name in the second", taken)
      end
    end
    names[#names + 1] = more[i]
  end
  local made = new(name, composed(self.f, #self.names, g), names, options)
  for table_name in pairs(self.is_table) do made.is_table[table_name] = true end
  return made
end

return M
