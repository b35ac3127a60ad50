-- A copy between tensors of different sizes.
local k = kernel("sizes", function(x)
  local s = shared(f32, {4, 8})
  copy(tile(x, 16, 0), s) -- expect error: copy: x (16):(1) and s (4,8):(1,4) have different sizes; the shapes must agree
end)
k{grid = 1, block = 1}(zeros(f32, 64))
