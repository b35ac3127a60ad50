-- radix_sort.lua: sorts pairs of a u32 key and a value by the key, in four passes of 8 bits. Each
-- pass is stable: pairs with the same digit keep their order. A pass counts the digits of each
-- block, adds up the counts, and moves each pair to its place. match_any finds the lanes of a warp
-- that have the same digit, so a lane knows its rank among them, and one of them counts for all.
-- Usage: cuttle radix_sort.lua [N]
local on_gpu = device().sm ~= nil
local N = tonumber(arg[1] or (on_gpu and 1 << 25 or 50021))
local BITS <const>, DIGITS <const> = 8, 256
local n_threads, n_items = 256, on_gpu and 16 or 8
local n_warps, n_tile = n_threads // 32, n_threads * n_items

-- Calls f(item, i, lanes) for the pairs i of a thread. A warp takes neighbours; `lanes` have one.
local function each_pair(n, f)
  local lane, warp = threadIdx.x % 32, threadIdx.x // 32
  local first = blockIdx.x * n_tile + warp * (32 * n_items) + lane
  for item = 0, n_items - 1 do
    local i = first + 32 * item
    local lanes = ballot(i < n)
    if i < n then f(item, i, lanes) end
  end
end

-- The lanes with the same digit, and how many of them come before this one.
local function peers_of(digit, lanes)
  local peers = match_any(digit, {mask = lanes})
  return peers, popc(peers & (u32(1) << threadIdx.x % 32) - 1)
end

local function digit_of(key, shift) return cast(bfe(key, shift, BITS), i32) end

local count_digits = kernel("count_digits", function(keys, counts, shift)
  local mine = shared(i32, DIGITS)
  mine[threadIdx.x] = 0
  sync_threads()
  each_pair(size(keys), function(_, i, lanes)
    local digit = digit_of(keys[i], shift)
    local peers, before = peers_of(digit, lanes)
    if before == 0 then atomic_add(mine, digit, popc(peers)) end
  end)
  sync_threads()
  counts[{blockIdx.x, threadIdx.x}] = mine[threadIdx.x]
end)

-- Where the pairs of each block with each digit begin: the counts of what comes before them.
local add_up = kernel("add_up", function(counts)
  local all, sum = guard(view(counts, size(counts))), 0
  local r = fragment(i32, 16)
  for step in range(cdiv(size(counts), 1024 * 16)) do
    local mine = tile(tile(all, 1024 * 16, step), 16, threadIdx.x)
    local own = 0
    copy(mine, r)
    for i = 0, 15 do r[i], own = own, own + r[i] end
    local before, total = block_scan(own, "add", {exclusive = true})
    transform(r, function(v) return v + (sum + before) end)
    copy(r, mine)
    sum = sum + total
  end
end)

local move = kernel("move", function(keys, values, new_keys, new_values, starts, shift)
  local t = threadIdx.x
  local seen = shared(i32, {DIGITS, n_warps})             -- pairs that a warp has had, by digit
  local rank = fragment(i32, n_items)
  for w = 0, n_warps - 1 do seen[{t, w}] = 0 end
  sync_threads()
  each_pair(size(keys), function(item, i, lanes)
    local digit = digit_of(keys[i], shift)
    local peers, before = peers_of(digit, lanes)
    local earlier = seen[{digit, t // 32}]
    sync_warp{mask = lanes}
    if before == 0 then seen[{digit, t // 32}] = earlier + popc(peers) end
    sync_warp{mask = lanes}
    rank[item] = earlier + before
  end)
  sync_threads()
  local start = starts[{blockIdx.x, t}]                   -- thread t adds up digit t over the warps
  for w = 0, n_warps - 1 do
    seen[{t, w}], start = start, start + seen[{t, w}]
  end
  sync_threads()
  each_pair(size(keys), function(item, i)
    local to = seen[{digit_of(keys[i], shift), t // 32}] + rank[item]
    new_keys[to], new_values[to] = keys[i], values[i]
  end)
end)

local fill_random = kernel("fill_random", function(keys, values, mask)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(keys) then keys[i], values[i] = rand_u32x4(1, i) & cast(mask, u32), i end
end)

-- Tensors of n pairs, and a function that sorts them; after four passes they are where they were.
local function make(n, mask)
  local keys, values, n_blocks = zeros(u32, n), zeros(i32, n), cdiv(n, n_tile)
  local keys_2, values_2, counts = zeros(u32, n), zeros(i32, n), zeros(i32, {n_blocks, DIGITS})
  fill_random{grid = cdiv(n, 256), block = 256}(keys, values, mask)
  return keys, values, function()
    local from, to = {keys, values}, {keys_2, values_2}
    for shift = 0, 31, BITS do
      count_digits{grid = n_blocks, block = n_threads}(from[1], counts, shift)
      add_up{grid = 1, block = 1024}(counts)
      move{grid = n_blocks, block = n_threads}(from[1], from[2], to[1], to[2], counts, shift)
      from, to = to, from
    end
  end
end

-- Sorted, stable, and the same pairs as before.
local function is_sorted(was, keys, values)
  local seen = {}
  for i = 1, #keys do
    local k, v = keys[i], values[i]
    local in_order = i == 1 or keys[i - 1] < k or keys[i - 1] == k and values[i - 1] < v
    if not in_order or seen[v] or was[v + 1] ~= k then return false end
    seen[v] = true
  end
  return true
end

local ok = true
for n, mask in pairs{[2] = 0xffffffff, [33] = 3, [n_tile] = 0xffff, [3 * n_tile + 7] = 0xf00f} do
  local keys, values, sort = make(n, mask)
  local was = keys:totable()
  sort()
  ok = ok and is_sorted(was, keys:totable(), values:totable())
end
local keys, _, sort = make(N, 0xffffffff)
sort()
for _, i in ipairs{0, N // 3, N - 2} do ok = ok and keys[i] <= keys[i + 1] end
local ms = bench(sort)
print(("radix sort of %d pairs on %s: %s"):format(N, device().name, ok and "correct" or "wrong"))
print(("%.4f ms, %.1f million pairs/s"):format(ms, N / ms * 1e-3))
os.exit(ok, true)
