local k = kernel("k", function(x)
  named_barrier(1, 48):sync() -- expect error: named_barrier: 48 threads; whole warps of the block meet there, so a multiple of 32 up to 64 was expected
end)
k{grid = 1, block = 64}(zeros(f32, 1))
