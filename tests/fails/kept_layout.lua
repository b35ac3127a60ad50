-- The same of a layout with run-time extents.
local kept = {}
kernel("first", function(x) kept.l = x.layout end){grid = 1, block = 32}(zeros(f32, 32))
local k = kernel("second", function(x)
  local rows = composition(kept.l, layout(4)) -- expect error: a layout with run-time values was made in kernel 'first' (tests/fails/kept_layout.lua:3) and is used in kernel 'second' (tests/fails/kept_layout.lua:4); it exists only while that kernel is traced
  x[0] = rows(1)
end)
k{grid = 1, block = 32}(zeros(f32, 32))
