-- Text of a value that there is only on the device.
local k = kernel("text", function(x)
  local name = "thread " .. threadIdx.x -- expect error: '..' on a run-time value; use printf
  x[0] = #name
end)
k{grid = 1, block = 32}(zeros(f32, 32))
