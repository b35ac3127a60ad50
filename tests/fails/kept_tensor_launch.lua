-- A kernel's tensor as the argument of another launch.
local kept = {}
kernel("first", function(x) kept.x = x end){grid = 1, block = 32}(zeros(f32, 32))
local k = kernel("second", function(y) clear(y) end, {static_shapes = true})
k{grid = 1, block = 32}(kept.x) -- expect error: second: argument 1 (y) is a tensor kept from a kernel; one of the host was expected
