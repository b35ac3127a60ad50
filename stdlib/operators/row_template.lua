-- row_template.lua: the kernel that row_kernel.lua launches. It calls the user's function for each
-- element of a row, and once more for each reduction: a call cannot go on from a reduction until
-- all elements of the row are in it. In pass n the first n - 1 reductions have their results, the
-- n-th one collects what it is given, and what follows it computes with numbers that nobody uses;
-- so it leaves no instruction. The last pass has all results and stores what the function returns.
-- A plan p is of row_plan.lua; beside it p.f is the function, p.inputs {{name, kind}, ...} what it
-- is given, and p.kinds and p.types say what it returns.
local internal = ...
local ahead = require "cuttle.row_ahead"
local methods = require "cuttle.row_methods"
local passes = require "cuttle.row_pass"
local reducer = require "cuttle.row_reduce"
local slots = require "cuttle.row_slots"
local M = {}

-- {====== Kernels ======

-- Where the thread stands in its row, whatever row that is.
local function new_thread(p)
  local thread = { lane = threadIdx.x, part = 0 }
  if p.rows > 1 then thread.lane = threadIdx.x % p.lanes end
  if p.is_flat then thread.part = blockIdx.x % p.parts
  elseif p.parts > 1 then thread.part = cluster_rank() end
  if p.parts > 1 and p.in_turns then thread.full = mbarrier(2 * reducer.EXCHANGES, 1) end
  return thread
end

-- The thread with its row in the blocks' turn, of which it is the block's count-th: a block has
-- p.rows of them, a cluster one.
local function in_row(p, thread, turn, count, given, n_rows, staged)
  local row, is_row = turn, true
  if p.rows * p.each > 1 then
    row = turn * p.rows + threadIdx.x // p.lanes
    is_row = row < n_rows
    row = min(row, n_rows - 1)
  end
  return { lane = thread.lane, part = thread.part, sums = thread.sums, waits = thread.waits,
    full = thread.full, n_exchanges = 0, turn = count, row = row, is_row = is_row,
    inputs = passes.open(p, given, row, staged, thread.kept) }
end

-- The launch may begin while the one before it ends. The next one may begin at once if blocks stay
-- until the end and leave room; else its blocks would take the places of blocks that have work.
local function begin_grid(p)
  if p.overlaps then grid_dependency_wait() end
  if p.overlaps and p.in_turns and not p.slots then grid_dependency_launch() end
end

-- For all rows at once. Its arguments are the inputs by name, the results r1, r2, ..., and the
-- number of rows. Tensors are (row, column), and (column) where all rows have the same.
local function make_direct(p)
  return kernel(p.name, function(given_, results, n_rows)
    local thread = new_thread(p)
    thread.waits = p.parts > 1 and not p.is_flat
    if thread.waits then cluster_arrive() end
    begin_grid(p)
    if p.ahead then ahead.row(p, given_, blockIdx.x, n_rows) end
    if p.each == 1 then
      return passes.do_row(p, in_row(p, thread, blockIdx.x // p.parts, 0, given_, n_rows), results)
    end
    local mine, begun, later = {}, {}, {}
    for i = 1, p.each do
      mine[i] = in_row(p, thread, blockIdx.x * p.each + i - 1, i - 1, given_, n_rows)
      mine[i].later = later
      begun[i] = passes.begin_row(p, mine[i])
    end
    for i = 1, p.each do passes.end_row(p, mine[i], begun[i], results) end
    for _, store in ipairs(later) do store() end
  end, p.min_blocks and { min_blocks = p.min_blocks })
end

-- Blocks take rows in turns; sums of columns are kept until the last one.
local function make_turns(p)
  return kernel(p.name, function(given_, results, n_rows)
    local thread = new_thread(p)
    thread.sums = passes.new_columns(p)
    if p.parts > 1 then sync_cluster() end
    begin_grid(p)
    local n_turns, turn = cdiv(n_rows, p.rows), blockIdx.x // p.parts
    local count = 0
    while turn < n_turns do
      passes.do_row(p, in_row(p, thread, turn, count, given_, n_rows), results)
      turn, count = turn + gridDim.x // p.parts, count + 1
    end
    passes.store_columns(p, thread, results)
  end)
end

-- {====== Rows in slots of shared memory ======

local function make_resident(p)
  return kernel(p.name, function(given_, results, n_rows)
    local thread = new_thread(p)
    local ring = slots.new(p, given_)
    thread.ring = ring
    if p.parts > 1 then sync_cluster() end
    begin_grid(p)
    thread.kept = passes.keep_columns(p, thread, given_)
    local turn, count, step = blockIdx.x // p.parts, 0, gridDim.x // p.parts
    local function row_at(k) return min(turn + k * step, n_rows - 1), turn + k * step < n_rows end
    slots.begin(p, thread, given_, row_at)
    while turn < n_rows do
      local now = in_row(p, thread, turn, count, given_, n_rows)
      now.ring, now.waits_for_slots = ring, true
      now.next = { given = given_, row_at = row_at }
      if p.ahead then ahead.slots(p, now, given_, row_at) end
      passes.do_row(p, now, results)
      ring.first = slots.next_first(p, ring)
      turn, count = turn + step, count + 1
    end
  end, p.min_blocks and { min_blocks = p.min_blocks })
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

-- The block's part of what all rows have, in shared memory: of each input, by its number.
local function bring_columns(p, thread, given)
  local columns, part = {}, p.columns // p.parts
  for i, input in ipairs(p.inputs) do
    if input.kind == "columns" and p.keeps_columns then
      local from = given[input.name]
      columns[i] = shared(from.dtype, part)
      for v in range(threadIdx.x, part // p.width, p.threads) do
        local now = fragment(from.dtype, p.width)
        copy(tile(from, { p.width }, { thread.part * (part // p.width) + v }), now)
        copy(now, tile(columns[i], { p.width }, { v }))
      end
    end
  end
  return columns
end

-- The block's part of a row in a slot.
local function staged_in(p, ring, slot)
  local staged = table.move(ring.columns, 1, #p.inputs, 1, {})
  for i, s in pairs(ring.slots) do
    staged[i] = view(s(_, _, slot), layout(p.box * p.boxes))
  end
  return staged
end

local function make_staged(p)
  return kernel(p.name, function(given_, boxes, results, n_rows)
    local thread, ring = new_thread(p), make_ring(p, boxes)
    thread.sums = passes.new_columns(p)
    begin_grid(p)
    ring.columns = bring_columns(p, thread, given_)
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
      passes.do_row(p, in_row(p, thread, turn, count, given_, n_rows,
        staged_in(p, ring, state.slot)), results)
      fence_proxy_async()
      sync_threads() -- all have read the slot
      local next = turn + p.stages * step
      if threadIdx.x == 0 and next < n_rows then fetch(ring, thread, next, state.slot) end
      state:advance()
      turn, count = turn + step, count + 1
    end
    passes.store_columns(p, thread, results)
  end)
end

-- {====== Choice ======

--- The kernel of a plan.
function M.make(p)
  if p.stages then return make_staged(p) end
  if p.slots then return make_resident(p) end
  return p.in_turns and make_turns(p) or make_direct(p)
end

--- A kernel that is traced, not launched: note(kinds, types, n, groups, sizes, by_result) gets what
--- the function returns, "elements", "once", "column" or "group" and the type of each; how many
--- reductions it has; the sizes of groups that are reduced, and of those that are stored, also by
--- result.
function M.probe(p, note)
  return kernel(p.name .. "_probe", function(given_)
    local thread = in_row(p, new_thread(p), blockIdx.x, 0, given_, 1)
    local row, returned = passes.call_first(p, thread, {})
    local kinds, types, groups, by_result = {}, {}, {}, {}
    local swap = 0
    for i, found in ipairs(row.groups) do
      groups[i] = found.n
      swap = found.kind == "swap" and swap and math.max(swap, found.n) or nil
    end
    for i = 1, #returned do
      local value = returned[i]
      kinds[i] = passes.kind_of(value)
      if kinds[i] == "group" then by_result[i] = value.n end
      if kinds[i] ~= "elements" then value = value[kinds[i]] end
      value = methods.storable(value, ("value %d that the function returns"):format(i))
      types[i] = internal.kernel.dtype_of(value)
    end
    local n = 0
    for _, found in ipairs(row.found) do n = n + (found.second and 2 or 1) end -- of two steps
    local at_once, keeps = false, false
    local reads_once = #row.found == 1 and n == 1 and not row.found[1].is_draw
    for _, found in ipairs(row.found) do
      at_once, keeps = at_once or found.add_vector ~= nil, keeps or found.keeps
    end
    for _, kind in ipairs(kinds) do reads_once = reads_once and kind == "once" end
    note(kinds, types, n, groups, row.sizes, by_result, { swap = swap or 0, at_once = at_once,
      keeps = keeps, reads_once = reads_once })
  end)
end

-- Partial sums (row, column) to sums (column) and, of the columns behind those, to `more`, nil:
-- there are none; always in the same order.
M.add_columns = kernel("add_columns", function(partial, sums, more)
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
  if lane == 0 then
    if at < size(sums) then
      sums[at] = cast(total, sums.dtype)
    elseif more and at < size(partial, 1) then
      more[at - size(sums)] = cast(total, more.dtype)
    end
  end
end)

return M
