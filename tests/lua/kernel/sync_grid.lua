-- sync_grid: all blocks of a cooperative launch meet, whatever the number of threads of the CPU engine.

-- Jacobi's method for a row of points between two fixed ends: a step reads what the neighbours wrote in the
-- step before.
local jacobi = kernel("jacobi", function(x, y, steps)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  for _ in range(steps) do
    if i > 0 and i < size(x) - 1 then y[i] = 0.5 * (x[i - 1] + x[i + 1]) end
    sync_grid()
    x[i] = y[i]
    sync_grid()
  end
end)

local function by_hand(x, steps)
  for _ = 1, steps do
    local y = {table.unpack(x)}
    for i = 2, #x - 1 do y[i] = 0.5 * (x[i - 1] + x[i + 1]) end
    x = y
  end
  return x
end

local function worst(got, want)
  local most = 0.0
  for i, v in ipairs(want) do most = math.max(most, math.abs(got[i] - v)) end
  return most
end

for _, blocks in ipairs{1, 2, 7, 128} do
  local n = 32 * blocks
  local start = {}
  for i = 1, n do start[i] = i % 7 * 64.0 end
  local x, y = from_table(f32, start), from_table(f32, start)
  jacobi{grid = blocks, block = 32, cooperative = true}(x, y, 9)
  print(blocks, worst(x:totable(), by_hand(start, 9)) < 1e-3)
end
-- expect: 1	true
-- expect: 2	true
-- expect: 7	true
-- expect: 128	true

-- Barriers at different lines are one barrier; a helper may have one. Each block counts the blocks that came.
local function meet() sync_grid() end
local counted = kernel("counted", function(counter, y)
  local b = blockIdx.x + gridDim.x * blockIdx.y
  local n = gridDim.x * gridDim.y
  if threadIdx.x == 0 then atomic_add(counter, 0, 1) end
  if b % 2 == 0 then sync_grid() else meet() end
  local first = atomic_load(counter, 0)
  sync_grid()
  if threadIdx.x == 0 then atomic_add(counter, 0, 1) end
  for _ in range(3) do meet() end
  if threadIdx.x == 0 then y[b] = where(first == n and atomic_load(counter, 0) == 2 * n, 1, 0) end
end)
local function total(grid, block, cluster)
  local y = zeros(i32, 96)
  counted{grid = grid, block = block, cluster = cluster, cooperative = true}(zeros(i32, 1), y)
  local sum = 0
  for _, v in ipairs(y:totable()) do sum = sum + v end
  return sum
end
print(total(1, 33), total(96, 64), total({8, 4}, 96)) -- expect: 1	96	32

-- What any thread of another block wrote is seen by all threads.
local hand = kernel("hand", function(x, y)
  local b, n = blockIdx.x, gridDim.x
  if threadIdx.x < 64 then x[b * 64 + threadIdx.x] = b * 1000 + threadIdx.x end
  sync_grid()
  y[b * 64 + threadIdx.x % 64] = x[(b + n // 2) % n * 64 + 63 - threadIdx.x % 64]
end)
local x, y = zeros(i32, 64 * 50), zeros(i32, 64 * 50)
hand{grid = 50, block = 128, cooperative = true}(x, y)
local wrong = 0
for i, v in ipairs(y:totable()) do
  local b, t = (i - 1) // 64, (i - 1) % 64
  wrong = wrong + (v == (b + 25) % 50 * 1000 + 63 - t and 0 or 1)
end
print(wrong) -- expect: 0

-- Without the option the launch is refused, at the launch's line; with it the same kernel runs.
local function says(f)
  local ok, message = pcall(f)
  return not ok and (message:gsub("^.-: ", "", 1):gsub("line %d+", "line N"))
end
print(says(function() hand{grid = 50, block = 128}(x, y) end))
-- expect: hand: sync_grid, at line N, waits for all blocks of the grid, but they need not run at the same time; launch with cooperative = true
hand{grid = 50, block = 128, cooperative = true}(x, y)
