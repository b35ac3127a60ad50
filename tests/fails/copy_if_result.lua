-- A predicate that is a function gives bools.
local k = kernel("k", function(A, B)
  copy_if(function(i) return i end, tile(A, 4, 0), tile(B, 4, 0)) -- expect error: copy_if: the predicate's result: bool expected, got 0
end)
k{grid = 1, block = 1}(zeros(f32, 4), zeros(f32, 4))
