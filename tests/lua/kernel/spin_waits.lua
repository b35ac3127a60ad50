-- Loops that wait: for a warp of the same block, for blocks before, for a lock.
local out = zeros(i32, 2)
kernel("between_warps", function(out)
  local s = shared(i32, 2)
  if threadIdx.x == 0 then s[0] = 0 end
  sync_threads()
  if threadIdx.x < 32 then
    while atomic_load(s, 0) == 0 do end
    out[0] = s[1]
  elseif threadIdx.x == 32 then
    s[1] = 77
    atomic_store(s, 0, 1)
  end
  sync_threads()
  if threadIdx.x == 0 then out[1] = s[0] end
end){grid = 3, block = 64}(out)
print(out[0], out[1])                    -- expect: 77	1

-- A chain: each block waits for the one before it.
local chain = zeros(i32, 300)
kernel("chain", function(c)
  local b = blockIdx.x
  if threadIdx.x == 0 then
    if b == 0 then
      atomic_store(c, b, 1)
    else
      local before
      repeat before = atomic_load(c, b - 1) until before ~= 0
      atomic_store(c, b, before + 1)
    end
  end
end){grid = 300, block = 64}(chain)
print(chain[0], chain[150], chain[299])  -- expect: 1	151	300

-- A lock, taken by one thread of each warp.
local lock, count = zeros(i32, 1), zeros(i32, 1)
kernel("lock", function(lock, count)
  if threadIdx.x % 32 == 0 then
    while atomic_cas(lock, 0, 0, 1) ~= 0 do end
    fence()
    atomic_store(count, 0, atomic_load(count, 0) + 1)
    fence()
    atomic_store(lock, 0, 0)
  end
end){grid = 50, block = 96}(lock, count)
print(lock[0], count[0])                 -- expect: 0	150

-- A loop with a bound gives way, too.
local found = zeros(i32, 1)
kernel("bounded", function(found)
  local s = shared(i32, 1)
  if threadIdx.x == 0 then s[0] = 0 end
  sync_threads()
  if threadIdx.x < 32 then
    for i in range(1 << 30) do
      if atomic_load(s, 0) ~= 0 then
        found[0] = 1
        break
      end
    end
  else
    atomic_store(s, 0, 1)
  end
end){grid = 1, block = 64}(found)
print(found[0])                          -- expect: 1

-- Nothing is taken for a deadlock that gets on: the inner loop runs the same way in each turn.
local steps = zeros(i32, 1)
kernel("nested", function(steps, n)
  for _ in range(n) do
    local i = 0
    while atomic_load(steps, 0) >= 0 and i < 64 do i = i + 1 end
  end
  steps[0] = 5
end){grid = 1, block = 1}(steps, 1000)
print(steps[0])                          -- expect: 5
