-- The elements are those that the atom was made for.
local a = atom("UniversalCopy<u64>", f16)
local k = kernel("k", function(A)
  local r = fragment(f32, 4)
  copy(a, tile(A, 4, 0), r) -- expect error: copy: UniversalCopy<u64> was made to copy f16, but the elements of A are f32; make the atom of that type, or recast the tensor
end)
k{grid = 1, block = 1}(zeros(f32, 4))
