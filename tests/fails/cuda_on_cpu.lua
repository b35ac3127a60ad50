-- The CPU engine cannot run CUDA C.
local k = kernel("escape", function(x)
  x[threadIdx.x] = cuda("__sinf($v)", {v = x[threadIdx.x]}, f32) -- expect error: cuda[[...]]: the CPU engine cannot run CUDA C; give a Lua twin or run on a CUDA device
end)
k{grid = 1, block = 32}(zeros(f32, 32))
