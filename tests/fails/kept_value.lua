-- A run-time value exists only in its own trace.
local kept = {}
kernel("first", function() kept.i = threadIdx.x end){grid = 1, block = 32}()
local k = kernel("second", function(x)
  x[kept.i] = 1.0 -- expect error: a run-time value was kept from a kernel whose trace has ended
end)
k{grid = 1, block = 32}(zeros(f32, 32))
