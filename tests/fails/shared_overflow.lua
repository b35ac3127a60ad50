-- A size that no integer holds.
local k = kernel("overflow", function()
  shared(f32, {1 << 40, 1 << 40}) -- expect error: shared: the layout has more than 2^63 elements
end)
k{grid = 1, block = 32}()
