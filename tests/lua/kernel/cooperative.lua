-- cooperative = true: all blocks run at once, whatever the number of threads of the CPU engine.

-- Each block waits for the next one, so none can end before the last has begun.
local chain = kernel("chain", function(flags, y)
  local b, last = blockIdx.x, gridDim.x - 1
  local sum = block_reduce(i32(1), "add")
  if threadIdx.x == 0 then
    if b < last then
      while atomic_load(flags, b + 1) == 0 do end
      sum = sum + y[b + 1]
    end
    y[b] = sum
    atomic_store(flags, b, 1)
  end
end)
for _, blocks in ipairs{1, 2, 16, 61} do
  local y = zeros(i32, blocks)
  chain{grid = blocks, block = 64, cooperative = true}(zeros(i32, blocks), y)
  print(blocks, y[0], y[blocks - 1])
end
-- expect: 1	64	64
-- expect: 2	128	64
-- expect: 16	1024	64
-- expect: 61	3904	64

-- All blocks meet, phase after phase: a barrier made of one counter.
local phases = kernel("phases", function(counter, x, y, n)
  local b, blocks = blockIdx.x, gridDim.x
  for phase in range(n) do
    if threadIdx.x == 0 then
      y[b] = x[b] + x[(b + 1) % blocks]
      fence()
      atomic_add(counter, 0, 1)
      while atomic_load(counter, 0) < (2 * phase + 1) * blocks do end
      x[b] = y[b]
      fence()
      atomic_add(counter, 0, 1)
      while atomic_load(counter, 0) < (2 * phase + 2) * blocks do end
    end
  end
end)
local blocks, n = 24, 5
local x, want = arange(i32, blocks), {}
for i = 1, blocks do want[i] = i - 1 end
phases{grid = blocks, block = 32, cooperative = true}(zeros(i32, 1), x, zeros(i32, blocks), n)
for _ = 1, n do
  local now = {}
  for i = 1, blocks do now[i] = want[i] + want[i % blocks + 1] end
  want = now
end
print(table.concat(x:totable(), " ") == table.concat(want, " "))
-- expect: true

-- A launch without blocks does nothing.
chain{grid = 0, block = 64, cooperative = true}(zeros(i32, 1), zeros(i32, 1))

local function says(config, ...)
  local ok, message = pcall(function(...) chain(config)(...) end, ...)
  print(not ok and (message:gsub("^.-: ", "", 1)))
end
says({grid = 2, block = 64, cooperative = true, pdl = true}, zeros(i32, 2), zeros(i32, 2))
-- expect: chain: with pdl = true two grids may run at once, so not all blocks of a cooperative one need fit; leave one of the two options out
says({grid = 2, block = 64, cooperative = 1}, zeros(i32, 2), zeros(i32, 2))
-- expect: chain: launch option cooperative is a number; true or false was expected
