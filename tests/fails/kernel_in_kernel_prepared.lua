-- A launch that was prepared before.
local x = zeros(f32, 32)
local inner = kernel("inner", function(t) t[threadIdx.x] = 1.0 end)
local launch = inner:prepare{grid = 1, block = 32}(x)
local outer = kernel("outer", function()
  launch() -- expect error: a kernel cannot launch a kernel; call a helper function
end)
outer{grid = 1, block = 32}()
