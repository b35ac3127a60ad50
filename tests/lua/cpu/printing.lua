-- printf from threads: the CPU engine prints when the launch is over, in the order of blocks and threads.
kernel("order", function(x)
  local i = threadIdx.x
  if i % 16 == 15 then printf("block %d, thread %d: %g;", blockIdx.x, i, x[i]) end
  if i == 15 then printf(" again;") end
  if i == 31 then printf("\n") end
end){grid = 3, block = 40}(arange(f32, 40))
-- expect: block 0, thread 15: 15; again;block 0, thread 31: 31;
-- expect: block 1, thread 15: 15; again;block 1, thread 31: 31;
-- expect: block 2, thread 15: 15; again;block 2, thread 31: 31;

-- Many blocks on many threads of the host.
kernel("many", function(n)
  if threadIdx.x == 0 and blockIdx.x % n == 0 then printf("%d;", blockIdx.x) end
  if threadIdx.x == 1 and blockIdx.x == gridDim.x - 1 then printf("\n") end
end){grid = 5000, block = 64}(500)
-- expect: 0;500;1000;1500;2000;2500;3000;3500;4000;4500;

-- In a loop, the lines of one thread stay together; lanes that are elsewhere print nothing.
kernel("loop", function(n)
  for k in range(n) do
    if (threadIdx.x + k) % 2 == 0 then printf("%d:%d;", threadIdx.x, k) end
  end
  printf("\n")
end){grid = 1, block = 2}(5)
-- expect: 0:0;0:2;0:4;
-- expect: 1:1;1:3;

-- What was printed before a failure is shown.
print(pcall(kernel("fails", function(x)
  printf("thread %d\n", threadIdx.x)
  if threadIdx.x == 1 then x[7] = 0.0 end
end){grid = 1, block = 2}, zeros(f32, 4)))
-- expect: thread 0
-- expect: thread 1
-- expect: false	tests/lua/cpu/printing.lua:32: out of bounds: write of x at 7, extent 4, by thread (1,0,0) of block (0,0,0)
