-- A kernel that launches another.
local inner = kernel("inner", function(x) x[threadIdx.x] = 1.0 end)
local outer = kernel("outer", function(x)
  inner{grid = 1, block = 32}(x) -- expect error: a kernel cannot launch a kernel; call a helper function
end)
outer{grid = 1, block = 32}(zeros(f32, 32))
