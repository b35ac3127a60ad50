-- row_template.lua: the kernel that row_kernel.lua launches. It calls the user's function for each
-- element of a row, and once more for each reduction: a call cannot go on from a reduction until
-- all elements of the row are in it. In pass n the first n - 1 reductions have their results, the
-- n-th one collects what it is given, and what follows it computes with numbers that nobody uses;
-- so it leaves no instruction. The last pass has all results and stores what the function returns.
-- A plan p is of row_plan.lua; beside it p.f is the function, p.inputs {{name, kind}, ...} what it
-- is given, and p.kinds and p.types say what it returns.
local internal = ...
local tiles = require "cuttle.tiles"
local M = {}

local op <const> = "row_kernel"

local function fail(format, ...) tiles.fail(op, format, ...) end

-- {====== What the function is given first: the row ======

local Row = {}
Row.__index = Row

local function widened(list)
  local out = {}
  for i, v in ipairs(list) do out[i] = internal.kernel.widened(v) end
  return out
end

local function check_row(row)
  if type(row) == "table" and getmetatable(row) == Row then return end
  fail("a method of the row was called with '.'; write ':', as in row:sum(x)")
end

-- A value that can be stored, in the type that arithmetic has it in.
local function storable(value, what)
  local kind = tiles.type_name(value)
  if kind == "number" or kind == "boolean" then return internal.kernel.widened(value) end
  fail("%s is of type %s; expected a number", what, kind)
end

-- What counts calls is known while tracing, except under a run-time condition.
local function check_reached(count, what)
  if internal.kernel.is_static(count) then return end
  fail("%s under a run-time condition or in a run-time loop: all threads of a row must reach it "
    .. "alike; call it before, and choose with where(condition, a, b)", what)
end

-- The results of the next reduction, or what was given where they are not known yet.
local function reduction(row, kind, values, combine, init)
  check_row(row)
  row.seen = row.seen + 1
  check_reached(row.seen, "a reduction")
  if #values == 0 or values[1] == nil then fail("a reduction without values, as in row:sum()") end
  local known = row.known[row.seen]
  if known then return table.unpack(known) end
  values = type(values[1]) == "table" and values or widened(values)
  row.found[row.seen] = { kind = kind, values = values, combine = combine, init = init }
  return table.unpack(values)
end

function Row:sum(...) return reduction(self, "add", { ... }) end

function Row:max(...) return reduction(self, "max", { ... }) end

function Row:min(...) return reduction(self, "min", { ... }) end

function Row:mean(...)
  local sums = { self:sum(...) }
  for i, sum in ipairs(sums) do sums[i] = sum * (1.0 / self.n_columns) end
  return table.unpack(sums)
end

function Row:reduce(value, combine, init)
  if type(combine) ~= "function" then
    fail("row:reduce's argument 2 is of type %s; expected a function of two values, as in "
      .. "row:reduce(v, function(a, b) return a * b end, 1.0)", tiles.type_name(combine))
  elseif init == nil then
    fail("row:reduce's argument 3 is missing; expected the value that changes no other, such as "
      .. "0.0 for a sum")
  end
  return reduction(self, "by function", { value }, combine, init)
end

-- The least finite number: below what is added, and exp(lowest - lowest) is no NaN.
local function least_finite(dtype)
  return cast(dtype == f64 and -0x1.fffffffffffffp+1023 or -0x1.fffffep+127, dtype)
end

-- exp(v), the fast one if all elements of the row's inputs are narrow.
function Row:exp(v)
  if self.is_narrow then return fast.exp(v) end
  return exp(v)
end

-- The maximum m and the sum of exp(v - m): one after the other if the row is in registers, else in
-- one pass, in which the sum is scaled whenever the maximum grows.
function Row:max_and_sum_exp(value)
  local v = internal.kernel.widened(value)
  local dtype = internal.kernel.dtype_of(v)
  if dtype ~= f32 and dtype ~= f64 then v, dtype = cast(v, f32), f32 end
  local lowest = least_finite(dtype)
  if self.holds then
    local top = max(self:max(v), lowest)
    return top, self:sum(self:exp(v - top))
  end
  local both = self:reduce({ top = v, sum = cast(1, dtype) }, function(a, b)
    local top = max(a.top, b.top)
    return { top = top,
      sum = a.sum * self:exp(a.top - top) + b.sum * self:exp(b.top - top) }
  end, { top = lowest, sum = cast(0, dtype) })
  return both.top, both.sum
end

-- The element of the named input in that column of the row.
function Row:at(name, column)
  if type(name) ~= "string" then
    fail("row:at's argument 1 is of type %s; expected an argument's name, as in row:at(\"x\", "
      .. "column)", tiles.type_name(name))
  end
  for i, input in ipairs(self.names) do
    if input.name == name then
      if input.kind == "number" or input.kind == "of row" then return self.inputs[i].value end
      if self.note_at then self.note_at(name) end
      return self.inputs[i].slice[column]
    end
  end
  fail("row:at: there is no argument '%s'", name)
end

-- That an argument has one value for each row, or for all; of the rows that there are, not of the
-- two columns that a probe has.
function Row:expect_once(name)
  for _, input in ipairs(self.names) do
    local is_wide = input.kind == "elements" or input.kind == "columns"
    if input.name == name and is_wide and self.n_columns > 1 and not self.note_at then
      fail("%s has a value for each column; expected one for each row, of the shape (..., 1)", name)
    end
  end
end

function Row:length() return self.n_columns end

function Row:column() return self.at_column end

function Row:index() return self.at_row end

function Row.column_sum(_, value)
  return { column = storable(value, "row:column_sum's argument") }
end

function Row.once(_, value) return { once = storable(value, "row:once's argument") } end

-- A value for the passes from here on: computed in the first of them, then kept in registers.
function Row:keep(value)
  check_row(self)
  self.kept = self.kept + 1
  check_reached(self.kept, "row:keep")
  local wide = internal.kernel.widened(value)
  return self.keeper and self.keeper(wide, self.kept, self.seen) or wide
end

-- {====== Reductions ======

local combine_of = {
  add = function(a, b) return a + b end,
  max = function(a, b) return max(a, b) end,
  min = function(a, b) return min(a, b) end,
}

local function lowest_of(dtype)
  if dtype == f32 or dtype == f64 then return -math.huge end
  return dtype == i32 and math.mininteger >> 32 | -1 << 31 or dtype == i64 and math.mininteger or 0
end

local function highest_of(dtype)
  if dtype == f32 or dtype == f64 then return math.huge end
  if dtype == u64 then return -1 end -- all bits
  return dtype == i32 and 0x7fffffff or dtype == u32 and 0xffffffff or math.maxinteger
end

--- What row:max of such a value begins with.
function M.lowest(value)
  local dtype = internal.kernel.dtype_of(value)
  return cast(lowest_of(dtype), dtype)
end

local identity_of = {
  add = function(dtype) return cast(0, dtype) end,
  max = function(dtype) return cast(lowest_of(dtype), dtype) end,
  min = function(dtype) return cast(highest_of(dtype), dtype) end,
}

-- How two values of the reduction's list become one, and what changes none of them.
local function operation(found, i)
  if found.combine then return found.combine, found.init end
  local dtype = internal.kernel.dtype_of(found.values[i])
  return combine_of[found.kind], identity_of[found.kind](dtype)
end

local CHAINS <const> = 4 -- sums of a thread that do not wait for each other

local function new_sums(found, width)
  local chains = {}
  for c = 1, found.combine and 1 or min(width, CHAINS) do
    chains[c] = {}
    for i in ipairs(found.values) do
      local _, init = operation(found, i)
      chains[c][i] = init
    end
  end
  return chains
end

local function add_to(chains, found, e)
  local chain = chains[e % #chains + 1]
  for i, v in ipairs(found.values) do
    local combine = operation(found, i)
    chain[i] = combine(chain[i], v)
  end
end

-- One value of each, of the thread.
local function join(chains, found)
  local sums = chains[1]
  for c = 2, #chains do
    for i in ipairs(found.values) do
      local combine = operation(found, i)
      sums[i] = combine(sums[i], chains[c][i])
    end
  end
  return sums
end

-- {====== Over threads, warps and blocks ======

local WARP <const> = 32

local function is_record(v) return type(v) == "table" and getmetatable(v) == nil end

-- f("value", v) of a number, or f(key, field) of each field of a record.
local function map(v, f)
  if not is_record(v) then return f("value", v) end
  local out = {}
  for key, field in pairs(v) do out[key] = f(key, field) end
  return out
end

-- The values of n places as one, in every thread; each warp combines them in the same order.
local function combine_places(read, n, combine, by)
  local lane, width = threadIdx.x % WARP, min(n, WARP)
  local sum = read(lane % width)
  for at = WARP, n - 1, WARP do sum = combine(sum, read(lane + at)) end
  return warp_reduce(sum, by, width)
end

-- Each of n places gets a value, all threads get what they combine to. `put(slots, turn, field)`
-- writes a value to its place; the places of even and of odd turns differ, so nobody waits until
-- all have read. `meet` waits until all places have theirs.
local function exchange(thread, found, values, n, put, meet)
  local by, all, turn = found.combine or found.kind, {}, thread.turn % 2
  for i, v in ipairs(values) do
    all[i] = {}
    map(v, function(key, field)
      all[i][key] = shared(internal.kernel.dtype_of(field), { n, 2 })
      put(all[i][key], turn, field)
      return field
    end)
  end
  meet()
  local out = {}
  for i, v in ipairs(values) do
    local function read(at)
      return map(v, function(key) return all[i][key][{ at, turn }] end)
    end
    out[i] = combine_places(read, n, operation(found, i), by)
  end
  return out
end

-- The reduction's values over all threads of the row: of warps, of the block, of the cluster.
local function over_row(p, thread, sums, found)
  if p.lanes == 1 then return sums end
  local by, values = found.combine or found.kind, {}
  for i, v in ipairs(sums) do values[i] = warp_reduce(v, by, min(p.lanes, WARP)) end
  if p.lanes > WARP then
    values = exchange(thread, found, values, p.lanes // WARP, function(slots, turn, field)
      if threadIdx.x % WARP == 0 then slots[{ threadIdx.x // WARP, turn }] = field end
    end, sync_threads)
  end
  if p.parts == 1 then return values end
  return exchange(thread, found, values, p.parts, function(slots, turn, field)
    if threadIdx.x < p.parts then
      map_shared_rank(slots, threadIdx.x)[{ thread.part, turn }] = field
    end
  end, sync_cluster)
end

-- {====== Elements ======

-- body(j, v): vector v of the row is the thread's j-th one.
local function each_vector(p, thread, body)
  local first = thread.part * (p.deep * p.lanes) + thread.lane
  local full = p.is_whole and p.deep or p.parts == 1 and p.vectors // p.lanes or 0
  if full > 0 and (p.keeps or p.holds) then
    for j in range(full) do body(j, first + j * p.lanes) end
  elseif full > 0 then
    for j in range(0, full, { unroll = 4 }) do body(j, first + j * p.lanes) end
  end
  if full == p.deep then return end
  for j in range(full, p.deep) do
    local v = first + j * p.lanes
    if v < p.vectors then body(j, v) end
  end
end

local function vector(t, p, v) return tile(t, { p.width }, { v }) end

-- Each input of the row: slices of tensors, fragments that hold the thread's part, or values.
-- `staged`: parts of rows in shared memory, by the input's number.
local function open(p, given, row, staged)
  local inputs = {}
  for i, input in ipairs(p.inputs) do
    local t = given[input.name]
    local x = { kind = input.kind, staged = staged and staged[i] }
    if input.kind == "number" then
      x.value = t
    elseif input.kind == "of row" then
      x.value = t[{ row, 0 }]
    elseif input.kind == "columns" then
      x.slice = t
    else
      x.slice = t(row, _)
      if p.holds then x.held = fragment(t.dtype, { p.width, p.deep }) end
      if p.spares then clear(x.held) end
    end
    inputs[i] = x
  end
  return inputs
end

local function load(p, thread)
  each_vector(p, thread, function(j, v)
    for i = 1, #thread.inputs do
      local x = thread.inputs[i]
      if x.held and not p.spares then
        copy(vector(x.slice, p, v), x.held(_, j))
      elseif x.held then
        if thread.is_row then copy(vector(x.slice, p, v), x.held(_, j)) end
      end
    end
  end)
end

-- The vectors of a pass: what is not held is read.
local function vectors_of(p, thread, j, v)
  local now = {}
  for i, x in ipairs(thread.inputs) do
    if x.held then
      now[i] = x.held(_, j)
    elseif x.staged then
      now[i] = fragment(x.staged.dtype, p.width)
      copy(vector(x.staged, p, thread.lane + j * p.lanes), now[i])
    elseif x.slice then
      now[i] = fragment(x.slice.dtype, p.width)
      copy(vector(x.slice, p, v), now[i])
    end
  end
  return now
end

local function values_of(inputs, now, e)
  local values = {}
  for i, x in ipairs(inputs) do
    if now[i] then values[i] = now[i][e] else values[i] = x.value end
  end
  return values
end

-- {====== Passes ======

-- What one call of the function found and returned.
local function call(p, thread, known, column, values, keeper)
  local row = setmetatable({ known = known, found = {}, seen = 0, kept = 0, keeper = keeper,
    holds = p.holds or p.stages, is_narrow = p.is_narrow, n_columns = p.columns,
    at_row = thread.row, at_column = column, names = p.inputs, inputs = thread.inputs,
    note_at = p.note_at }, Row)
  return row, { p.f(row, table.unpack(values, 1, #p.inputs)) }
end

-- A call at the row's first element, to learn what the function does, or returns for the row.
local function call_first(p, thread, known, keeper)
  local values = {}
  for i, x in ipairs(thread.inputs) do
    if x.slice then values[i] = x.slice[0] else values[i] = x.value end
  end
  return call(p, thread, known, 0, values, keeper)
end

-- body(calls, j, v) for each vector v of the thread, its j-th: calls.rows and calls.returned are
-- lists, from 0 on, of its elements.
local function each_call(p, thread, known, kept, body)
  each_vector(p, thread, function(j, v)
    local now = vectors_of(p, thread, j, v)
    local calls = { rows = {}, returned = {} }
    for e = 0, p.width - 1 do
      calls.rows[e], calls.returned[e] = call(p, thread, known, v * p.width + e,
        values_of(thread.inputs, now, e),
        function(value, number, pass)
          local at = kept[number]
          if at == nil or pass > #known then return value end
          if pass < #known then return at[{ e, j }] end
          at[{ e, j }] = value
          return value
        end)
    end
    body(calls, j, v)
  end)
end

-- The results of the next reduction.
local function reduce_pass(p, thread, known, kept, found)
  local chains = new_sums(found, p.width)
  each_call(p, thread, known, kept, function(calls)
    for e = 0, p.width - 1 do add_to(chains, calls.rows[e].found[#known + 1], e) end
  end)
  return over_row(p, thread, join(chains, found), found)
end

-- "elements", "once" or "column", for a value that the function returned.
local function kind_of(v)
  if type(v) ~= "table" or getmetatable(v) ~= nil then return "elements" end
  if v.once == nil and v.column == nil then return "elements" end
  return v.once ~= nil and "once" or "column"
end

local function store_vector(p, thread, to, v, value_of)
  local first = internal.kernel.widened(value_of(0))
  local r = fragment(internal.kernel.dtype_of(first), p.width)
  r[0] = first
  for e = 1, p.width - 1 do r[e] = internal.kernel.widened(value_of(e)) end
  local stored = r.dtype == to.dtype and r or cast(r, to.dtype)
  if thread.is_row then copy(stored, vector(to(thread.row, _), p, v)) end
end

local function add_columns(p, thread, sum, j, value_of)
  for e = 0, p.width - 1 do
    local more = value_of(e).column
    sum[{ e, j }] = sum[{ e, j }] + where(thread.is_row, more, cast(0, sum.dtype))
  end
end

-- The last pass: elements are stored, and added to the thread's sums of columns.
local function store_pass(p, thread, known, kept, results)
  each_call(p, thread, known, kept, function(calls, j, v)
    for i = 1, #calls.returned[0] do
      local kind = kind_of(calls.returned[0][i])
      local function value_of(e) return calls.returned[e][i] end
      if kind == "elements" then
        store_vector(p, thread, results["r" .. i], v, value_of)
      elseif kind == "column" then
        add_columns(p, thread, thread.sums[i], j, value_of)
      end
    end
  end)
end

local function store_once(thread, returned, results)
  local is_first = thread.is_row and thread.lane == 0 and thread.part == 0
  for i, value in ipairs(returned) do
    if kind_of(value) == "once" then
      local to = results["r" .. i]
      if is_first then to[{ thread.row, 0 }] = cast(value.once, to.dtype) end
    end
  end
end

local function has_pass(returned)
  for i = 1, #returned do
    if kind_of(returned[i]) ~= "once" then return true end
  end
  return false
end

-- What the function returns was found when it was first called for such arguments.
local function check_kinds(p, returned)
  local is_same = #returned == #p.kinds
  for i = 1, is_same and #returned or 0 do
    is_same = is_same and kind_of(returned[i]) == p.kinds[i]
  end
  if is_same then return end
  fail("%s returns %d values, other ones than when it was first called for such arguments (%d); "
    .. "make one row_kernel for each", p.name, #returned, #p.kinds)
end

local function do_row(p, thread, results)
  if p.holds then load(p, thread) end
  local kept, known = {}, {}
  local row = call_first(p, thread, known, function(value, number)
    if p.keeps then
      kept[number] = fragment(internal.kernel.dtype_of(value), { p.width, p.deep })
    end
    return value
  end)
  if thread.waits then cluster_wait() end
  for n, found in ipairs(row.found) do known[n] = reduce_pass(p, thread, known, kept, found) end
  local returned = select(2, call_first(p, thread, known))
  check_kinds(p, returned)
  if has_pass(returned) then store_pass(p, thread, known, kept, results) end
  store_once(thread, returned, results)
end

-- {====== Sums of columns ======

local function new_columns(p)
  local sums = {}
  for i, kind in ipairs(p.kinds) do
    if kind == "column" then
      sums[i] = fragment(p.types[i], { p.width, p.deep })
      clear(sums[i])
    end
  end
  return sums
end

-- The sums of a block with several rows, through shared memory.
local function store_rows_together(p, thread, sum, to)
  local all, row = shared(to.dtype, { p.columns, p.rows }), threadIdx.x // p.lanes
  each_vector(p, thread, function(j, v) copy(sum(_, j), vector(all(_, row), p, v)) end)
  sync_threads()
  for v in range(threadIdx.x, p.vectors, p.threads) do
    local total, more = fragment(to.dtype, p.width), fragment(to.dtype, p.width)
    copy(vector(all(_, 0), p, v), total)
    for r = 1, p.rows - 1 do
      copy(vector(all(_, r), p, v), more)
      for e = 0, p.width - 1 do total[e] = total[e] + more[e] end
    end
    copy(total, vector(to, p, v))
  end
end

-- The block's sums: a row of the partial sums.
local function store_columns(p, thread, results)
  for i, sum in pairs(thread.sums) do
    local to = results["r" .. i](blockIdx.x // p.parts, _)
    if p.rows > 1 then
      store_rows_together(p, thread, sum, to)
    else
      each_vector(p, thread, function(j, v) copy(sum(_, j), vector(to, p, v)) end)
    end
  end
end

-- {====== Kernels ======

-- Where the thread stands in its row, whatever row that is.
local function new_thread(p)
  local thread = { lane = threadIdx.x, part = 0 }
  if p.rows > 1 then thread.lane = threadIdx.x % p.lanes end
  if p.is_flat then thread.part = blockIdx.x % p.parts
  elseif p.parts > 1 then thread.part = cluster_rank() end
  return thread
end

-- The thread with its row in the blocks' turn, of which it is the block's count-th: a block has
-- p.rows of them, a cluster one.
local function in_row(p, thread, turn, count, given, n_rows, staged)
  local row, is_row = turn, true
  if p.rows > 1 then
    row = turn * p.rows + threadIdx.x // p.lanes
    is_row = row < n_rows
    row = min(row, n_rows - 1)
  end
  return { lane = thread.lane, part = thread.part, sums = thread.sums, waits = thread.waits,
    turn = count, row = row, is_row = is_row, inputs = open(p, given, row, staged) }
end

-- For all rows at once. Its arguments are the inputs by name, the results r1, r2, ..., and the
-- number of rows. Tensors are (row, column), and (column) where all rows have the same.
local function make_direct(p)
  return kernel(p.name, function(given, results, n_rows)
    local thread = new_thread(p)
    thread.waits = p.parts > 1 and not p.is_flat
    if thread.waits then cluster_arrive() end
    do_row(p, in_row(p, thread, blockIdx.x // p.parts, 0, given, n_rows), results)
  end)
end

-- Blocks take rows in turns; sums of columns are kept until the last one.
local function make_turns(p)
  return kernel(p.name, function(given, results, n_rows)
    local thread = new_thread(p)
    thread.sums = new_columns(p)
    if p.parts > 1 then sync_cluster() end
    local n_turns, turn = cdiv(n_rows, p.rows), blockIdx.x // p.parts
    local count = 0
    while turn < n_turns do
      do_row(p, in_row(p, thread, turn, count, given, n_rows), results)
      turn, count = turn + gridDim.x // p.parts, count + 1
    end
    store_columns(p, thread, results)
  end)
end

-- {====== Rows that come by TMA ======
-- A ring of p.stages slots has the block's parts of the rows of its next turns.

-- The boxes of an input's parts of rows, (p.box, boxes of a part), by part and row.
local function boxes_of(p, boxes, name)
  return tile(tma_tensor(boxes[name]), { p.box, p.boxes, 1 }, { 0, _, _ })
end

local function fetch(ring, thread, turn, slot)
  local full = ring.full[slot]
  full:arrive_expect_tx(ring.bytes)
  for i, s in pairs(ring.slots) do
    tma_load(ring.boxes[i](_, _, 0, thread.part, turn), s(_, _, slot), full)
  end
end

local function make_ring(p, boxes)
  local ring = { full = mbarrier(p.stages, 1), slots = {}, boxes = {}, bytes = 0 }
  for i, input in ipairs(p.inputs) do
    if input.kind == "elements" then
      local dtype = boxes[input.name].dtype
      ring.slots[i] = shared(dtype, { p.box, p.boxes, p.stages })
      ring.boxes[i] = boxes_of(p, boxes, input.name)
      ring.bytes = ring.bytes + p.box * p.boxes * dtype.bytes
    end
  end
  return ring
end

local function make_staged(p)
  return kernel(p.name, function(given, boxes, results, n_rows)
    local thread, ring = new_thread(p), make_ring(p, boxes)
    thread.sums = new_columns(p)
    if p.parts > 1 then sync_cluster() else sync_threads() end
    local turn, step = blockIdx.x // p.parts, gridDim.x // p.parts
    if threadIdx.x == 0 then
      for slot = 0, p.stages - 1 do
        if turn + slot * step < n_rows then fetch(ring, thread, turn + slot * step, slot) end
      end
    end
    local state, count = pipeline_state(p.stages), 0
    while turn < n_rows do
      ring.full[state.slot]:wait(state.parity)
      local staged = {}
      for i, s in pairs(ring.slots) do
        staged[i] = view(s(_, _, state.slot), layout(p.box * p.boxes))
      end
      do_row(p, in_row(p, thread, turn, count, given, n_rows, staged), results)
      sync_threads() -- all have read the slot
      local next = turn + p.stages * step
      if threadIdx.x == 0 and next < n_rows then fetch(ring, thread, next, state.slot) end
      state:advance()
      turn, count = turn + step, count + 1
    end
    store_columns(p, thread, results)
  end)
end

-- {====== Choice ======

--- The kernel of a plan.
function M.make(p)
  if p.stages then return make_staged(p) end
  return p.in_turns and make_turns(p) or make_direct(p)
end

--- A kernel that is traced, not launched: note(kinds, types, n) gets what the function returns,
--- "elements", "once" or "column" and the type of each, and how many reductions it has.
function M.probe(p, note)
  return kernel(p.name .. "_probe", function(given)
    local thread = in_row(p, new_thread(p), blockIdx.x, 0, given, 1)
    local row, returned = call_first(p, thread, {})
    local kinds, types = {}, {}
    for i = 1, #returned do
      local value = returned[i]
      kinds[i] = kind_of(value)
      if kinds[i] ~= "elements" then value = value[kinds[i]] end
      value = storable(value, ("value %d that the function returns"):format(i))
      types[i] = internal.kernel.dtype_of(value)
    end
    note(kinds, types, #row.found)
  end)
end

-- Partial sums (row, column) to sums (column), always in the same order.
M.add_columns = kernel("add_columns", function(partial, sums)
  local lane, row = threadIdx.x % 32, threadIdx.x // 32
  local column = blockIdx.x * 32 + lane
  local total, all = cast(0, partial.dtype), shared(partial.dtype, row_major { 32, 33 })
  grid_dependency_wait()
  if column < size(partial, 1) then
    for r in range(row, size(partial, 0), 32, { unroll = 8 }) do
      total = total + partial[{ r, column }]
    end
  end
  all[{ lane, row }] = total
  sync_threads()
  total = warp_reduce(all[{ row, lane }], "add")
  local at = blockIdx.x * 32 + row
  if lane == 0 and at < size(sums) then sums[at] = cast(total, sums.dtype) end
end)

return M
