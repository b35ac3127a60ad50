-- The kernel's function closes, while it is traced, what the launch is to work on.
local x = zeros(f32, 32)
local k = kernel("closes", function(t)
  x:close()
  t[threadIdx.x] = 1.0
end)
k{grid = 1, block = 32}(x) -- expect error: closes: argument 1 was closed while the kernel was traced
