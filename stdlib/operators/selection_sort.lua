-- selection_sort.lua: stable sorts of keys and of pairs, by digits of 8 bits from the lowest on
-- ("onesweep", Adinets and Merrill 2022). One kernel counts the digits of all passes, one adds up
-- the counts, and then each pass reads and writes each key once: a block ranks the keys of a tile
-- by their digit, and looks back, for each digit, at how many the tiles before have.
local internal = ...
local call = require "cuttle.selection_call"
local look_back = require "cuttle.selection_look_back"
local numbers = require "cuttle.selection_keys"
local M = {}

local BITS <const>, DIGITS <const> = 8, 256
local LANES <const>, COUNT_THREADS <const>, COUNT_BLOCKS <const> = 32, 256, 1056
local OWN <const>, ALL <const> = 1, 2 -- states of a word; 0: nothing yet
local MOST_THREADS <const> = 1024 -- of a multiprocessor, with the registers that a pass needs

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

-- The lanes of the warp whose keys have the same digit.
local function peers_of(digit)
  local peers = u32(0xffffffff)
  for b = 0, BITS - 1 do
    local has = digit >> b & 1 ~= 0
    local lanes = ballot(has)
    peers = peers & where(has, lanes, ~lanes)
  end
  return peers
end

-- f(item, i) of each place i of the tile that the thread loads: a warp has neighbours.
local function each_loaded(c, f)
  local lane, warp = threadIdx.x % LANES, threadIdx.x // LANES
  for item = 0, c.items - 1 do f(item, (warp * c.items + item) * LANES + lane) end
end

-- The digit of a key that the thread has, the last one for places beyond the end.
local function digit_in(c, key, is_in, shift)
  local word, bits = numbers.word(internal.kernel.dtype_of(key))
  local last = cast(bits == 64 and -1 or (1 << bits) - 1, word)
  return digit_of(where(is_in, numbers.number(key, c.descending), last), shift)
end

-- The keys that the thread loads, and for each the lanes of the warp whose keys have its digit.
local function load_keys(c, keys, n, first, shift)
  local r, peers = fragment(keys.dtype, c.items), fragment(u32, c.items)
  each_loaded(c, function(item, i) r[item] = keys[first + min(i, n - 1)] end)
  each_loaded(c, function(item, i) peers[item] = peers_of(digit_in(c, r[item], i < n, shift)) end)
  return r, peers
end

local DIGIT_AT <const> = 16 -- a place's digit begins at this bit of it

-- Of each key its rank among those of its warp with the same digit, and that digit; in `seen`
-- (digit, warp) how many of them there are.
local function rank_in_warps(c, r, peers, n, seen, shift)
  local ranks, warp = fragment(i32, c.items), threadIdx.x // LANES
  local below = (u32(1) << cast(threadIdx.x % LANES, u32)) - 1
  each_loaded(c, function(item, i)
    local digit = digit_in(c, r[item], i < n, shift)
    local before, earlier = popc(peers[item] & below), seen[{ digit, warp }]
    sync_warp()
    if before == 0 then seen[{ digit, warp }] = earlier + popc(peers[item]) end
    sync_warp()
    ranks[item] = earlier + before | digit << DIGIT_AT
  end)
  return ranks
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

-- Turns the counts of warps into places in the tile, and returns for each digit what is to be added
-- to a place in the tile to get the place among all keys.
local function place_digits(c, seen, words, starts, at)
  local t, count = threadIdx.x, i32(0)
  local offsets = shared(c.place, DIGITS)
  if t < DIGITS then
    for w = 0, c.threads // LANES - 1 do
      local own = seen[{ t, w }]
      seen[{ t, w }] = count
      count = count + own
    end
    if at > 0 then publish(c, words, at, t, OWN, count) end
  end
  local start = block_scan(count, "add", { exclusive = true })
  if t < DIGITS then
    for w = 0, c.threads // LANES - 1 do seen[{ t, w }] = seen[{ t, w }] + start end
    local before = look_back_for(c, words, at, t, count)
    offsets[t] = cast(starts[t] + before, c.place) - start
  end
  sync_threads()
  return offsets
end

-- Moves what a thread has, by its rank, through shared memory to the places of its neighbours:
-- f(item, i, v) gets what is at place i of the tile. Bools are bytes on the way.
local function exchange(c, pool, r, ranks, n, f)
  local is_bool = r.dtype == bool
  local s = recast(pool, is_bool and u8 or r.dtype)
  for item = 0, c.items - 1 do s[ranks[item]] = call.number(r[item], s.dtype) end
  sync_threads()
  for item = 0, c.items - 1 do
    local i = item * c.threads + threadIdx.x
    if i < n then
      local v = s[i]
      if is_bool then v = v ~= 0 end
      f(item, i, v)
    end
  end
end

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

-- c: descending, values (a type or nil), threads, items, word and place (types of counts).
local function make_pass(c)
  local n_tile, n_warps = c.threads * c.items, c.threads // LANES
  local pool_words = max(n_tile * c.bytes // 8, DIGITS * n_warps // 2)
  return kernel("sort_digit", function(keys, values, new_keys, new_values, words, starts, shift)
    local t, pool = threadIdx.x, shared(u64, pool_words)
    local seen = view(recast(pool, i32), layout { DIGITS, n_warps })
    for i in range(t, size(seen), c.threads) do seen[i] = 0 end
    local at = look_back.next_tile(words, size(words) - 1)
    local first = cast(at, c.place) * n_tile
    local n = cast(min(size(keys) - first, cast(n_tile, c.place)), i32)
    local r, peers = load_keys(c, keys, n, first, shift)
    local ranks = rank_in_warps(c, r, peers, n, seen, shift)
    sync_threads()
    local offsets = place_digits(c, seen, words, starts, at)
    for item = 0, c.items - 1 do
      local rank, digit = ranks[item] & (1 << DIGIT_AT) - 1, ranks[item] >> DIGIT_AT
      ranks[item] = rank + seen[{ digit, t // LANES }]
    end
    sync_threads()
    local places = fragment(c.place, c.items)
    exchange(c, pool, r, ranks, n, function(item, i, key)
      local to = offsets[digit_of(numbers.number(key, c.descending), shift)] + i
      new_keys[to], places[item] = key, to
    end)
    if c.values then
      local moved = load_values(c, values, first, n)
      sync_threads()
      exchange(c, pool, moved, ranks, n, function(item, _, v) new_values[places[item]] = v end)
    end
  end, { min_blocks = max(1, MOST_THREADS // c.threads) })
end

-- {====== Steps ======

-- How many bits a number below n has.
local function bits_for(n)
  local bits = 1
  while 1 << bits < n do bits = bits + 1 end
  return bits
end

local made = {}

local function kernels_of(c)
  local key = table.concat({ tostring(c.descending), c.values and c.values.name or "-", c.threads,
    c.items, c.bytes, c.word.name, c.n_passes }, " ")
  made[key] = made[key] or { count = make_count(c), pass = make_pass(c) }
  return made[key]
end

local POOL_BYTES <const>, THREADS <const>, MOST_ITEMS <const> = 32768, 512, 16
local MOST_WITH_WORDS <const> = 1 << 30 -- keys whose counts leave two bits of a word

local function choices(keys, values_type, o)
  local bytes = max(4, keys.tensor.dtype.bytes, values_type and values_type.bytes or 0)
  local c = { descending = o.descending and true or false, values = values_type, bytes = bytes,
    threads = THREADS, items = min(MOST_ITEMS, POOL_BYTES // (THREADS * bytes)) }
  if o.config then c.threads, c.items = o.config.threads, o.config.items end
  local is_large = keys.n >= MOST_WITH_WORDS
  c.word, c.place = is_large and u64 or u32, is_large and i64 or i32
  local _, bits = numbers.word(keys.tensor.dtype)
  c.n_passes = cdiv(o.below and min(bits, bits_for(o.below)) or bits, BITS)
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
