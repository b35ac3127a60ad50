-- atomic_add of f16 and bf16, one element or two side by side, in global and shared memory: each sum is
-- rounded once, to nearest even. The oracle is the host's store of a double, which holds these sums.
local sorted = dofile "tests/support/sorted.lua"
local N <const> = 1 << 16
local current = dofile "tests/support/current_device.lua"
local host, upload, on_host = current.host, current.upload, current.on_host

local single = kernel("single", function(x, y, old)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  old[i] = atomic_add(x, i, y[i])
end)
local pairwise = kernel("pairwise", function(x, y, old)
  local i = 2 * (blockIdx.x * blockDim.x + threadIdx.x)
  old[i], old[i + 1] = atomic_add(x, i, y[i], y[i + 1])
end)
local in_shared = kernel("in_shared", function(x, y, old)
  local s, i = shared(x.dtype, 128), 2 * threadIdx.x
  local at = blockIdx.x * 128 + i
  s[i], s[i + 1] = x[at], x[at + 1]
  old[at + 1] = atomic_add(s, i + 1, y[at + 1])
  old[at] = atomic_add(s, i, y[at], 0)
  sync_threads()
  x[at], x[at + 1] = s[i], s[i + 1]
end)

for _, T in ipairs{f16, bf16} do
  local state = 12345
  local function random_bits()
    state = state * 6364136223846793005 + 1442695040888963407
    return state >> 33
  end
  local first = on_host(arange, u16, N) -- all patterns, beside random ones
  local second = on_host(zeros, u16, N)
  for i = 0, N - 1 do -- a third of them near the first's size
    second[i] = i % 3 == 0 and (i ~ 0x8000) + (random_bits() & 0x7ff) & 0xffff
      or random_bits() & 0xffff
  end
  local x, y = recast(first, T), recast(second, T)
  local want = on_host(zeros, T, N)
  for i = 0, N - 1 do want[i] = x[i] + y[i] end
  local bits = recast(want, u16)
  for name, case in sorted{single = {single, N // 64}, two = {pairwise, N // 128},
    shared = {in_shared, N // 128}} do
    local t, old = upload(recast(on_host(arange, u16, N), T)), zeros(T, N)
    case[1]{grid = case[2], block = 64}(t, upload(y), old)
    local got, was, bad = recast(host(t), u16), recast(host(old), u16), nil
    local sums = host(t)
    for i = 0, N - 1 do
      local both_nan = sums[i] ~= sums[i] and want[i] ~= want[i]
      if (got[i] ~= bits[i] and not both_nan) or was[i] ~= i then
        bad = bad or ("%s: %x + %x is %x, expected %x"):format(name, i, second[i], got[i], bits[i])
      end
    end
    if bad then print(T, bad) end
  end
  print(T, "sums agree")
end
-- expect: f16	sums agree
-- expect: bf16	sums agree

-- Whatever other threads do: sums that are exact in any order.
for _, T in ipairs{f16, bf16} do
  local t, local_sums = zeros(T, 8), zeros(T, 8)
  kernel("many", function(t, local_sums)
    local s, i = shared(T, 4), threadIdx.x
    if i < 4 then s[i] = 0 end
    sync_threads()
    atomic_add(s, i % 2, 1)
    atomic_add(s, 2, 0.5, -0.5)
    sync_threads()
    if i == 0 then
      atomic_add(local_sums, 0, s[0], s[1])
      atomic_add(local_sums, 2, s[2], s[3])
    end
    if blockIdx.x == 0 and i < 64 then
      atomic_add(t, i % 4, 1)
      atomic_add(t, 4 + i % 4 // 2 * 2, 1, 2)
    end
  end){grid = 4, block = 64}(t, local_sums)
  t, local_sums = host(t), host(local_sums)
  print(T, t[0], t[3], t[4], t[5], t[6], t[7], local_sums[0], local_sums[1], local_sums[2],
    local_sums[3])
end
-- expect: f16	16.0	16.0	32.0	64.0	32.0	64.0	128.0	128.0	128.0	-128.0
-- expect: bf16	16.0	16.0	32.0	64.0	32.0	64.0	128.0	128.0	128.0	-128.0

-- Coordinates of tiles: the tile's size shows that the offset is even.
local grid = zeros(f16, {4, 6})
kernel("tiled", function(t)
  atomic_add(tile(t, {2, 3}, {threadIdx.x % 2, 1}), {0, 2}, 1, 2)
end){grid = 1, block = 4}(grid)
grid = host(grid)
print(grid[{0, 5}], grid[{1, 5}], grid[{2, 5}], grid[{3, 5}], grid[{0, 4}]) -- expect: 2.0	4.0	2.0	4.0	0.0

-- Guarded: what is outside stays away, and gives 0.
local few, old = full(bf16, 4, 7), zeros(bf16, 8)
kernel("guarded", function(few, old)
  old[threadIdx.x] = atomic_add(guard(few), threadIdx.x, 1)
end){grid = 1, block = 8}(few, old)
few, old = host(few), host(old)
print(few[0], few[3], old[3], old[4])    -- expect: 8.0	8.0	7.0	0.0
