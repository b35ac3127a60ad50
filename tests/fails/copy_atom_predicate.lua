local a = atom("UniversalCopy<u128>", f32)
local k = kernel("k", function(A)
  local r, p = fragment(f32, {4, 2}), fragment(bool, {1, 3})
  copy_if(a, p, tile(A, {4, 2}, {0, 0}), r) -- expect error: copy_if: p (1,3):(0,1) and A (4,2):(1,4) have different sizes; a predicate has one bool for each element, or one for all that an atom copies at once
end)
k{grid = 1, block = 1}(zeros(f32, {4, 2}))
