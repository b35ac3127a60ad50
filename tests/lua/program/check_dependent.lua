-- check of launches that may begin before those before them have ended: what is over by then, what is
-- ordered behind grid_dependency_wait, what is not. (tests/check has the messages.)
local check = require "cuttle.check"

-- Kinds, kernels and counts of what check finds in f's launches.
local function found(f)
  local list = {}
  local findings, _, ok, message = check.run(f)
  assert(ok, message)
  for i, finding in ipairs(findings) do
    list[i] = ("%s %s %s %d"):format(finding.kind, finding.kernel, finding.buffer, finding.count)
  end
  return #list == 0 and "nothing" or table.concat(list, ", ")
end

local N <const> = 64
local function dependent(k, ...) k{grid = 1, block = N, pdl = true}(...) end
local function plain(k, ...) k{grid = 1, block = N}(...) end

local copy_all = kernel("copy_all", function(from, to)
  grid_dependency_wait()
  to[threadIdx.x] = from[threadIdx.x]
end)
local peek = kernel("peek", function(from, to)
  local early = from[threadIdx.x]
  grid_dependency_wait()
  to[threadIdx.x] = early
end)
-- Lets the next launch begin before it has waited itself.
local let = kernel("let", function(from, to)
  grid_dependency_launch()
  grid_dependency_wait()
  to[threadIdx.x] = from[threadIdx.x]
end)
local function three() return ones(f32, N), zeros(f32, N), zeros(f32, N) end

print(found(function()  -- expect: nothing
  local x, y, z = three()
  for _ = 1, 3 do
    dependent(copy_all, x, y)
    dependent(copy_all, y, z)
    dependent(let, z, x)
  end
end))
print(found(function()  -- expect: dependent_launch peek from 64
  local x, y, z = three()
  plain(copy_all, x, y)
  dependent(peek, y, z)
end))

-- Over when it begins: a launch without pdl has begun since, or the host has waited.
print(found(function()  -- expect: nothing
  local x, y, z = three()
  local v = zeros(f32, N)
  plain(copy_all, x, y)
  plain(copy_all, x, v)
  dependent(peek, y, z)
end))
print(found(function()  -- expect: nothing
  local x, y, z = three()
  plain(peek, x, y)
  plain(peek, y, z)
end))
for _, wait in ipairs{function() synchronize() end, function(y) return y[0] end, tostring,
                      function(y) fill(y, 2) end, function(y) return y:totable() end,
                      function(y) return allclose(y, y) end} do
  print(found(function()
    local x, y, z = three()
    plain(copy_all, x, y)
    wait(y)
    dependent(peek, y, z)
  end))
end
-- expect: nothing
-- expect: nothing
-- expect: nothing
-- expect: nothing
-- expect: nothing
-- expect: nothing

-- Memory that another tensor had before: nobody has written it since, and no earlier launch uses it.
print(found(function()  -- expect: uninitialised_global peek from 256
  local x, y, z = three()
  plain(copy_all, x, y)
  y:close()
  for _ = 1, 4 do dependent(peek, tensor(f32, N), z) end
end))

-- A launch between that waits before it lets the next one begin: what was before that is over, it is not.
print(found(function()  -- expect: nothing
  local x, y, z = three()
  local v = zeros(f32, N)
  plain(copy_all, x, y)
  dependent(copy_all, x, v)
  dependent(peek, y, z)
end))
print(found(function()  -- expect: dependent_launch peek from 64
  local x, y, z = three()
  local v = zeros(f32, N)
  plain(copy_all, x, y)
  dependent(copy_all, x, v)
  dependent(peek, v, z)
end))
print(found(function()  -- expect: dependent_launch peek from 64
  local x, y, z = three()
  local v = zeros(f32, N)
  plain(copy_all, x, y)
  dependent(let, x, v)
  dependent(peek, y, z)
end))

-- Other elements of the same tensor; reads of what is only read; atomic operations on both sides.
local half = kernel("half", function(x, first)
  x[2 * threadIdx.x + first] = 1
  grid_dependency_wait()
end)
print(found(function()  -- expect: nothing
  local x = zeros(f32, 2 * N)
  plain(half, x, 0)
  dependent(half, x, 1)
end))
print(found(function()  -- expect: dependent_launch half x 64
  local x = zeros(f32, 2 * N)
  plain(half, x, 0)
  dependent(half, x, 1)
  dependent(half, x, 1)
end))
print(found(function()  -- expect: nothing
  local x, y, z = three()
  plain(copy_all, x, y)
  dependent(peek, x, z)
end))
local count = kernel("count", function(n, early)
  if early == 1 then atomic_add(n, 0, 1) else n[1] = 0 end
  grid_dependency_wait()
end)
print(found(function()  -- expect: nothing
  local n = zeros(i32, 2)
  plain(count, n, 1)
  dependent(count, n, 1)
end))

-- Who is behind the wait of another thread.
local function ordered(name, order)
  local k = kernel(name, function(from, to, n)
    local s, full = shared(f32, N), mbarrier(1, 1)
    sync_threads()
    order(n, full, s)
    to[threadIdx.x] = from[threadIdx.x]
  end)
  return found(function()
    local x, y, z = three()
    local n = zeros(i32, 1)
    plain(k, x, y, n)
    synchronize()
    plain(copy_all, x, y)
    clear(n)
    plain(copy_all, x, y)
    dependent(k, y, z, n)
  end)
end
print(ordered("barrier", function()  -- expect: nothing
  if threadIdx.x == 40 then grid_dependency_wait() end
  sync_threads()
end))
print(ordered("by_mbarrier", function(_, full)  -- expect: nothing
  if threadIdx.x == 40 then
    grid_dependency_wait()
    full[0]:arrive()
  end
  full[0]:wait(0)
end))
print(ordered("by_warp", function()  -- expect: dependent_launch by_warp from 32
  if threadIdx.x == 3 then grid_dependency_wait() end
  sync_warp()
end))
print(ordered("nobody", function()  -- expect: dependent_launch nobody from 63
  if threadIdx.x == 40 then grid_dependency_wait() end
end))


-- Blocks of a cluster, and blocks that a flag orders, or not.
local function between(name, launch, order)
  local k = kernel(name, function(from, to, flag)
    order(flag)
    to[blockIdx.x * 32 + threadIdx.x] = from[blockIdx.x * 32 + threadIdx.x]
  end)
  return found(function()
    local x, y, z = three()
    local flag = zeros(i32, 1)
    plain(copy_all, x, y)
    k(launch)(y, z, flag)
  end)
end
local pair = {grid = 2, block = 32, cluster = 2, pdl = true}
print(between("in_cluster", pair, function()  -- expect: nothing
  if cluster_rank() == 1 then grid_dependency_wait() end
  sync_cluster()
end))
print(between("alone", pair, function()  -- expect: dependent_launch alone from 32
  if cluster_rank() == 1 then grid_dependency_wait() end
end))
-- Naming another block's memory is no wait.
print(between("by_remote", pair, function()  -- expect: dependent_launch by_remote from 32
  local s = shared(f32, 32)
  local others = map_shared_rank(s, 1 - cluster_rank())
  sync_cluster()
  others[threadIdx.x] = 1.0
  sync_cluster()
  if threadIdx.x >= 16 then grid_dependency_wait() end
end))
local function by_flag(released)
  return function(flag)
    if blockIdx.x == 0 then
      if released then grid_dependency_wait() end
      if threadIdx.x == 0 then atomic_store(flag, 0, 1) end
      if not released then grid_dependency_wait() end
    else
      while atomic_load(flag, 0) == 0 do end
    end
  end
end
local two = {grid = 2, block = 32, pdl = true}
print(between("flag", two, by_flag(true)))  -- expect: nothing
print(between("late", two, by_flag(false)))  -- expect: dependent_launch late from 32

-- A producer warp that waits, and consumers that do not: what they read comes by TMA.
local stream = kernel("stream", function(A, B)
  local s = shared(f32, layout({8, 32, 2}, {32, 1, 256}))
  local full, empty = mbarrier(2, 1), mbarrier(2, 1)
  sync_threads()
  if threadIdx.x < 32 then
    if threadIdx.x == 0 then
      grid_dependency_wait()
      local state = pipeline_state(2, {parity = 1})
      for i = 0, 3 do
        empty[state.slot]:wait(state.parity)
        full[state.slot]:arrive_expect_tx(8 * 32 * 4)
        tma_load(tile(tma_tensor(A), {8, 32}, {i, 0}), s(_, _, state.slot), full[state.slot])
        state:advance()
      end
    end
  else
    local state = pipeline_state(2)
    for i = 0, 3 do
      full[state.slot]:wait(state.parity)
      for j = 0, 7 do
        B[{i * 8 + j, threadIdx.x - 32}] = 2 * s[{j, threadIdx.x - 32, state.slot}]
      end
      fence_proxy_async()
      sync_warp()
      if threadIdx.x == 32 then empty[state.slot]:arrive() end
      state:advance()
    end
  end
  grid_dependency_launch()
end)
print(found(function()  -- expect: nothing
  local A, B = rand(f32, row_major{32, 32}), zeros(f32, row_major{32, 32})
  for _ = 1, 3 do
    stream{grid = 1, block = 64, pdl = true}(A, B)
    stream{grid = 1, block = 64, pdl = true}(B, A)
  end
end))

-- Products that read one another's results.
print(found(function()  -- expect: nothing
  local A, B = rand(bf16, row_major{64, 64}), rand(bf16, row_major{64, 64})
  local C, D = zeros(bf16, row_major{64, 64}), zeros(bf16, row_major{64, 64})
  for _ = 1, 2 do
    matmul(A, B, C, {config = "hopper 64x64x64"})
    matmul(C, B, D, {config = "hopper 64x64x64"})
  end
end))
