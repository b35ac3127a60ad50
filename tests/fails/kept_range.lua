-- The same of what range() gives: its bounds may be run-time values.
local kept = {}
kernel("first", function(x) kept.r = range(size(x)) end){grid = 1, block = 32}(zeros(f32, 32))
local k = kernel("second", function(x)
  for i in kept.r do -- expect error: a range was kept from a kernel whose trace has ended; make it in each kernel
    x[i] = 1.0
  end
end)
k{grid = 1, block = 32}(zeros(f32, 32))
