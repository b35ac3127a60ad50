local k = kernel("k", function(x)
  if threadIdx.x < 40 then
    named_barrier(1, 64):sync() -- expect error: named_barrier: thread (32,0,0) of block (0,0,0) waits at line 3, but thread (40,0,0) is past line 2; all threads of a warp must reach the same named_barrier
  end
  x[0] = 1
end)
k{grid = 1, block = 64}(zeros(f32, 1))
