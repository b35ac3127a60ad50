-- A run-time value exists only in its own trace.
local kept = {}
kernel("first", function() kept.i = threadIdx.x end){grid = 1, block = 32}()
local k = kernel("second", function(x)
  x[kept.i] = 1.0 -- expect error: a run-time value was made in kernel 'first' (tests/fails/kept_value.lua:3) and is used in kernel 'second' (tests/fails/kept_value.lua:4); it exists only while that kernel is traced
end)
k{grid = 1, block = 32}(zeros(f32, 32))
