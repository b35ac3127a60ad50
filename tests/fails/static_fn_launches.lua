-- A launch while a kernel is traced would have to trace another one.
local x = zeros(f32, 32)
local inner = kernel("inner", function(t) t[threadIdx.x] = 1.0 end)
local launch = static_fn(function()
  inner{grid = 1, block = 32}(x) -- expect error: a kernel cannot launch a kernel; call a helper function
end)
local k = kernel("outer", function(t) launch() t[0] = 2.0 end)
k{grid = 1, block = 32}(x)
