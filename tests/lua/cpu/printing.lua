-- printf and failures: the CPU engine prints when the launch is over.
-- What was printed before a failure is shown.
print(pcall(kernel("fails", function(x)
  printf("thread %d\n", threadIdx.x)
  if threadIdx.x == 1 then x[7] = 0.0 end
end){grid = 1, block = 2}, zeros(f32, 4)))
-- expect: thread 0
-- expect: thread 1
-- expect: false	tests/lua/cpu/printing.lua:5: out of bounds: write of x at 7, extent 4, by thread (1,0,0) of block (0,0,0)
