-- Memory of a kernel has a static size.
local k = kernel("sized", function(n)
  shared(f32, {n, 8}) -- expect error: shared: the shape must be static, but this one holds run-time values
end)
k{grid = 1, block = 32}(16)
