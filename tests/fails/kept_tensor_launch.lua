-- A kernel's tensor as the argument of another launch.
local kept = {}
kernel("first", function(x) kept.x = x end){grid = 1, block = 32}(zeros(f32, 32))
local k = kernel("second", function(y) clear(y) end, {static_shapes = true})
k{grid = 1, block = 32}(kept.x) -- expect error: second: argument 1 (y) is a tensor that was made in kernel 'first' (tests/fails/kept_tensor_launch.lua:3); one of the host was expected
