-- A captured tensor of the host: a kernel has only its arguments.
local bias = zeros(f32, 32)
local k = kernel("captures", function(x)
  x[threadIdx.x] = x[threadIdx.x] + bias[threadIdx.x] -- expect error: bias[?]: a tensor of the host is not at hand inside a kernel; pass it as an argument
end)
k{grid = 1, block = 32}(zeros(f32, 32))
