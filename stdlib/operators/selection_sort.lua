-- selection_sort.lua: stable sorts of keys and of pairs, by digits of 8 bits from the lowest on
-- ("onesweep", Adinets and Merrill 2022). One kernel counts the digits of all passes, one adds up
-- the counts, and then each pass reads and writes each key once: a block ranks the keys of a tile
-- by their digit, and looks back, for each digit, at how many the tiles before have.
local internal = ...
local bits_for = require "cuttle.integers".bits_for
local call = require "cuttle.selection_call"
local look_back = require "cuttle.selection_look_back"
local memo = require "cuttle.memo"
local numbers = require "cuttle.selection_keys"
local M = {}

local BITS <const>, DIGITS <const> = 8, 256
local LANES <const>, COUNT_THREADS <const>, COUNT_BLOCKS <const> = 32, 256, 1056
local OWN <const>, ALL <const> = 1, 2 -- states of a word; 0: nothing yet

-- {====== Counts ======

local function digit_of(number, shift) return cast(number >> shift & DIGITS - 1, i32) end

-- How often each digit of each pass occurs: (digit, pass).
local function make_count(c)
  return kernel("count_digits", function(keys, counts)
    local mine = shared(u32, { DIGITS, c.n_passes })
    for i in range(threadIdx.x, size(mine), COUNT_THREADS) do mine[i] = 0 end
    sync_threads()
    local first = blockIdx.x * COUNT_THREADS + threadIdx.x
    for i in range(first, size(keys), gridDim.x * COUNT_THREADS, { unroll = 4 }) do
      local number = numbers.number(keys[i], c.descending)
      for pass = 0, c.n_passes - 1 do
        atomic_add(mine, { digit_of(number, BITS * pass), pass }, 1)
      end
    end
    sync_threads()
    for i in range(threadIdx.x, size(mine), COUNT_THREADS) do
      if mine[i] ~= 0 then atomic_add(counts, i, cast(mine[i], counts.dtype)) end
    end
  end)
end

-- Where the keys with each digit begin, in each pass.
local add_up = kernel("add_up_digits", function(counts)
  local at = blockIdx.x * DIGITS + threadIdx.x
  local before = block_scan(counts[at], "add", { exclusive = true })
  counts[at] = before
end)

-- {====== A pass ======

-- The PTX of a vote about each bit of $digit; three operations a bit, which the compiler does not
-- find.
local function votes()
  local lines = { ".reg .pred p;", ".reg .b32 bit, a, b;", "mov.b32 $peers, 0xffffffff;" }
  local function add(line, ...) lines[#lines + 1] = line:format(...) end
  for at = 0, BITS - 1 do
    local lanes = at % 2 == 0 and "a" or "b"
    add("and.b32 bit, $digit, %d;", 1 << at)
    add("setp.ne.u32 p, bit, 0;")
    add("vote.sync.ballot.b32 %s, p, 0xffffffff;", lanes)
    add("@!p not.b32 %s, %s;", lanes, lanes)
    if lanes == "b" then add("lop3.b32 $peers, $peers, a, b, 0x80;") end
  end
  return table.concat(lines, "\n")
end

local vote_source <const> = votes()

-- The lanes of the warp whose keys have the same digit.
local function peers_of(of_lane)
  return internal.kernel.ptx(vote_source, { peers = u32 }, { digit = of_lane },
    function(digit) return match_any(digit) end)
end

-- f(item, i) of each place i of the tile that the thread loads: a warp has neighbours.
local function each_loaded(c, f)
  local lane, warp = threadIdx.x % LANES, threadIdx.x // LANES
  for item = 0, c.items - 1 do f(item, (warp * c.items + item) * LANES + lane) end
end

-- f(item, i, is_in) of the same places; is_in is nil in a full tile.
local function each_of_tile(c, n, f)
  if n == c.threads * c.items then
    each_loaded(c, f)
  else
    each_loaded(c, function(item, i) f(item, i, i < n) end)
  end
end

-- The digit of a key that the thread has, the last one for places beyond the end.
local function digit_in(c, key, is_in, shift)
  local digit = digit_of(numbers.number(key, c.descending), shift)
  return is_in == nil and digit or where(is_in, digit, DIGITS - 1)
end

-- The keys that the thread loads; beyond the end the last one.
local function load_keys(c, keys, n, first)
  local r = fragment(keys.dtype, c.items)
  each_of_tile(c, n, function(item, i, is_in)
    r[item] = keys[first + (is_in == nil and i or min(i, n - 1))]
  end)
  return r
end

-- Counts the digits of each warp's keys: seen is (digit, warp).
local function count_digits(c, r, n, seen, shift)
  local warp = threadIdx.x // LANES
  each_of_tile(c, n, function(item, _, is_in)
    atomic_add(seen, { digit_in(c, r[item], is_in, shift), warp }, 1)
  end)
end

-- f(item, place) of each key of the thread: its place in the tile in the order of digits. `seen`
-- has, for each digit and warp, the place of the warp's first key with that digit.
local function each_ranked(c, r, n, seen, shift, f)
  local lane, warp = threadIdx.x % LANES, threadIdx.x // LANES
  local up_to = u32(0xffffffff) >> cast(LANES - 1 - lane, u32)
  each_of_tile(c, n, function(item, _, is_in)
    local digit = digit_in(c, r[item], is_in, shift)
    local peers = peers_of(digit)
    local last, n_up_to, place = LANES - 1 - clz(peers), popc(peers & up_to), i32(0)
    if lane == last then place = atomic_add(seen, { digit, warp }, n_up_to) end
    f(item, shfl_idx(place, last) + n_up_to - 1)
  end)
end

local AT_ONCE <const> = 4 -- words of tiles that a look back loads together

local relaxed <const> = { order = "relaxed" }

-- Says to later tiles how many keys with this digit the tile has, or all tiles up to it.
local function publish(c, words, at, digit, state, n)
  local shift = c.word.bytes * 8 - 2
  local word = cast(state, c.word) << shift | cast(n, c.word)
  atomic_store(words, at * DIGITS + digit, word, relaxed)
end

-- How many keys with this digit the tiles before have, each thread for its own digit.
local function look_back_for(c, words, at, digit, count)
  local shift = c.word.bytes * 8 - 2
  local mask = (cast(1, c.word) << shift) - 1
  local before, i = cast(0, c.word), at - 1
  while i >= 0 do
    local found = {}
    for s = 0, AT_ONCE - 1 do
      found[s] = atomic_load(words, max(i - s, 0) * DIGITS + digit, relaxed)
    end
    local is_next, is_done, n = i >= 0, i < 0, i32(0)
    for s = 0, AT_ONCE - 1 do -- up to the first one that has all, or nothing yet
      local is_there = is_next and found[s] ~= 0
      before = before + where(is_there, found[s] & mask, cast(0, c.word))
      n = n + where(is_there, 1, 0)
      is_next = is_there and found[s] >> shift ~= ALL
      is_done = is_done or is_there and found[s] >> shift == ALL
    end
    i = where(is_done, -1, i - n)
  end
  publish(c, words, at, digit, ALL, before + cast(count, c.word))
  return before
end

-- Publishes how many keys with each digit the tile has, and turns the counts of warps into places
-- in the tile. Returns, for the thread's digit, the count and the place of the first one.
local function place_digits(c, seen, words, at)
  local t, count, n_warps = threadIdx.x, i32(0), c.threads // LANES
  if t < DIGITS then
    for w = 0, n_warps - 1 do count = count + seen[{ t, w }] end
    if at > 0 then publish(c, words, at, t, OWN, count) end
  end
  local start = block_scan(count, "add", { exclusive = true })
  if t < DIGITS then
    local place = start
    for w = 0, n_warps - 1 do
      local own = seen[{ t, w }]
      seen[{ t, w }] = place
      place = place + own
    end
  end
  return count, start
end

-- f(item, i, v) of what is at each place i of the tile, in shared memory; neighbouring threads have
-- neighbours. Bools are bytes there.
local function each_placed(c, s, n, is_bool, f)
  local function one(item, i)
    local v = s[i]
    if is_bool then v = v ~= 0 end
    f(item, i, v)
  end
  if n == c.threads * c.items then
    for item = 0, c.items - 1 do one(item, item * c.threads + threadIdx.x) end
  else
    for item = 0, c.items - 1 do
      local i = item * c.threads + threadIdx.x
      if i < n then one(item, i) end
    end
  end
end

local function memory_of(pool, dtype) return recast(pool, dtype == bool and u8 or dtype) end

-- The values of the keys, or, if there are none yet, the keys' places.
local function load_values(c, values, first, n)
  local r = fragment(c.values, c.items)
  clear(r)
  each_loaded(c, function(item, i)
    if i < n then
      if values then r[item] = values[first + i] else r[item] = cast(first + i, c.values) end
    end
  end)
  return r
end

-- Moves the values of the keys whose places in the tile are `ranks`; to[item] is the place of what
-- the thread finds in shared memory.
local function move_values(c, pool, values, new_values, ranks, to, first, n)
  local r, s = load_values(c, values, first, n), memory_of(pool, c.values)
  sync_threads()
  for item = 0, c.items - 1 do s[ranks[item]] = call.number(r[item], s.dtype) end
  sync_threads()
  each_placed(c, s, n, c.values == bool, function(item, _, v) new_values[to[item]] = v end)
end

-- c: descending, values (a type or nil), threads, items, word and place (types of counts).
local function make_pass(c)
  local n_tile, n_warps = c.threads * c.items, c.threads // LANES
  return kernel("sort_digit", function(keys, values, new_keys, new_values, words, starts, shift)
    local t, pool = threadIdx.x, shared(u64, cdiv(n_tile * c.bytes, 8))
    local seen, offsets = shared(i32, { DIGITS, n_warps }), shared(c.place, DIGITS)
    local _, bits = numbers.word(keys.dtype)
    shift = shift & (bits > 32 and 63 or 31) -- so the compiler knows it
    for i in range(t, size(seen), c.threads) do seen[i] = 0 end
    local at = look_back.next_tile(words, size(words) - 1)
    local first = cast(at, c.place) * n_tile
    local n = cast(min(size(keys) - first, cast(n_tile, c.place)), i32)
    local r = load_keys(c, keys, n, first)
    count_digits(c, r, n, seen, shift)
    sync_threads()
    local count, start = place_digits(c, seen, words, at)
    sync_threads()
    local s, ranks = memory_of(pool, keys.dtype), c.values and fragment(i32, c.items)
    each_ranked(c, r, n, seen, shift, function(item, place)
      s[place] = call.number(r[item], s.dtype)
      if ranks then ranks[item] = place end
    end)
    if t < DIGITS then
      local before = look_back_for(c, words, at, t, count)
      offsets[t] = cast(starts[t] + before, c.place) - start
    end
    sync_threads()
    local to = c.values and fragment(c.place, c.items)
    each_placed(c, s, n, keys.dtype == bool, function(item, i, key)
      local place = offsets[digit_of(numbers.number(key, c.descending), shift)] + i
      new_keys[place] = key
      if to then to[item] = place end
    end)
    if c.values then
      move_values(c, pool, values, new_values, ranks, to, first, n)
    end
  end, { min_blocks = c.blocks })
end

-- {====== Steps ======

local kernels_of = memo.by_fields({ "descending", "values", "threads", "items", "blocks", "bytes",
  "word", "n_passes" }, function(c) return { count = make_count(c), pass = make_pass(c) } end)

local THREADS <const>, POOL_BYTES <const> = 384, 33792 -- 22 keys of 4 bytes for each thread
local BLOCKS <const>, BLOCKS_WITH_VALUES <const> = 3, 2 -- of a multiprocessor, without spills
local MOST_WITH_WORDS <const> = 1 << 30 -- keys whose counts leave two bits of a word

local function choices(keys, values_type, o)
  local bytes = max(4, keys.tensor.dtype.bytes, values_type and values_type.bytes or 0)
  local c = { descending = o.descending and true or false, values = values_type, bytes = bytes,
    threads = THREADS, items = POOL_BYTES // (THREADS * bytes),
    blocks = values_type and BLOCKS_WITH_VALUES or BLOCKS }
  if o.config then
    c.threads, c.items, c.blocks = o.config.threads, o.config.items, o.config.blocks or 1
  end
  local is_large = keys.n >= MOST_WITH_WORDS
  c.word, c.place = is_large and u64 or u32, is_large and i64 or i32
  local _, bits = numbers.word(keys.tensor.dtype)
  c.n_passes = cdiv(o.below and min(bits, max(bits_for(o.below), 1)) or bits, BITS)
  return c
end

-- Where the passes read and write, in turn: the last one writes the results.
local function buffers(keys, out_keys, out_values, c)
  local spare = { keys = out_keys, values = out_values }
  if c.n_passes > 1 then
    spare = { keys = call.work(keys, keys.tensor.dtype, keys.n),
      values = c.values and call.work(keys, c.values, keys.n) or nil }
  end
  return function(pass)
    if (c.n_passes - pass) % 2 == 0 then return { keys = out_keys, values = out_values } end
    return spare
  end
end

--- The steps that sort flat keys and their values into out_keys and out_values, flat tensors.
--- values: a flat tensor, nil for none, or true for the places of the keys (i32 or i64, as
--- out_values has them). o: descending, config, and below, a number that all keys are less than.
function M.steps(keys, values, out_keys, out_values, o)
  local c = choices(keys, out_values and out_values.dtype, o)
  if keys.n == 0 then return {} end
  local n_tiles, kernels = cdiv(keys.n, c.threads * c.items), kernels_of(c)
  local counts = call.work(keys, c.word, DIGITS * c.n_passes)
  local words = call.work(keys, c.word, n_tiles * DIGITS + 1)
  local n_blocks = min(COUNT_BLOCKS, cdiv(keys.n, COUNT_THREADS))
  local steps = { call.clear(counts),
    { kernel = kernels.count, args = { keys.flat, counts },
      launch = { grid = n_blocks, block = COUNT_THREADS } },
    { kernel = add_up, args = { counts }, launch = { grid = c.n_passes, block = DIGITS } } }
  local to = buffers(keys, out_keys, out_values, c)
  local from = { keys = keys.flat, values = values ~= true and values or nil }
  for pass = 1, c.n_passes do
    local next = to(pass)
    steps[#steps + 1] = call.clear(words)
    steps[#steps + 1] = { kernel = kernels.pass, launch = { grid = n_tiles, block = c.threads },
      args = { n = 7, from.keys, from.values, next.keys, next.values, words,
        slice(counts, DIGITS * (pass - 1), DIGITS * pass), BITS * (pass - 1) } }
    from = next
  end
  return steps
end

return M
