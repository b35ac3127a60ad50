-- Coordinates are in no memory.
local k = kernel("k", function(A)
  local c = identity_tensor(4)
  copy(c, tile(A, 4, 0)) -- expect error: copy: c is a tensor of coordinates; expected one with memory
end)
k{grid = 1, block = 1}(zeros(f32, 4))
