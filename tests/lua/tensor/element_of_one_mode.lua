-- {i} names element i of a tensor whose one mode is no tuple, as trace and tile take it: on the host
-- and in a kernel, read and written, by [] and by a call.
local x = arange(f32, 4)
print(x[{ 2 }], x { 2 }, x[2]) -- expect: 2.0	2.0	2.0
x[{ 2 }] = 7
print(x[2]) -- expect: 7.0
kernel("twice", function(t) t[{ threadIdx.x }] = 2.0 * t[{ threadIdx.x }] end)
  { grid = 1, block = 4 }(x)
print(table.unpack(x:totable())) -- expect: 0.0	2.0	14.0	6.0
-- A tuple of one mode is as it was, and more coordinates than modes do not fit.
print(arange(f32, layout { { 4 } })[{ { 3 } }]) -- expect: 3.0
print(pcall(function() return x[{ 1, 0 }] end))
-- expect: false	tests/lua/tensor/element_of_one_mode.lua:12: x[{1,0}]: crd2idx: coordinate (1,0) does not fit shape 4: it has 2 modes, not 1; write an integer, or a tuple nested like the shape
print(pcall(function() return x[{ 4 }] end))
-- expect: false	tests/lua/tensor/element_of_one_mode.lua:14: x[4]: coordinate 4 is outside the shape 4; counting starts at 0
