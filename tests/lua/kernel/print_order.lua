-- printf from threads of many blocks: what is printed comes when the launch is over (on a GPU at the next
-- wait), in the order of blocks, threads and, in a thread, of the program.
kernel("order", function(x)
  local i = threadIdx.x
  if i % 16 == 15 then printf("block %d, thread %d: %g;", blockIdx.x, i, x[i]) end
  if i == 15 then printf(" again;") end
  if i == 31 then printf("\n") end
end){grid = 3, block = 40}(arange(f32, 40))
synchronize()
-- expect: block 0, thread 15: 15; again;block 0, thread 31: 31;
-- expect: block 1, thread 15: 15; again;block 1, thread 31: 31;
-- expect: block 2, thread 15: 15; again;block 2, thread 31: 31;

-- Many blocks on many threads of the host.
kernel("many", function(n)
  if threadIdx.x == 0 and blockIdx.x % n == 0 then printf("%d;", blockIdx.x) end
  if threadIdx.x == 1 and blockIdx.x == gridDim.x - 1 then printf("\n") end
end){grid = 5000, block = 64}(500)
synchronize()
-- expect: 0;500;1000;1500;2000;2500;3000;3500;4000;4500;

-- In a loop, the lines of one thread stay together; lanes that are elsewhere print nothing.
kernel("loop", function(n)
  for k in range(n) do
    if (threadIdx.x + k) % 2 == 0 then printf("%d:%d;", threadIdx.x, k) end
  end
  printf("\n")
end){grid = 1, block = 2}(5)
synchronize()
-- expect: 0:0;0:2;0:4;
-- expect: 1:1;1:3;

-- Blocks and threads of three dimensions count as CUDA numbers them, x first.
kernel("dimensions", function()
  if threadIdx.x + threadIdx.y + threadIdx.z == 2 and blockIdx.x + blockIdx.y == 1 then
    printf("%d%d%d.%d%d;", blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y)
  end
end){grid = {2, 2, 2}, block = {2, 2, 2}}()
synchronize()
print()
-- expect: 100.11;100.10;100.01;010.11;010.10;010.01;101.11;101.10;101.01;011.11;011.10;011.01;

-- Launches come one after another.
local k = kernel("launches", function(n) printf("%d:%d;", n, threadIdx.x) end){grid = 1, block = 2}
for i = 1, 3 do k(i) end
synchronize()
print()
-- expect: 1:0;1:1;2:0;2:1;3:0;3:1;

-- The kernel may be gone before the wait.
do
  local gone = kernel("gone", function(n) printf("gone %d\n", n) end)
  gone{grid = 1, block = 1}(1)
  gone:reset()
  gone{grid = 1, block = 1}(2)
end
synchronize()
-- expect: gone 1
-- expect: gone 2

-- What a thread printed before its assertion failed is there, what stands behind it is not.
print(pcall(function()
  kernel("stops", function(n)
    if threadIdx.x == 1 then
      printf("before;")
      assert(threadIdx.x == n, "stop")
      printf("behind;")
    end
  end){grid = 1, block = 2}(0)
  synchronize()
end))
-- expect: before;false	tests/lua/kernel/print_order.lua:66: assert: stop, by thread (1,0,0) of block (0,0,0)

-- Reading a tensor is a wait, too.
local x = zeros(i32, 2)
kernel("writes", function(x)
  printf("thread %d;", threadIdx.x)
  x[threadIdx.x] = threadIdx.x + 1
end){grid = 1, block = 2}(x)
print(x[1])
-- expect: thread 0;thread 1;2
