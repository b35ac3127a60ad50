-- A condition of another trace is no condition here.
local kept = {}
kernel("first", function(x) kept.c = x[0] > 1.0 end){grid = 1, block = 32}(zeros(f32, 32))
local k = kernel("second", function(x)
  if kept.c then -- expect error: a run-time value was made in kernel 'first' (tests/fails/kept_condition.lua:3) and is used in kernel 'second' (tests/fails/kept_condition.lua:4); it exists only while that kernel is traced
    x[0] = 1.0
  end
end)
k{grid = 1, block = 32}(zeros(f32, 32))
