-- The same of a kernel's tensor.
local kept = {}
kernel("first", function(x) kept.x = x end){grid = 1, block = 32}(zeros(f32, 32))
local k = kernel("second", function(y)
  copy(kept.x, y) -- expect error: tensor x was made in kernel 'first' (tests/fails/kept_tensor.lua:3) and is used in kernel 'second' (tests/fails/kept_tensor.lua:4); it exists only while that kernel is traced
end)
k{grid = 1, block = 32}(zeros(f32, 32))
