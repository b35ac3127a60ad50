-- A thread layout smaller than the block, where the index is not the thread's own number: each warp
-- shares out a tile of its own. Where it is the thread's own number, the sizes must agree.
local x, y = arange(f32, {8, 16, 4}), zeros(f32, {8, 16, 4})
local warps = kernel("warps", function(x, y)
  local lane, warp = threadIdx.x % 32, threadIdx.x // 32
  local from, to = x(_, _, warp), y(_, _, warp)
  copy(parallelize(from, layout{4, 8}, lane), parallelize(to, layout{4, 8}, lane))
end, {static_shapes = true})
warps{grid = 1, block = 128}(x, y)
local same = true
for i = 0, 511 do same = same and x[i] == y[i] end
print(same) -- expect: true

local function refused(block, index)
  local k = kernel("k", function(y) clear(parallelize(y(_, _, 0), layout{4, 8}, index())) end)
  local fine, why = pcall(k{grid = 1, block = block}, y)
  return fine or why:match("has 32 threads but the block has %d+")
end
print(refused(64, function() return threadIdx.x end)) -- expect: has 32 threads but the block has 64
print(refused(16, function() return threadIdx.x end)) -- expect: has 32 threads but the block has 16
print(refused(16, function() return threadIdx.x % 32 end)) -- expect: has 32 threads but the block has 16
print(refused({32, 2}, function() -- expect: has 32 threads but the block has 64
  return threadIdx.x + blockDim.x * threadIdx.y
end))
print(refused({8, 4, 2}, function() -- expect: has 32 threads but the block has 64
  return i64(threadIdx.z) * 32 + (threadIdx.y << 3) + threadIdx.x
end))
print(refused({8, 4, 2}, function() return (threadIdx.y << 3) + threadIdx.x end)) -- expect: true
print(refused(64, function() return threadIdx.x // 2 end)) -- expect: true
print(refused(32, function() return threadIdx.x end)) -- expect: true
