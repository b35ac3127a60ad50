-- A predicate has bools.
local k = kernel("k", function(A, B)
  local p = fragment(i32, 4)
  copy_if(p, tile(A, 4, 0), tile(B, 4, 0)) -- expect error: copy_if: predicate p has elements i32; expected bool
end)
k{grid = 1, block = 1}(zeros(f32, 4), zeros(f32, 4))
