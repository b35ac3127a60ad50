local mma = tiled_mma("UniversalFMA<f32>", { 16, 16 })
local k = kernel("k", function(C)
  clear(mma:get_slice(threadIdx.x):partition_C(C)) -- expect error: get_slice: 256 threads share the work, but a block has 128 of them; launch it with block = 256
end)
k { grid = 1, block = 128 }(zeros(f32, { 32, 32 }))
