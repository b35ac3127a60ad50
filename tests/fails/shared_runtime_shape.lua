-- Memory of a kernel has a static size.
local k = kernel("sized", function(n)
  shared(f32, {n, 8}) -- expect error: shared: the shape must be static, but this one holds run-time values; take numbers of the script, static(16) in the launch, or extents under kernel(name, fn, {static_shapes = true})
end)
k{grid = 1, block = 32}(16)
