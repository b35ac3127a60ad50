-- histogram.lua: how often each byte value occurs. Each block counts in shared memory with atomic
-- additions, and then adds its counts to the total.
-- Usage: cuttle histogram.lua [N]
local on_gpu = device().sm ~= nil
local N = tonumber(arg[1] or (on_gpu and 1 << 28 or 1 << 18))
local n_bins, n_threads = 256, 256
local n_blocks = on_gpu and 8 * 132 or 16

local histogram = kernel("histogram", function(x, counts)
  local mine = shared(i32, n_bins)
  for i = threadIdx.x, n_bins - 1, n_threads do mine[i] = 0 end
  sync_threads()
  local i = blockIdx.x * n_threads + threadIdx.x
  while i < size(x) do
    atomic_add(mine, x[i] & (n_bins - 1), 1)
    i = i + gridDim.x * n_threads
  end
  sync_threads()
  for b = threadIdx.x, n_bins - 1, n_threads do atomic_add(counts, b, mine[b]) end
end)

-- A generator of numbers that both sides know.
local fill_random = kernel("fill_random", function(x)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(x) then
    local h = u64(i) * 0x9E3779B1
    h = (h ~ (h >> 15)) * 0x85EBCA77
    x[i] = cast(h ~ (h >> 13), i32)
  end
end)

local x, counts = zeros(i32, N), zeros(i32, n_bins)
fill_random{grid = cdiv(N, 256), block = 256}(x)
histogram{grid = n_blocks, block = n_threads}(x, counts)

local n_checked = math.min(N, 1 << 18)
local part, few = zeros(i32, n_checked), zeros(i32, n_bins)
fill_random{grid = cdiv(n_checked, 256), block = 256}(part)
histogram{grid = n_blocks, block = n_threads}(part, few)
local want, got, total, ok = {}, few:totable(), 0, true
for b = 1, n_bins do want[b] = 0 end
for _, v in ipairs(part:totable()) do
  local b = (v & (n_bins - 1)) + 1
  want[b] = want[b] + 1
end
for b = 1, n_bins do ok = ok and got[b] == want[b] end
for _, c in ipairs(counts:totable()) do total = total + c end
ok = ok and total == N
local ms = bench(histogram:prepare{grid = n_blocks, block = n_threads}(x, counts))
print(("histogram of %d numbers on %s: %s"):format(N, device().name, ok and "correct" or "wrong"))
print(("%.4f ms, %.1f GB/s"):format(ms, 4 * N / ms * 1e-6))
os.exit(ok, true)
