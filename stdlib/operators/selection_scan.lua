-- selection_scan.lua: scans in one pass: each element is read once and written once. A block takes
-- a tile, of which each thread has a run of neighbours; selection_look_back.lua finds what comes
-- before the tile. Segments make a value a pair of the sum and whether a segment begins in it.
local call = require "cuttle.selection_call"
local collective = require "cuttle.collective"
local look_back = require "cuttle.selection_look_back"
local reducer = require "cuttle.row_reduce"
local segments = require "cuttle.selection_segments"
local M = {}

local op <const> = "scan"
local THREADS <const>, VECTOR_BYTES <const> = 256, 16
local LANES <const>, GROUP <const>, BATCH <const> = 32, 32, 1024 -- tiles of a group, of a batch

-- {====== The kernel ======

-- An odd number of vectors, so that the threads' runs begin in different banks.
local vectors_of <const> = { [1] = 1, [2] = 3, [4] = 7, [8] = 7 }

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

local function load(c, x, at)
  local whole, s = tile(guard(x), c.threads * c.items, at), shared(x.dtype, c.threads * c.items)
  move(c, x.dtype, function(part) copy(part(whole), part(s)) end)
  cp_async_wait(0)
  sync_warp()
  return s
end

-- The thread's elements of a tile in shared memory.
local function run_of(c, s)
  local r = fragment(s.dtype, c.items)
  copy(tile(s, c.items, threadIdx.x), r)
  return r
end

-- Through the memory s of the loads, which all have read, if the type is the same.
local function store(c, y, at, r, s)
  local whole = tile(guard(y), c.threads * c.items, at)
  if y.dtype ~= s.dtype then s = shared(y.dtype, c.threads * c.items) end
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

-- What comes before the thread's elements within the tile, and the tile's sum.
local function scan_threads(c, own, combine)
  local t = threadIdx.x
  local values, heads = shared(c.sums, c.threads), c.heads and shared(i32, c.threads)
  local up_to, total = block_scan(own, combine)
  values[t] = up_to.value
  if heads then heads[t] = up_to.head end
  sync_threads()
  local before = max(t - 1, 0)
  return { value = values[before], head = heads and heads[before] or nil }, total
end

-- What the tiles before make, in all threads; it means nothing for the first tile.
local function scan_tiles(c, at, total, words, values, combine)
  local found, head, n_tiles = shared(c.sums, 1), c.heads and shared(i32, 1), gridDim.x
  local function places(first, n)
    return look_back.places(c.sums, c.heads ~= nil, slice(words, first, first + n),
      values and view(values, layout { 2, n }, 2 * first))
  end
  if threadIdx.x < LANES then
    local before
    if c.deterministic then
      local n_groups = cdiv(n_tiles, GROUP)
      before = look_back.fixed_order(places(0, n_tiles), places(n_tiles, n_groups),
        places(n_tiles + n_groups, cdiv(n_tiles, BATCH)), at, total, combine)
    else
      before = look_back.any_order(places(0, n_tiles), at, total, combine)
    end
    if threadIdx.x == 0 then
      found[0] = before.value
      if head then head[0] = before.head end
    end
  end
  sync_threads()
  return { value = found[0], head = head and head[0] or nil }
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

-- c: f, sums, result (types), threads, items, exclusive, has_init, deterministic, heads (a kind of
-- selection_segments.lua, or nil).
local function make(c)
  local combine = with_heads(c)
  return kernel("scan", function(x, y, words, values, heads, columns, init)
    local at = look_back.next_tile(words, size(words) - 1)
    local t = threadIdx.x
    local place = (cast(at, i64) * c.threads + t) * c.items
    local is_head = c.heads and segments.heads_of(c.heads, heads, columns, place, c.items)
    local s = load(c, x, at)
    local _, _, own = scan_own(c, run_of(c, s), is_head, combine)
    local mine, total = scan_threads(c, own, combine)
    local before = scan_tiles(c, at, total, words, values, combine)
    local both, left = combine(before, mine), {}
    for key, field in pairs(mine) do
      left[key] = where(t > 0, where(at > 0, both[key], field), before[key])
    end
    local first = c.exclusive and cast(init, c.sums) or nil
    -- Summed up once more: what waits for the tiles before has few registers, so more tiles wait.
    local ups, up_heads = scan_own(c, run_of(c, s), is_head, combine)
    local r = results_of(c, ups, up_heads, is_head, left, at > 0 or t > 0, first, combine)
    store(c, y, at, r, s)
  end)
end

-- {====== Calls ======

--- The function of an operation's name, or the function itself.
function M.function_of(name, how)
  if type(how) == "function" then return how end
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

local made = setmetatable({}, { __mode = "k" }) -- by function

local function kernel_of(c)
  local key = { c.sums.name, c.result.name, c.threads, c.items, tostring(c.exclusive),
    tostring(c.has_init), tostring(c.deterministic), tostring(c.heads) }
  made[c.f] = made[c.f] or {}
  key = table.concat(key, " ")
  made[c.f][key] = made[c.f][key] or make(c)
  return made[c.f][key]
end

local function check_config(config)
  local threads, items = config.threads, config.items
  if math.type(threads) ~= "integer" or threads < LANES or threads > 1024 or threads % LANES ~= 0
    or math.type(items) ~= "integer" or items < 1 or items > 64 then
    call.fail(op, "config has threads = %s and items = %s; expected a multiple of 32 up to 1024, "
      .. "and 1 to 64", tostring(threads), tostring(items))
  end
  return threads, items
end

local function check_options(how, options)
  if options.init ~= nil and not options.exclusive then
    call.fail(op, "init belongs to an exclusive scan; give {exclusive = true, init = value}")
  elseif options.init ~= nil and type(options.init) ~= "number" then
    call.fail(op, "init is of type %s; expected a number", type(options.init))
  end
  return M.function_of(op, how)
end

-- The choices of a kernel for these options.
local function choices(x, how, options)
  local sums = call.type_of_sums(x.tensor.dtype)
  local c = { f = check_options(how, options), sums = sums,
    exclusive = options.exclusive and true or false, has_init = options.init ~= nil,
    deterministic = options.deterministic and true or false }
  c.threads, c.items = THREADS, items_of(x.tensor.dtype)
  if options.config then c.threads, c.items = check_config(options.config) end
  return c
end

-- Words of the tiles, of groups and batches if the order is fixed, and the ticket.
local function n_places(c, n_tiles)
  if not c.deterministic then return n_tiles end
  return n_tiles + cdiv(n_tiles, GROUP) + cdiv(n_tiles, BATCH)
end

local function plan(options, given, how)
  how = how or "add"
  local x = call.whole(op, given, "x")
  local c = choices(x, how, options)
  local heads, steps = segments.read(op, x, options)
  c.heads = heads and heads.kind
  local narrow = x.tensor.dtype
  c.result = narrow.is_float and narrow or c.sums
  local found, tensors = call.results(op, options, x, { { dtype = c.result, shape = x.extent } },
    { heads and heads.memory })
  c.result = tensors[1].dtype
  if x.n == 0 then return {}, tensors end
  local init
  if c.exclusive then init = M.identity_of(op, how, c.sums, options.init) end
  local n_tiles = cdiv(x.n, c.threads * c.items)
  local n = n_places(c, n_tiles)
  local words = call.work(x, look_back.word_type(c.sums), n + 1)
  local values = c.sums.bytes > 4 and call.work(x, c.sums, 2 * n) or nil
  steps[#steps + 1] = call.clear(words)
  steps[#steps + 1] = { kernel = kernel_of(c), launch = { grid = n_tiles, block = c.threads },
    args = { n = 7, x.flat, found[1].flat, words, values, heads and heads.tensor,
      heads and heads.columns, init } }
  return steps, tensors
end

--- scan(x[, operation][, options]) -> the sums up to each element; see docs/selections.md.
M.scan = call.define(op, 2, { "config", "deterministic", "exclusive", "heads", "init", "offsets" },
  "{exclusive = true}", plan)

return M
