-- CUDA's mask of lanes in front of a shuffle.
kernel("k", function(x)
  x[0] = shfl_down(0xffffffff, x[threadIdx.x], 16) -- expect error: shfl_down: no mask of lanes goes in front, as all lanes take part; write shfl_down(value, n)
end){grid = 1, block = 32}(zeros(f32, 32))
