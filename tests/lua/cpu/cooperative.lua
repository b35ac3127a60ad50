-- What goes wrong in cooperative launches. On a GPU most of these would wait for ever.
device("cpu")
local function says(f)
  local ok, message = pcall(f)
  return not ok and (message:gsub("^.-: ", "", 1):gsub("line %d+", "line N"))
end

-- A deadlock: all blocks have begun, so the message ends without a count of those that have not.
local stuck = kernel("stuck", function(t)
  while atomic_load(t, 0) == 0 do end
end)
local ok, message = pcall(function()
  stuck{grid = 10, block = 32, cooperative = true}(zeros(i32, 1))
end)
print(ok, (message:gsub("^.-: ", "", 1):gsub("line %d+", "line N")))
-- expect: false	deadlock: thread (0,0,0) of block (0,0,0) repeats the loop at line N, and nothing that runs can end it

-- Blocks of an ordinary launch that wait for the last one: the message names the option.
local last = kernel("last", function(t)
  if blockIdx.x == gridDim.x - 1 then atomic_store(t, 0, 1) end
  while atomic_load(t, 0) == 0 do end
end)
ok, message = pcall(function() last{grid = 5000, block = 32}(zeros(i32, 1)) end)
print(ok, message:match("; %d+ (blocks .*)"))
-- expect: false	blocks have not begun: wait only for blocks with lower numbers, or launch with cooperative = true
last{grid = 5000, block = 32, cooperative = true}(zeros(i32, 1))
ok, message = pcall(function()
  last{grid = 20000, block = 32, cooperative = true}(zeros(i32, 1))
end)
print(ok, (message:gsub("^.-: ", "", 1)))
-- expect: false	last: a cooperative grid of 20000 blocks; the CPU engine keeps at most 16384 resident. Launch fewer blocks, and let each do several parts of the work

-- A failed assertion ends the launch, although the other blocks wait; the next launch works.
local checked = kernel("checked", function(z, n)
  assert(blockIdx.x ~= n, "too many")
  sync_grid()
  if threadIdx.x == 0 then z[blockIdx.x] = z[blockIdx.x] + 1 end
end)
local z = zeros(i32, 24)
print(says(function()
  checked{grid = 24, block = 32, cooperative = true}(z, 20)
  z:totable() -- waits
end))
-- expect: assert: too many, by thread (0,0,0) of block (20,0,0)
fill(z, 0)
checked{grid = 24, block = 32, cooperative = true}(z, 24)
print(table.concat(z:totable(), "")) -- expect: 111111111111111111111111

-- Blocks that never come to the barrier of the grid: they have ended, or repeat a loop.
local skipped = kernel("skipped", function(t)
  if blockIdx.x < 6 then sync_grid() end
  t[blockIdx.x] = 1
end)
print(says(function() skipped{grid = 8, block = 64, cooperative = true}(zeros(i32, 8)) end))
-- expect: sync_grid: block (0,0,0) waits for 2 of 8 blocks that never come: block (6,0,0) and 1 more have ended; all blocks of the grid must reach it
local looping = kernel("looping", function(t)
  if blockIdx.x == 3 then
    while atomic_load(t, 0) == 0 do end
  end
  sync_grid()
end)
print(says(function() looping{grid = 8, block = 32, cooperative = true}(zeros(i32, 8)) end))
-- expect: deadlock: thread (0,0,0) of block (3,0,0) repeats the loop at line N, and nothing that runs can end it; 7 blocks wait in sync_grid
