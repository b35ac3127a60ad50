local k = kernel("k", function(x)
  named_barrier(threadIdx.x // 32, 32):sync() -- expect error: named_barrier: number 0, or not the same in all lanes of a warp; 1 to 15 was expected
end)
k{grid = 1, block = 64}(zeros(f32, 1))
