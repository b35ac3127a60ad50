-- The same of a kernel's tensor.
local kept = {}
kernel("first", function(x) kept.x = x end){grid = 1, block = 32}(zeros(f32, 32))
local k = kernel("second", function(y)
  copy(kept.x, y) -- expect error: copy: x is a tensor of a kernel whose trace has ended; it exists only there
end)
k{grid = 1, block = 32}(zeros(f32, 32))
