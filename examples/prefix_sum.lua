-- prefix_sum.lua: y[i] = x[0] + ... + x[i] in one pass (decoupled look-back). Blocks take tiles in
-- order. Each sums its tile, publishes the sum, and looks back at the tiles before it to find what
-- precedes its own. A tile has published nothing yet, its own sum, or the sum up to its end. State
-- and sum share one 64-bit word, so a reader sees both or neither.
-- Usage: cuttle prefix_sum.lua [N]
local on_gpu = device().sm ~= nil
local N = tonumber(arg[1] or (on_gpu and 1 << 28 or 200003))
local n_threads, n_items = on_gpu and 256 or 64, 16
local n_tile = n_threads * n_items
local OWN <const>, ALL <const> = 1, 2                      -- states; 0: nothing yet

local function pack(state, sum) return cast(state, i64) << 32 | cast(sum, i64) & 0xffffffff end

-- The sum of all tiles before: a warp looks at 32 of them at once.
local function look_back(words, tile_index)
  local lane = threadIdx.x % 32
  local before, at = 0, tile_index - 1
  while true do
    local word = pack(ALL, 0)                              -- in front of the first tile
    if at - lane >= 0 then
      repeat word = atomic_load(words, at - lane) until word ~= 0
    end
    local is_all = word >> 32 == ALL
    local nearest = warp_reduce(where(is_all, lane, 32), "min")
    before = before + warp_reduce(where(lane <= nearest, cast(word, i32), 0), "add")
    if nearest < 32 then break end
    at = at - 32
  end
  return before
end

local prefix_sum = kernel("prefix_sum", function(x, y, words, ticket)
  local t = threadIdx.x
  local from_first = shared(i32, 2)                        -- the tile, and the sum before it
  if t == 0 then from_first[0] = atomic_add(ticket, 0, 1) end
  sync_threads()
  local tile_index = from_first[0]
  local mine = tile(tile(guard(x), n_tile, tile_index), n_items, t)
  local r = fragment(i32, n_items)
  copy(mine, r)
  for i = 1, n_items - 1 do r[i] = r[i] + r[i - 1] end
  local left, total = block_scan(r[n_items - 1], "add", {exclusive = true})
  if t < 32 then
    if t == 0 and tile_index > 0 then atomic_store(words, tile_index, pack(OWN, total)) end
    local before = look_back(words, tile_index)
    if t == 0 then
      atomic_store(words, tile_index, pack(ALL, before + total))
      from_first[1] = before
    end
  end
  sync_threads()
  left = left + from_first[1]
  transform(r, function(v) return v + left end)
  copy(r, tile(tile(guard(y), n_tile, tile_index), n_items, t))
end)

-- Clears the words and the ticket, then sums.
local function make(n)
  local n_tiles = cdiv(n, n_tile)
  local x, y, words, ticket = zeros(i32, n), zeros(i32, n), zeros(i64, n_tiles), zeros(i32, 1)
  kernel("fill_numbers", function(numbers)
    local i = blockIdx.x * blockDim.x + threadIdx.x
    if i < size(numbers) then numbers[i] = i % 201 * 7919 % 201 - 100 end
  end){grid = cdiv(n, 256), block = 256}(x)
  local launch = prefix_sum:prepare{grid = n_tiles, block = n_threads}(x, y, words, ticket)
  return x, y, function()
    clear(words)
    clear(ticket)
    launch()
  end
end

local ok = true
for _, n in ipairs{1, n_items, n_tile, n_tile * 40, 100003} do
  local x, y, run = make(n)
  run()
  local sum, xs, ys = 0, x:totable(), y:totable()
  if n == 1 then xs, ys = {x[0]}, {y[0]} end
  for i = 1, n do
    sum = sum + xs[i]
    ok = ok and ys[i] == sum
  end
end
local x, y, run = make(N)
run()
local want = 0                                             -- the numbers repeat after 201
for i = 0, (N - 1) % 201 do want = want + (i * 7919 % 201 - 100) end
ok = ok and y[N - 1] == want
local ms = bench(run)
print(("prefix sum of %d on %s: %s"):format(N, device().name, ok and "correct" or "wrong"))
print(("%.4f ms with clearing, %.1f GB/s"):format(ms, 8 * N / ms * 1e-6))
x:close()
os.exit(ok, true)
