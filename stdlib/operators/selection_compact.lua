-- selection_compact.lua: the elements that are kept, side by side, in their order: by flags, by a
-- function, or the first of each run of equal elements. A block counts what it keeps of a tile, and
-- looks back at how many the tiles before keep. How many there are is known on the device alone.
local call = require "cuttle.selection_call"
local look_back = require "cuttle.selection_look_back"
local memo = require "cuttle.memo"
local numbers = require "cuttle.selection_keys"
local radix = require "cuttle.selection_sort"
local M = {}

local THREADS <const>, ITEMS <const>, LANES <const> = 256, 8, 32
local flag_types <const> = { bool, u8, i8, u16, i16, i32, u32 }

-- {====== The kernel ======

local check_kept = static_fn(function(kind)
  if kind ~= "boolean" then
    call.fail("compact", "keep returns a value of type %s; expected a boolean, as of v > 0", kind)
  end
end)

-- Is element i kept? Of an x with n elements, with flags or a function.
local keeps <const> = {
  flags = function(_, _, flags, i) return call.number(flags[i], i32) ~= 0 end,
  ["function"] = function(c, x, _, i)
    local is_kept = c.keep(x[i], i)
    check_kept(type(is_kept))
    return is_kept
  end,
  heads = function(_, _, flags, i) return i == 0 or call.number(flags[i], i32) ~= 0 end,
  runs = function(_, x, _, i)
    local before = x[max(i - 1, 0)]
    return i == 0 or numbers.number(x[i]) ~= numbers.number(before)
  end,
}

-- Of each element that the thread looks at, a warp at neighbours: whether it is kept, and how many
-- of the warp's are before it; then how many the warp keeps.
local function rank_in_warp(c, x, flags, first, n)
  local kept, ranks, sum = fragment(bool, c.items), fragment(i32, c.items), i32(0)
  local below = (u32(1) << cast(threadIdx.x % LANES, u32)) - 1
  for item = 0, c.items - 1 do
    local i, is_kept = first + item * LANES, false
    if i < n then is_kept = keeps[c.kind](c, x, flags, i) end
    local lanes = ballot(is_kept)
    kept[item], ranks[item] = is_kept, sum + popc(lanes & below)
    sum = sum + popc(lanes)
  end
  return kept, ranks, sum
end

-- How many the warps before keep, and how many the tile does.
local function scan_warps(c, sum)
  local sums, before, total = shared(i32, c.threads // LANES), i32(0), i32(0)
  local warp = threadIdx.x // LANES
  if threadIdx.x % LANES == 0 then sums[warp] = sum end
  sync_threads()
  for w = 0, c.threads // LANES - 1 do
    before = before + where(w < warp, sums[w], 0)
    total = total + sums[w]
  end
  return before, total
end

local function add(a, b) return { value = a.value + b.value } end

-- How many the tiles before keep.
local function count_before(c, words, at, total)
  local found = shared(c.place, 1)
  if threadIdx.x < LANES then
    local places = look_back.places(c.place, false, slice(words.words, 0, gridDim.x), words.values)
    local before = look_back.any_order(places, at, { value = cast(total, c.place) }, add)
    if threadIdx.x == 0 then found[0] = where(at > 0, before.value, 0) end
  end
  sync_threads()
  return found[0]
end

-- c: kind (of `keeps`), keep (its function), place (type of counts), threads, items.
local function make(c)
  return kernel("compact", function(x, flags, out, words, n)
    local at = look_back.next_tile(words.words, size(words.words) - 1)
    local t, warps = threadIdx.x, c.threads // LANES
    local first = (cast(at, c.place) * warps + t // LANES) * (c.items * LANES) + t % LANES
    local kept, ranks, sum = rank_in_warp(c, x, flags, first, n)
    local in_tile, total = scan_warps(c, sum)
    local before = count_before(c, words, at, total)
    for item = 0, c.items - 1 do
      if kept[item] then
        local i, to = first + item * LANES, before + (in_tile + ranks[item])
        if out.values then out.values[to] = x[i] end
        if out.places then out.places[to] = cast(i, out.places.dtype) end
      end
    end
    if t == 0 and at == gridDim.x - 1 then out.count[0] = cast(before + total, out.count.dtype) end
  end)
end

-- {====== Steps ======

local kernel_of = memo.by_fields({ "kind", "place", "threads", "items" }, make, "keep")

local function place_type(n) return n < 1 << 31 and i32 or i64 end

-- The steps that write to out: values, places, count. `like` has n elements; x or flags are nil if
-- the kind does not need them.
local function steps_for(like, kind, x, flags, keep, out, config)
  local c = { kind = kind, keep = keep, place = place_type(like.n),
    threads = config and config.threads or THREADS, items = config and config.items or ITEMS }
  if like.n == 0 then return { call.clear(out.count) } end
  local n_tiles = cdiv(like.n, c.threads * c.items)
  local words = call.work(like, look_back.word_type(c.place), n_tiles + 1)
  local values = c.place == i64 and view(call.work(like, i64, 2 * n_tiles), layout { 2, n_tiles })
  return { call.clear(words), { kernel = kernel_of(c),
    args = { n = 5, x, flags, out, { words = words, values = values or nil }, c.place(like.n) },
    launch = { grid = n_tiles, block = c.threads } } }
end

--- The steps that write where the segments of x begin, and how many there are. `flags` is not 0
--- where a segment begins; the first element always begins one.
function M.head_steps(x, flags, starts, count)
  return steps_for(x, "heads", nil, flags.flat, nil, { places = starts, count = count })
end

--- The same of the runs of equal elements of x.
function M.run_start_steps(x, starts, count)
  return steps_for(x, "runs", x.flat, nil, nil, { places = starts, count = count })
end

local function count_type(x) return { dtype = place_type(x.n), shape = { 1 }, only = true } end

local function check_one_mode(op, x)
  if #x.extent > 1 then
    call.fail(op, "%s is (%s); expected one mode: view it as layout(%d)", x.name,
      table.concat(x.extent, ","), x.n)
  end
end

-- {====== Calls ======

local function read_keep(op, keep, x)
  if type(keep) == "function" then return "function", nil, keep end
  if keep == nil then
    call.fail(op, "argument 2 is nil; expected flags, or a function of an element and its place")
  end
  local flags = call.vector(op, keep, "keep", x, flag_types, x.n)
  return "flags", flags
end

--- compact(x, keep[, options]) -> the elements that are kept, and how many there are
M.compact = call.define("compact", 2, { "config" }, "{out = {y, count}}",
  function(options, given, keep)
    local op = "compact"
    local x = call.whole(op, given, "x")
    check_one_mode(op, x)
    local kind, flags, f = read_keep(op, keep, x)
    local found, tensors = call.results(op, options, x,
      { { dtype = x.tensor.dtype, shape = { x.n }, only = true }, count_type(x) }, { x, flags })
    return steps_for(x, kind, x.flat, flags and flags.flat, f,
      { values = found[1].flat, count = found[2].flat }, options.config), tensors
  end)

--- positions(flags[, options]) -> the places of elements that are not 0, and how many there are
M.positions = call.define("positions", 1, { "config" }, "{out = {places, count}}",
  function(options, given)
    local op = "positions"
    local x = call.whole(op, given, "flags")
    check_one_mode(op, x)
    call.check_type(op, x, flag_types)
    local found, tensors = call.results(op, options, x,
      { { dtype = place_type(x.n), shape = { x.n }, only = true }, count_type(x) }, { x })
    return steps_for(x, "flags", nil, x.flat, nil,
      { places = found[1].flat, count = found[2].flat }, options.config), tensors
  end)

-- {====== Runs ======

local count_runs = kernel("count_runs", function(starts, count, n, counts)
  local i = blockIdx.x * THREADS + threadIdx.x
  if i < count[0] then
    local stop = n
    if i + 1 < count[0] then stop = starts[i + 1] end
    counts[i] = cast(stop - starts[i], counts.dtype)
  end
end)

local function run_results(op, options, x)
  local place = place_type(x.n)
  return call.results(op, options, x, { { dtype = x.tensor.dtype, shape = { x.n }, only = true },
    { dtype = place, shape = { x.n }, only = true }, count_type(x) }, { x })
end

-- The steps that find the runs of x.
local function run_steps(x, found, config)
  local starts = call.work(x, place_type(x.n), x.n)
  local steps = steps_for(x, "runs", x.flat, nil, nil,
    { values = found[1].flat, places = starts, count = found[3].flat }, config)
  if x.n > 0 then
    steps[#steps + 1] = { kernel = count_runs,
      args = { starts, found[3].flat, starts.dtype(x.n), found[2].flat },
      launch = { grid = cdiv(x.n, THREADS), block = THREADS } }
  end
  return steps
end

local function read(op, given)
  local x = call.whole(op, given, "x")
  check_one_mode(op, x)
  call.check_type(op, x, numbers.types)
  return x
end

--- runs(x[, options]) -> the first element of each run of equal ones, the runs' lengths, how many
M.runs = call.define("runs", 1, { "config" }, "{out = {y, counts, count}}", function(options, given)
  local x = read("runs", given)
  local found, tensors = run_results("runs", options, x)
  return run_steps(x, found, options.config), tensors
end)

--- unique(x[, options]) -> the different elements in order, how often each occurs, how many
M.unique = call.define("unique", 1, {}, "{out = {y, counts, count}}", function(options, given)
  local x = read("unique", given)
  local found, tensors = run_results("unique", options, x)
  local sorted = call.described(call.work(x, x.tensor.dtype, x.n))
  local steps = radix.steps(x, nil, sorted.flat, nil, {})
  local more = run_steps(sorted, found)
  return table.move(more, 1, #more, #steps + 1, steps), tensors
end)

return M
