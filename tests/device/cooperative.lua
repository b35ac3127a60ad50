-- Cooperative launches on a CUDA device: as many blocks as fit, and one more. Prints TAP.
local tap = dofile "tests/support/tap.lua"
if #devices() < 2 then
  tap.skip_all "no CUDA device"
end

local here = device("cuda:0")
-- Each block waits for all of them. The shared memory decides how many of them an SM holds.
local meet = kernel("meet", function(counter, y)
  local kept = shared(i32, {4096})
  if threadIdx.x == 0 then
    kept[0] = blockIdx.x
    atomic_add(counter, 0, 1)
    while atomic_load(counter, 0) < gridDim.x do end
    y[blockIdx.x] = kept[0]
  end
end)

local function run(blocks, threads)
  local counter, y = zeros(i32, 1), full(i32, blocks, -1)
  meet{grid = blocks, block = threads, cooperative = true}(counter, y)
  local wrong = 0
  for i, v in ipairs(y:totable()) do wrong = wrong + (v == i - 1 and 0 or 1) end
  return counter:totable()[1], wrong
end

-- The error of a launch with one block too many; the launch after it must work.
local function check_refusal(blocks, threads, fits)
  local ok, message = pcall(run, blocks, threads)
  local want = ("a cooperative grid of %d blocks; '%s' runs at most %d blocks of kernel 'meet' at")
    :format(blocks, here.name, fits)
  tap.ok(not ok and message:find(want, 1, true) ~= nil, "one more is refused", message)
  tap.is(run(1, threads), 1, "a launch after the refused one runs")
end

for _, threads in ipairs{64, 256, 1024} do
  local one = meet{grid = 1, block = threads}
  local per_sm = one:info(zeros(i32, 1), zeros(i32, 1)).blocks_per_sm
  local fits = per_sm * here.n_sms
  local met, wrong = run(fits, threads)
  tap.is(met, fits, ("%d blocks of %d threads meet"):format(fits, threads))
  tap.is(wrong, 0, ("all %d write their number"):format(fits))
  check_refusal(fits + 1, threads, fits)
end

-- Barriers of the whole grid: in each step a block takes what the next one wrote in the step before.
local rotate = kernel("rotate", function(x, y, steps)
  local b, n = blockIdx.x, gridDim.x
  for _ in range(steps) do
    y[b * 64 + threadIdx.x] = x[(b + 1) % n * 64 + threadIdx.x] + 1
    sync_grid()
    x[b * 64 + threadIdx.x] = y[b * 64 + threadIdx.x]
    sync_grid()
  end
end)
local function wrong_after(x, blocks, steps)
  local wrong = 0
  for i, v in ipairs(x:totable()) do
    local b, t = (i - 1) // 64, (i - 1) % 64
    wrong = wrong + (v == (b + steps) % blocks * 64 + t + steps and 0 or 1)
  end
  return wrong
end
for _, blocks in ipairs{1, 2, here.n_sms, 4 * here.n_sms} do
  local x, y = arange(i32, blocks * 64), zeros(i32, blocks * 64)
  rotate{grid = blocks, block = 64, cooperative = true}(x, y, 1000)
  tap.is(wrong_after(x, blocks, 1000), 0, ("2000 barriers of %d blocks"):format(blocks))
end

-- Two streams at once: each has a word of its own to count on.
local streams, tensors = {stream(), stream()}, {}
for i, s in ipairs(streams) do
  tensors[i] = {arange(i32, 32 * 64), zeros(i32, 32 * 64)}
  synchronize()
  for _ = 1, 10 do
    rotate{grid = 32, block = 64, cooperative = true, stream = s}(tensors[i][1], tensors[i][2], 100)
  end
end
synchronize()
for i = 1, 2 do
  tap.is(wrong_after(tensors[i][1], 32, 1000), 0, ("stream %d"):format(i))
end

-- A failed assertion ends the launch, although other blocks wait; the next launch works.
local checked = kernel("checked", function(z, n)
  assert(blockIdx.x ~= n, "too many")
  for _ in range(100) do sync_grid() end
  if threadIdx.x == 0 then z[blockIdx.x] = z[blockIdx.x] + 1 end
end)
local z = zeros(i32, 64)
local function check_all(n)
  checked{grid = 64, block = 64, cooperative = true}(z, n)
  synchronize()
end
local ok, message = pcall(check_all, 40)
tap.ok(not ok and message:find("too many", 1, true) ~= nil, "the assertion is reported", message)
fill(z, 0)
check_all(64)
local sum = 0
for _, v in ipairs(z:totable()) do sum = sum + v end
tap.is(sum, 64, "all blocks pass after it")
tap.done()
