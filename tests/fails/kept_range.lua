-- The same of what range() gives: its bounds may be run-time values.
local kept = {}
kernel("first", function(x) kept.r = range(size(x)) end){grid = 1, block = 32}(zeros(f32, 32))
local k = kernel("second", function(x)
  for i in kept.r do -- expect error: a range was made in kernel 'first' (tests/fails/kept_range.lua:3) and is used in kernel 'second' (tests/fails/kept_range.lua:4); it exists only while that kernel is traced
    x[i] = 1.0
  end
end)
k{grid = 1, block = 32}(zeros(f32, 32))
