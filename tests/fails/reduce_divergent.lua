-- A reduction that some threads do not take part in: the line is the script's.
local k = kernel("k", function(x, n)
  if threadIdx.x < n then
    x[0] = warp_reduce(x[threadIdx.x], "add") -- expect error: shfl_xor: thread (0,0,0) of block (0,0,0) waits at line 4, but thread (20,0,0) is past line 3; all threads of a warp must reach the same shfl_xor
  end
end)
k{grid = 1, block = 32}(zeros(f32, 32), 20)
