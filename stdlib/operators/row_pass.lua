-- row_pass.lua: the passes of a row_kernel over a thread's part of a row. Each calls the function
-- for all elements: one for each reduction, and a last one that stores what the function returns.
local internal = ...
local anew = require "cuttle.row_anew"
local methods = require "cuttle.row_methods"
local reducer = require "cuttle.row_reduce"
local slots = require "cuttle.row_slots"
local tiles = require "cuttle.tiles"
local M = {}

local op <const>, WARP <const> = "row_kernel", 32

local function fail(format, ...) tiles.fail(op, format, ...) end

-- {====== Elements ======

-- The same of a thread with slots: `waits_for_slots`: the pass is the row's first.
local function each_slot(p, thread, body, together)
  for j = 0, p.deep - 1 do
    local v = slots.number_of(p, thread, j)
    if thread.waits_for_slots then slots.wait(p, j, thread.is_last_pass) end
    if p.is_whole or p.parts == 1 and j < p.vectors // p.lanes then
      body(j, v, together and together(j, v, true))
    elseif v < p.vectors then
      body(j, v)
    end
    if thread.is_last_pass then slots.refill(p, thread, j) end
  end
  thread.waits_for_slots = false
end

-- body(j, v, found): vector v of the row is the thread's j-th one. `together(j, v, is_in)`, if it
-- is given, comes first, and all lanes of a warp reach it at once. Those behind the row have the
-- number of its last vector, which is not theirs to read: is_in is false. It returns `found`.
local function each_vector(p, thread, body, together)
  local first = thread.part * (p.deep * p.lanes) + thread.lane
  if p.slots then return each_slot(p, thread, body, together) end
  local inside = body
  if together then inside = function(j, v) body(j, v, together(j, v, true)) end end
  local full = p.is_whole and p.deep or p.parts == 1 and p.vectors // p.lanes or 0
  if full > 0 and (p.swap or p.each > 1) then
    for j = 0, full - 1 do inside(j, first + j * p.lanes) end
  elseif full > 0 and (p.keeps or p.holds) then
    for j in range(full) do inside(j, first + j * p.lanes) end
  elseif full > 0 then
    for j in range(0, full, { unroll = p.unroll or 4 }) do inside(j, first + j * p.lanes) end
  end
  if full == p.deep then return end
  for j in range(full, p.deep) do
    local v = first + j * p.lanes
    if together then
      local is_in = v < p.vectors
      local found = together(j, min(v, p.vectors - 1), is_in)
      if is_in then body(j, v, found) end
    elseif v < p.vectors then
      body(j, v)
    end
  end
end

local function vector(t, p, v) return tile(t, { p.width }, { v }) end

-- Each input of the row: slices of tensors, fragments that hold the thread's part, or values.
-- `staged`: parts of rows in shared memory, by the input's number; `kept`: fragments with the
-- thread's part of what all rows have.
function M.open(p, given, row, staged, kept)
  local inputs = {}
  for i, input in ipairs(p.inputs) do
    local t = given[input.name]
    local x = { kind = input.kind, staged = staged and staged[i], kept = kept and kept[i] }
    if input.kind == "number" or input.kind == "table" then
      x.value = t
    elseif input.kind == "of row" then
      x.value = t[{ row, 0 }]
    elseif input.kind == "columns" then
      x.slice = t -- of which x.staged may have the block's part
    else
      x.slice, x.is_in_slots = t(row, _), p.slots ~= nil
      if p.holds then x.held = fragment(t.dtype, { p.width, p.deep }) end
      if x.held and (p.spares or p.group and not p.is_whole) then clear(x.held) end
    end
    inputs[i] = x
  end
  return inputs
end

--- The thread's part of what all rows have, in registers, by the input's number.
function M.keep_columns(p, thread, given)
  local kept = {}
  for i, input in ipairs(p.inputs) do
    if input.kind == "columns" and p.keeps_columns then
      local from = given[input.name]
      kept[i] = fragment(from.dtype, { p.width, p.deep })
      for j = 0, p.deep - 1 do
        copy(vector(from, p, slots.number_of(p, thread, j)), kept[i](_, j))
      end
    end
  end
  return kept
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

-- A new fragment with the vector, zeros if is_in is false.
local function read(p, from, v, is_in)
  local now = fragment(from.dtype, p.width)
  if is_in ~= true then clear(now) end
  if is_in then copy(vector(from, p, v), now) end
  return now
end

-- The vectors of a pass: what is not held is read.
local function vectors_of(p, thread, j, v, is_in)
  local now = {}
  for i, x in ipairs(thread.inputs) do
    if x.held and p.widens and thread.n_passes % 2 == 0 then
      now[i] = anew.widened(p, x.held(_, j))
    elseif x.held then
      now[i] = p.reads_anew and anew.words(p, x.held(_, j)) or x.held(_, j)
    elseif x.kept then
      now[i] = anew.words(p, x.kept(_, j))
    elseif x.is_in_slots then
      now[i] = slots.read(p, thread.ring, i, j)
    elseif x.staged then
      now[i] = read(p, x.staged, thread.lane + j * p.lanes, is_in)
    elseif x.slice then
      now[i] = read(p, x.slice, v, is_in)
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
local function call(p, thread, known, column, values, keeper, groups, place)
  local row = methods.new(p, thread, known, column, keeper, groups, place)
  return row, { p.f(row, table.unpack(values, 1, #p.inputs)) }
end

-- A call at the row's first element, to learn what the function does, or returns for the row.
function M.call_first(p, thread, known, keeper)
  local values = {}
  for i, x in ipairs(thread.inputs) do
    if x.slice then values[i] = x.slice[0] else values[i] = x.value end
  end
  return call(p, thread, known, 0, values, keeper)
end

-- What row:keep does in a pass: it stores a value when the pass is the value's first one.
local function keeper_for(kept, known, e, j, stores)
  return function(value, number, pass)
    local at = kept[number]
    if at == nil or pass > #known then return value end
    if pass < #known then return at[{ e, j }] end
    if stores then at[{ e, j }] = value end
    return value
  end
end

-- The function called for each element of a vector: its rows and what they returned, from 0 on.
local function call_vector(p, thread, known, kept, at, groups, stores)
  local calls = { rows = {}, returned = {} }
  for e = 0, p.width - 1 do
    local mine = {}
    for n, by_element in ipairs(groups) do mine[n] = by_element[e] end
    calls.rows[e], calls.returned[e] = call(p, thread, known, at.v * p.width + e,
      values_of(thread.inputs, at.now, e), keeper_for(kept, known, e, at.j, stores), mine,
      { element = e, width = p.width, words = p.width % 4 == 0 and at.words or nil, j = at.j,
        kept = thread.powers })
  end
  return calls
end

local function check_size(p, found)
  if found.n <= (p.swap or p.width * WARP) then return end
  fail("%s has groups of %d columns, other ones than when it was first called for such arguments; "
    .. "make one row_kernel for each", p.name, found.n)
end

-- What the elements of a vector have for the n-th reduction of groups.
local function values_at(p, thread, known, kept, at, groups, n)
  local calls, values = call_vector(p, thread, known, kept, at, groups), {}
  for e = 0, p.width - 1 do values[e] = calls.rows[e].groups[n].values[1] end
  return values
end

-- The same, or what the thread's vector has with which this one swaps: zeros behind the row.
local function values_for(p, thread, known, kept, at, groups, n)
  local found = thread.groups[n]
  if not reducer.is_of_thread(p, found) then
    return values_at(p, thread, known, kept, at, groups, n)
  end
  local j = reducer.partner(p, found, at.j)
  if j < p.deep then
    local v = at.v + (j - at.j) * p.lanes
    local other = { j = j, v = v, words = {}, now = vectors_of(p, thread, j, v, true) }
    return values_at(p, thread, known, kept, other, groups, n)
  end
  local values = values_at(p, thread, known, kept, at, groups, n)
  for e = 0, p.width - 1 do values[e] = cast(0, internal.kernel.dtype_of(values[e])) end
  return values
end

-- The reductions of groups that come before the next one of rows. Each is known as soon as the
-- warp's lanes have met, so the function is called once more for each of them.
local function groups_of(p, thread, known, kept, at, is_in)
  local groups = {}
  for n, found in ipairs(thread.groups) do
    if found.after <= #known then
      check_size(p, found)
      local values = values_for(p, thread, known, kept, at, groups, n)
      groups[n] = reducer.is_of_thread(p, found) and values
        or reducer.over_group(p, found, values, is_in)
    end
  end
  return groups
end

-- body(calls, j, v) for each vector v of the thread, its j-th: calls.rows and calls.returned are
-- lists, from 0 on, of its elements.
local function each_call(p, thread, known, kept, body)
  thread.n_passes = (thread.n_passes or 0) + 1
  if not p.group then
    return each_vector(p, thread, function(j, v)
      local at = { j = j, v = v, words = {}, now = vectors_of(p, thread, j, v, true) }
      body(call_vector(p, thread, known, kept, at, {}, true), j, v)
    end)
  end
  each_vector(p, thread, function(j, v, found)
    local at = found.at
    -- What elements share is not made under a condition and then used outside of it.
    if not internal.kernel.is_static(found.is_in) then
      at = { j = j, v = v, words = {}, now = at.now }
    end
    body(call_vector(p, thread, known, kept, at, found.groups, true), j, v)
  end, function(j, v, is_in)
    local at = { j = j, v = v, words = {}, now = vectors_of(p, thread, j, v, is_in) }
    return { at = at, is_in = is_in, groups = groups_of(p, thread, known, kept, at, is_in) }
  end)
end

-- What the thread has of a reduction; of_call(found) is it in a call for an element, as noted
-- there.
local function sums_of(p, thread, known, kept, found, of_call)
  local chains = reducer.new_sums(found, p.width)
  each_call(p, thread, known, kept, function(calls)
    for e = 0, p.width - 1 do
      reducer.add_to(chains, of_call(calls.rows[e].found[#known + 1]), e)
    end
  end)
  return reducer.join(chains, found)
end

local function itself(found) return found end

-- A draw reads the elements of one thread again: what it needs in registers all threads would have.
local function read_again(p, thread)
  local plan = setmetatable({ holds = false, keeps = false, slots = false, unroll = 1 },
    { __index = p })
  local again = setmetatable({ inputs = {} }, { __index = thread })
  for i, x in ipairs(thread.inputs) do
    again.inputs[i] = setmetatable({ held = false, is_in_slots = false }, { __index = x })
  end
  return plan, again
end

-- The weights of vector v's elements, from 0 on: of `top`, the row's largest, or, if nil, as given.
local function weights_at(p, thread, known, j, v, top)
  local plan, again = read_again(p, thread)
  local at = { j = j, v = v, words = {}, now = vectors_of(plan, again, j, v, true) }
  local calls, weights = call_vector(plan, again, known, {}, at, {}, true), {}
  for e = 0, p.width - 1 do
    local found = calls.rows[e].found[#known + 1]
    local value = found.values[1]
    weights[e] = cast(top and found.weight(value, top) or value, f64)
  end
  return weights
end

-- The column of a vector at which the sum of the weights exceeds `left`, the last one with a weight
-- if rounding leaves none.
local function column_in(p, weights, v, left)
  local at, rest = fragment(i32, 1), fragment(f64, 1)
  at[0], rest[0] = -1, left
  for e = 0, p.width - 1 do
    at[0] = where(rest[0] >= 0.0 and weights[e] > 0.0, v * p.width + e, at[0])
    rest[0] = rest[0] - weights[e]
  end
  return at[0]
end

-- The column of the thread's elements that is drawn, the thread's alone.
local function walk(p, thread, known, left, top)
  local at, rest = fragment(i32, 1), fragment(f64, 1)
  at[0], rest[0] = -1, left
  local plan = read_again(p, thread)
  each_vector(plan, thread, function(j, v)
    local weights = weights_at(p, thread, known, j, v, top)
    local column = column_in(p, weights, v, rest[0])
    at[0] = where(column >= 0, column, at[0])
    for e = 0, p.width - 1 do rest[0] = rest[0] - weights[e] end
  end)
  return at[0]
end

-- The same by all lanes of the warp, of which lane `source` has the elements: each lane has a
-- vector of them.
local function walk_together(p, thread, known, left, source, top)
  local lane = threadIdx.x % WARP
  local first = thread.part * (p.deep * p.lanes) + thread.lane - lane + source
  local column, rest = fragment(i32, 1), fragment(f64, 1)
  column[0], rest[0] = -1, shfl_idx(left, source)
  for start in range(0, p.deep, WARP) do
    local j = start + lane
    local v = first + j * p.lanes
    local is_in = j < p.deep and v < p.vectors
    local weights = weights_at(p, setmetatable({ lane = thread.lane - lane + source },
      { __index = thread }), known, where(is_in, j, 0), where(is_in, v, first), top)
    local own = cast(0, f64)
    for e = 0, p.width - 1 do own = own + weights[e] end
    own = where(is_in, own, 0.0)
    local up_to = warp_scan(own, "add")
    local mine = column_in(p, weights, v, rest[0] - (up_to - own))
    local may_be = is_in and own > 0.0 and rest[0] >= up_to - own
    column[0] = max(column[0], where(may_be, mine, -1))
    rest[0] = rest[0] - shfl_idx(up_to, WARP - 1)
  end
  return warp_reduce(column[0], "max")
end

-- The drawn column in all threads: the thread whose share of all weights the random number hits
-- looks for it.
local function draw_pass(p, thread, known, found, sum, top)
  if p.group then fail("row:draw and groups of columns in one row_kernel; use two") end
  local is_hit, left = reducer.share_of(p, thread, sum, found.u)
  local column = fragment(i32, 1)
  column[0] = -1
  if p.lanes < WARP then
    if is_hit then column[0] = walk(p, thread, known, left, top) end
  else
    local hits = ballot(is_hit)
    if hits ~= 0 then
      column[0] = walk_together(p, thread, known, left, WARP - 1 - clz(hits), top)
    end
  end
  return reducer.over_row(p, thread, { column[0] }, { kind = "max", values = { column[0] } })
end

-- Where a thread keeps what it adds up, so that later passes need not compute it; nil: it does not.
local function new_powers(p, found)
  if not (found.keeps and p.keeps_powers) then return nil end
  local dtype = internal.kernel.dtype_of(found.start[2])
  return { powers = fragment(dtype, { p.width, p.deep }), bases = fragment(dtype, p.deep),
    factors = {} }
end

-- A reduction of two steps in one pass: found.add_vector(first, second, values) adds a vector, and
-- returns also what it added. The weights of a draw are known when the row's largest value is.
local function at_once(p, thread, known, kept, found)
  local first, second = table.unpack(found.start)
  local added_up = new_powers(p, found)
  each_call(p, thread, known, kept, function(calls, j)
    local values, added = {}
    for e = 0, p.width - 1 do values[e] = calls.rows[e].found[#known + 1].values[1] end
    first, second, added = found.add_vector(first, second, values)
    if not added_up then return end
    for e = 0, p.width - 1 do added_up.powers[{ e, j }] = added[e] end
    added_up.bases[j] = first
  end)
  thread.powers[#known + 1] = added_up
  if not found.is_draw then
    return reducer.over_row_at_once(p, thread, { first }, { second }, found)
  end
  local top = reducer.over_row(p, thread, { first }, found)[1]
  local own = found.moved({ second }, { first }, { top })[1]
  return draw_pass(p, thread, known, found, own, top)
end

-- The results of the next reduction.
local function reduce_pass(p, thread, known, kept, found, is_last)
  local is_online = p.slots and found.add_vector
  thread.is_last_pass = is_last and (is_online or not found.second)
  if is_online then return at_once(p, thread, known, kept, found) end
  local sums = sums_of(p, thread, known, kept, found, itself)
  if found.at_least ~= nil then sums[1] = max(sums[1], found.at_least) end
  if found.is_draw then return draw_pass(p, thread, known, found, sums[1]) end
  if not found.second then return reducer.over_row(p, thread, sums, found) end
  thread.is_last_pass = is_last
  return reducer.over_row_twice(p, thread, sums, found, function(firsts)
    local function second_of(of_element)
      return { kind = "add", values = of_element.second(table.unpack(firsts)) }
    end
    return sums_of(p, thread, known, kept, second_of(found), second_of)
  end)
end

local marks <const> = { "once", "column", "group" }

-- "elements", "once", "column" or "group", for a value that the function returned.
function M.kind_of(v)
  if type(v) ~= "table" or getmetatable(v) ~= nil then return "elements" end
  for _, mark in ipairs(marks) do
    if v[mark] ~= nil then return mark end
  end
  return "elements"
end

local function store_vector(p, thread, to, v, value_of)
  local first = internal.kernel.widened(value_of(0))
  local r = fragment(internal.kernel.dtype_of(first), p.width)
  r[0] = first
  for e = 1, p.width - 1 do r[e] = internal.kernel.widened(value_of(e)) end
  local stored = r.dtype == to.dtype and r or cast(r, to.dtype)
  local function store()
    if thread.is_row then copy(stored, vector(to(thread.row, _), p, v)) end
  end
  if thread.later then thread.later[#thread.later + 1] = store else store() end
end

local function add_columns(p, thread, sum, j, value_of)
  for e = 0, p.width - 1 do
    local more = value_of(e).column
    sum[{ e, j }] = sum[{ e, j }] + where(thread.is_row, more, cast(0, sum.dtype))
  end
end

-- What groups have once, by the lanes of their first columns.
local function store_groups(p, thread, to, v, value_of)
  local n = value_of(0).n
  local is_first = thread.is_row and v * p.width % n == 0
  for e = 0, p.width - 1, min(n, p.width) do
    if is_first or n <= p.width and thread.is_row then
      to[{ thread.row, (v * p.width + e) // n }] = cast(value_of(e).group, to.dtype)
    end
  end
end

-- What a row has once may be made of its first group.
local function store_of_first(thread, to, v, value)
  if thread.is_row and v == 0 then to[{ thread.row, 0 }] = cast(value.once, to.dtype) end
end

-- The last pass: elements are stored, and added to the thread's sums of columns.
local function store_pass(p, thread, known, kept, results)
  each_call(p, thread, known, kept, function(calls, j, v)
    for i = 1, #calls.returned[0] do
      local kind = M.kind_of(calls.returned[0][i])
      local function value_of(e) return calls.returned[e][i] end
      if kind == "elements" then
        store_vector(p, thread, results["r" .. i], v, value_of)
      elseif kind == "column" then
        add_columns(p, thread, thread.sums[i], j, value_of)
      elseif kind == "group" then
        store_groups(p, thread, results["r" .. i], v, value_of)
      elseif p.group then
        store_of_first(thread, results["r" .. i], v, value_of(0))
      end
    end
  end)
end

local function store_once(thread, returned, results)
  local is_first = thread.is_row and thread.lane == 0 and thread.part == 0
  for i, value in ipairs(returned) do
    if M.kind_of(value) == "once" then
      local to = results["r" .. i]
      if is_first then to[{ thread.row, 0 }] = cast(value.once, to.dtype) end
    end
  end
end

-- What the function returns was found when it was first called for such arguments.
local function check_kinds(p, returned)
  local is_same = #returned == #p.kinds
  for i = 1, is_same and #returned or 0 do
    is_same = is_same and M.kind_of(returned[i]) == p.kinds[i]
  end
  if is_same then return end
  fail("%s returns %d values, other ones than when it was first called for such arguments (%d); "
    .. "make one row_kernel for each", p.name, #returned, #p.kinds)
end

--- Begins with a thread's part of a row: what comes before its first reduction. Returns what
--- M.end_row needs; other rows may begin in between.
function M.begin_row(p, thread)
  if p.holds then load(p, thread) end
  local kept = {}
  thread.kept_once, thread.powers = {}, {}
  local row = M.call_first(p, thread, {}, function(value, number)
    if p.keeps then
      kept[number] = fragment(internal.kernel.dtype_of(value), { p.width, p.deep })
      if p.group and not p.is_whole then clear(kept[number]) end -- lanes behind the row read it
    end
    return value
  end)
  thread.groups = row.groups
  return { row = row, kept = kept }
end

-- Is there a pass that stores elements?
local function stores_elements(p)
  for _, kind in ipairs(p.kinds) do
    if kind ~= "once" then return true end
  end
  return p.group ~= nil
end

--- The reductions of a row, and its results.
function M.end_row(p, thread, begun, results)
  if p.orders and p.lanes <= WARP then sync_warp() end -- what is picked comes before the stores
  if thread.waits then cluster_wait() end
  local known, found, stores = {}, begun.row.found, stores_elements(p)
  for n, reduction in ipairs(found) do
    local is_last = not stores and n == #found
    known[n] = reduce_pass(p, thread, known, begun.kept, reduction, is_last)
  end
  local returned = select(2, M.call_first(p, thread, known))
  check_kinds(p, returned)
  thread.is_last_pass = true
  if stores then store_pass(p, thread, known, begun.kept, results) end
  if not p.group then store_once(thread, returned, results) end
end

function M.do_row(p, thread, results)
  M.end_row(p, thread, M.begin_row(p, thread), results)
end

-- {====== Sums of columns ======

function M.new_columns(p)
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
function M.store_columns(p, thread, results)
  for i, sum in pairs(thread.sums) do
    local to = results["r" .. i](blockIdx.x // p.parts, _)
    if p.rows > 1 then
      store_rows_together(p, thread, sum, to)
    else
      each_vector(p, thread, function(j, v) copy(sum(_, j), vector(to, p, v)) end)
    end
  end
end

return M
