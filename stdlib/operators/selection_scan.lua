-- selection_scan.lua: scans in one pass: each element is read once and written once. A block takes
-- tiles, of which each thread has a run of neighbours; selection_look_back.lua finds what comes
-- before a tile. Segments make a value a pair of the sum and whether a segment begins in it.
local arguments = require "cuttle.arguments"
local call = require "cuttle.selection_call"
local collective = require "cuttle.collective"
local look_back = require "cuttle.selection_look_back"
local memo = require "cuttle.memo"
local reducer = require "cuttle.row_reduce"
local segments = require "cuttle.selection_segments"
local M = {}

local op <const> = "scan"
local VECTOR_BYTES <const>, LANES <const> = 16, 32
local SMS <const> = 8 -- of the CPU engine

-- {====== A tile ======

-- An odd number of vectors, so that the threads' runs begin in different banks.
local vectors_of <const> = { [1] = 1, [2] = 3, [4] = 5, [8] = 5 }

local function items_of(dtype)
  return VECTOR_BYTES // dtype.bytes * vectors_of[dtype.bytes]
end

-- f of values that may have heads: nothing before a head counts.
local function with_heads(c)
  if not c.heads then
    return function(a, b) return { value = cast(c.f(a.value, b.value), c.sums) } end
  end
  return function(a, b)
    return { value = where(b.head ~= 0, b.value, cast(c.f(a.value, b.value), c.sums)),
      head = a.head | b.head }
  end
end

-- Moves a tile between global and shared memory: a warp moves its part, vector by vector.
local function move(c, dtype, move_one)
  local width = VECTOR_BYTES // dtype.bytes
  if c.items % width ~= 0 then width = 1 end
  local lane, warp, pieces = threadIdx.x % LANES, threadIdx.x // LANES, c.items // width
  for j = 0, pieces - 1 do
    move_one(function(whole)
      return tile(tile(whole, LANES * width, warp * pieces + j), width, lane)
    end)
  end
end

-- Begins to load a tile into shared memory; each warp its part.
local function load(c, x, at, s)
  local whole = tile(guard(x), c.threads * c.items, at)
  move(c, x.dtype, function(part) copy(part(whole), part(s)) end)
end

-- The thread's elements of a tile in shared memory.
local function run_of(c, s)
  local r = fragment(s.dtype, c.items)
  copy(tile(s, c.items, threadIdx.x), r)
  return r
end

-- Through the memory s of the loads, which the warp has read, if the type is the same.
local function store(c, y, at, r, s)
  local whole = tile(guard(y), c.threads * c.items, at)
  copy(r, tile(s, c.items, threadIdx.x))
  sync_warp()
  move(c, y.dtype, function(part) copy(part(s), part(whole)) end)
end

-- Of each element of a thread what the thread has up to it; then all of them.
local function scan_own(c, r, is_head, combine)
  local values, heads, all = fragment(c.sums, c.items), fragment(i32, c.items), nil
  for i = 0, c.items - 1 do
    local v = { value = call.number(r[i], c.sums), head = is_head and is_head[i] or nil }
    all = i == 0 and v or combine(all, v)
    values[i] = all.value
    if is_head then heads[i] = all.head end
  end
  return values, heads, all
end

-- Of each element the result: `left` is what comes before the thread's elements, if has_left.
local function results_of(c, values, heads, is_head, left, has_left, init, combine)
  local r, sum = fragment(c.result, c.items), left.value
  for i = 0, c.items - 1 do
    local own = { value = values[i], head = c.heads and heads[i] or nil }
    local up_to = where(has_left, combine(left, own).value, own.value)
    if c.exclusive then
      local starts = i == 0 and not has_left
      if c.heads then starts = is_head[i] ~= 0 or starts end
      r[i] = cast(where(starts, init, c.has_init and cast(c.f(init, sum), c.sums) or sum), c.result)
      sum = up_to
    else
      r[i] = cast(up_to, c.result)
    end
  end
  return r
end

-- {====== Values of tiles in shared memory ======

-- A power of two, so that a remainder costs little.
local function slots_for(n)
  local slots = 1
  while slots < n do slots = slots * 2 end
  return slots
end

-- Shared memory for values, (of `n` threads or warps, slot).
local function values_of_slots(c, n, slots)
  return { value = shared(c.sums, { n, slots }), head = c.heads and shared(i32, { n, slots }) }
end

local function put(s, at, slot, v)
  s.value[{ at, slot }] = v.value
  if s.head then s.head[{ at, slot }] = v.head end
end

local function get(s, at, slot)
  return { value = s.value[{ at, slot }], head = s.head and s.head[{ at, slot }] or nil }
end

-- What the lanes up to each one make, and what those before it make, for lanes after the first.
local function scan_lanes(v, combine)
  local up_to, before = warp_scan(v, combine), {}
  for key, field in pairs(up_to) do before[key] = shfl_up(field, 1) end
  return up_to, before
end

-- {====== The kernel ======

-- A block stays, and takes tiles by tickets in ascending order. In step j its threads sum up its
-- tile j + c.ahead, write the results of tile j, and begin to load tile j + c.stages in its place.
-- Meanwhile a further warp publishes the sum of tile j + c.ahead and takes another ticket, and the
-- last warp finds what comes before tile j + 1. Blocks differ in how far they have come, so a sum
-- has to be published some steps before its own block needs those before it.

local function is_tile(b, k) return b.tickets[k % b.n_tickets] < b.n_tiles end
local function tile_at(b, k) return b.tickets[k % b.n_tickets] end

-- The number of the block's tile k, for a thread that takes them all. It takes one ticket beyond
-- the tiles, so all launches leave the same number of tickets.
local function take_ticket(b, k)
  local at = b.n_tiles
  if k == 0 or is_tile(b, k - 1) then
    at = cast(atomic_add(b.words, size(b.words) - 1, 1), i32)
  end
  return at
end

local function first_of(c, at) return (cast(at, i64) * c.threads + threadIdx.x) * c.items end

local function heads_of(c, b, at)
  return c.heads and segments.heads_of(c.heads, b.heads, b.columns, first_of(c, at), c.items)
end

local function begin_load(c, b, k)
  if is_tile(b, k) then load(c, b.x, tile_at(b, k), b.ring(_, k % c.stages)) end
  cp_async_commit()
end

-- Sums up tile k: what the lanes before a thread have, and what the warp has.
local function sum_up(c, b, k)
  local r, lane = run_of(c, b.ring(_, k % c.stages)), threadIdx.x % LANES
  local _, _, own = scan_own(c, r, heads_of(c, b, tile_at(b, k)), b.combine)
  local up_to, before = scan_lanes(own, b.combine)
  put(b.lefts, threadIdx.x, k % (c.ahead + 1), before)
  if lane == LANES - 1 then put(b.totals, threadIdx.x // LANES, k % 2, up_to) end
end

-- Writes the results of tile j; what comes before each warp's part is known.
local function write(c, b, j)
  local at, t, s = tile_at(b, j), threadIdx.x, b.ring(_, j % c.stages)
  local is_head = heads_of(c, b, at)
  local ups, up_heads = scan_own(c, run_of(c, s), is_head, b.combine)
  local has_warp, is_first = at > 0 or t >= LANES, t % LANES == 0
  local of_warp = get(b.befores, t // LANES, j % 2)
  local own = get(b.lefts, t, j % (c.ahead + 1))
  local both, left = b.combine(of_warp, own), {}
  for key, field in pairs(own) do
    left[key] = where(is_first, of_warp[key], where(has_warp, both[key], field))
  end
  local init = c.exclusive and cast(b.init, c.sums) or nil
  local r = results_of(c, ups, up_heads, is_head, left, at > 0 or t > 0, init, b.combine)
  local room = s
  if b.y.dtype ~= s.dtype then room = b.room end
  store(c, b.y, at, r, room)
end

-- Publishes the sum of tile k, and keeps what its warps before each one make.
local function publish(c, b, k)
  local lane, n_warps = threadIdx.x % LANES, c.threads // LANES
  local up_to, before = scan_lanes(get(b.totals, min(lane, n_warps - 1), k % 2), b.combine)
  if lane == n_warps - 1 then b.places:publish(tile_at(b, k), look_back.OWN, up_to) end
  put(b.warps, lane, k % slots_for(c.ahead), before)
end

-- Finds what comes before each warp of tile k.
local function find_before(c, b, k)
  local lane, at = threadIdx.x % LANES, tile_at(b, k)
  local before = look_back.before(b.places, b.known, at, b.combine)
  local own, v = get(b.warps, lane, k % slots_for(c.ahead)), {}
  local both = b.combine(before, own)
  for key, field in pairs(before) do
    v[key] = where(lane == 0, field, where(at > 0, both[key], own[key]))
  end
  if lane < c.threads // LANES then put(b.befores, lane, k % 2, v) end
end

local function step_of_threads(c, b, j)
  cp_async_wait(c.stages - 1 - c.ahead)
  sync_warp()
  if is_tile(b, j + c.ahead) then sum_up(c, b, j + c.ahead) end
  b.summed:arrive()
  if j >= 0 then write(c, b, j) end
  begin_load(c, b, j + c.stages)
end

-- The warp after the threads takes tickets and publishes sums; the one after it looks back.
local function step_of_publisher(c, b, j)
  local taken, ticket = j + c.stages + 1, b.n_tiles
  if threadIdx.x % LANES == 0 then ticket = take_ticket(b, taken) end
  b.summed:sync()
  if is_tile(b, j + c.ahead) then publish(c, b, j + c.ahead) end
  if threadIdx.x % LANES == 0 then b.tickets[taken % b.n_tickets] = ticket end
end

local function step_of_looker(c, b, j)
  if j + 1 >= 0 then
    if is_tile(b, j + 1) then find_before(c, b, j + 1) end
  end
end

-- What a block has. There are tickets for tiles j to j + c.stages + 1.
local function make_block(c, x, y, words, values)
  local n_warps, n_tickets = c.threads // LANES, slots_for(c.stages + 2)
  local b = { x = x, y = y, words = words, n_tickets = n_tickets, combine = with_heads(c),
    n_tiles = cast(size(words) - 1, i32), ring = shared(x.dtype, { c.threads * c.items, c.stages }),
    tickets = shared(i32, n_tickets), lefts = values_of_slots(c, c.threads, c.ahead + 1),
    totals = values_of_slots(c, n_warps, 2), warps = values_of_slots(c, LANES, slots_for(c.ahead)),
    befores = values_of_slots(c, n_warps, 2) }
  if y.dtype ~= x.dtype then b.room = shared(y.dtype, c.threads * c.items) end
  b.summed = named_barrier(1, c.threads + LANES)
  b.places = look_back.places(c.sums, c.heads ~= nil, words, values)
  b.known = look_back.known(b.places)
  return b
end

-- c: f, sums, result (types), threads, items, stages, ahead, blocks (of a multiprocessor),
-- exclusive, has_init, heads (a kind of selection_segments.lua, or nil).
local function make(c)
  return kernel("scan", function(x, y, words, values, heads, columns, init)
    local b = make_block(c, x, y, words, values)
    b.heads, b.columns, b.init = heads, columns, init
    local warp, n_warps = threadIdx.x // LANES, c.threads // LANES
    if threadIdx.x == c.threads then
      for k = 0, c.stages - c.ahead do b.tickets[k] = take_ticket(b, k) end
    end
    sync_threads()
    if warp < n_warps then
      for k = 0, c.stages - 1 - c.ahead do begin_load(c, b, k) end
    end
    local j = i32(-c.ahead)
    while is_tile(b, max(j, 0)) do
      if warp < n_warps then
        step_of_threads(c, b, j)
      elseif warp == n_warps then
        step_of_publisher(c, b, j)
      else
        step_of_looker(c, b, j)
      end
      sync_threads()
      j = j + 1
    end
  end, { min_blocks = c.blocks })
end

-- {====== Calls ======

local of_bits <const> = { ["and"] = true, ["or"] = true, xor = true }

--- The function of an operation's name, or the function itself. Sums are of this type.
function M.function_of(name, how, sums)
  if type(how) == "function" then return how end
  if of_bits[how] and sums.is_float then
    call.fail(name, "operation '%s' combines the bits of integers and bools, but x has floats", how)
  end
  if collective.functions[how] then return collective.functions[how] end
  call.fail(name, "operation %s; expected 'add', 'mul', 'min', 'max', 'and', 'or', 'xor' or an "
    .. "associative function of two values",
    type(how) == "string" and "'" .. how .. "'" or "of type " .. tostring(type(how)))
end

--- The value that changes no other, of a named operation; a function needs {init = value}.
function M.identity_of(name, how, dtype, init)
  if init ~= nil then return init end
  if type(how) == "function" then
    call.fail(name, "this needs the option init, the value before the first element, as the "
      .. "operation is a function")
  end
  return reducer.identity(how, dtype)
end

local kernel_of = memo.by_fields({ "sums", "result", "threads", "items", "stages", "ahead",
  "blocks", "exclusive", "has_init", "heads" }, make, "f")

local function is_between(v, low, high)
  return math.type(v) == "integer" and v >= low and v <= high
end

local function check_config(c, config)
  local threads, items = config.threads, config.items
  local is_right = is_between(threads, LANES, 960) and threads % LANES == 0
  if not is_right or not is_between(items, 1, 64) then
    call.fail(op, "config has threads = %s and items = %s; expected a multiple of 32 up to 960, "
      .. "and 1 to 64", tostring(threads), tostring(items))
  end
  local stages, ahead = config.stages or 5, config.ahead or 4
  if not is_between(ahead, 2, 8) or not is_between(stages, ahead + 1, 16) then
    call.fail(op, "config has ahead = %s and stages = %s; expected 2 to 8, and more stages than "
      .. "that", tostring(ahead), tostring(stages))
  end
  c.threads, c.items, c.stages, c.ahead = threads, items, stages, ahead
  c.blocks = config.blocks or 1
end

local function check_options(options)
  if options.init ~= nil and not options.exclusive then
    call.fail(op, "init belongs to an exclusive scan; give {exclusive = true, init = value}")
  elseif options.init ~= nil and type(options.init) ~= "number" then
    call.fail(op, "init is of type %s; expected a number", type(options.init))
  end
end

-- The first of these that fits in the shared memory of a block is taken: stages, threads. With one
-- stage less than these, a block waits for others.
local shapes <const> = { { 5, 512 }, { 4, 512 }, { 7, 256 }, { 4, 256 }, { 3, 128 } }
local MOST_BYTES <const> = 227 * 1024 -- of an H200; the CPU engine takes the same shapes
local RESERVED <const> = 4096 -- bytes for what a block has besides values of elements

local function fits(c, x, stages, threads)
  local room = c.result ~= x.tensor.dtype and c.result.bytes or 0
  local of_item = stages * x.tensor.dtype.bytes + room
  local of_thread = stages * (c.sums.bytes + (c.heads and 4 or 0))
  return threads * (c.items * of_item + of_thread) + RESERVED
    <= min(call.target(x).shared, MOST_BYTES)
end

local function take_shape(c, x)
  c.items, c.blocks = items_of(x.tensor.dtype), 1
  for _, shape in ipairs(shapes) do
    c.stages, c.threads = shape[1], shape[2]
    if fits(c, x, c.stages, c.threads) then break end
  end
  c.ahead = c.stages - 1
end

-- The choices of a kernel for these options.
local function choices(x, how, options)
  check_options(options)
  local sums = call.type_of_sums(x.tensor.dtype)
  local c = { f = M.function_of(op, how, sums), sums = sums, has_init = options.init ~= nil,
    exclusive = options.exclusive and true or false }
  if options.config then check_config(c, options.config) end
  return c
end

local function plan(options, given, how)
  how = how or "add"
  local x = call.whole(op, given, "x")
  if x.tensor.dtype.bits < 6 then
    call.fail(op, "x is %s, of which two elements share a byte; cast it first", x.tensor.dtype)
  end
  local c = choices(x, how, options)
  local heads, steps = segments.read(op, x, options)
  c.heads = heads and heads.kind
  local narrow = x.tensor.dtype
  c.result = narrow.is_float and narrow or c.sums
  local found, tensors = call.results(op, options, x, { { dtype = c.result, shape = x.extent } },
    { heads and heads.memory })
  arguments.check_in_place(op, found[1], x)
  c.result = tensors[1].dtype
  if not options.config then take_shape(c, x) end
  if x.n == 0 then return {}, tensors end
  local init
  if c.exclusive then init = M.identity_of(op, how, c.sums, options.init) end
  local n_tiles = cdiv(x.n, c.threads * c.items)
  local words = call.work(x, look_back.word_type(c.sums), n_tiles + 1)
  local values = c.sums.bytes > 4 and
    view(call.work(x, c.sums, 2 * n_tiles), layout { 2, n_tiles }) or nil
  local n_blocks = min(n_tiles, c.blocks * (call.target(x).n_sms or SMS))
  steps[#steps + 1] = call.clear(words)
  steps[#steps + 1] = { kernel = kernel_of(c),
    launch = { grid = n_blocks, block = c.threads + 2 * LANES },
    args = { n = 7, x.flat, found[1].flat, words, values, heads and heads.tensor,
      heads and heads.columns, init } }
  return steps, tensors
end

--- scan(x[, operation][, options]) -> the sums up to each element; see docs/selections.md.
M.scan = call.define(op, 2, { "config", "deterministic", "exclusive", "heads", "init", "offsets" },
  "{exclusive = true}", plan)

return M
