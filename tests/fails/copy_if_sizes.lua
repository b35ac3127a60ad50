-- A predicate has an element, or a place by a stride of 0, for each element.
local k = kernel("k", function(A, B)
  local p = fragment(bool, 3)
  copy_if(p, tile(A, 4, 0), tile(B, 4, 0)) -- expect error: copy_if: p 3:1 and A (4):(1) have different sizes; the shapes must agree
end)
k{grid = 1, block = 1}(zeros(f32, 4), zeros(f32, 4))
