-- Mode 0 holds what the atom takes at once.
local a = atom("UniversalCopy<u128>", f32)
local k = kernel("k", function(A)
  local r = fragment(f32, {2, 4})
  copy(a, tile(A, {2, 4}, {0, 0}), r) -- expect error: copy: UniversalCopy<u128> takes 4 x f32 of a thread at once, but mode 0 of A (2,4):(1,2) has 2; partition the tensor by a tiled copy of this atom, or take a narrower one
end)
k{grid = 1, block = 1}(zeros(f32, {2, 4}))
