-- copy converts nothing.
local k = kernel("mixed", function(x, n)
  copy(tile(x, 4, 0), tile(n, 4, 0)) -- expect error: copy: x is f32 but n is i32; the element types must be equal
end)
k{grid = 1, block = 1}(zeros(f32, 4), zeros(i32, 4))
