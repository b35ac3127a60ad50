-- An atom that copies four elements at once needs them side by side and aligned, on both sides.
local tc = tiled_copy(atom("UniversalCopy<u128>", f32), layout{8, 4}, layout{4, 1})
local k = kernel("k", function(A)
  local sA = shared(f32, layout({32, 4}, {1, 34}))
  local thr = tc:get_slice(threadIdx.x)
  local tAgA, tAsA = thr:partition_S(A), thr:partition_D(sA)
  copy(tc, tAgA, tAsA) -- expect error: copy: UniversalCopy<u128> takes 4 x f32 at once, but tAsA does not begin at a multiple of that; take UniversalCopy<u64>, or make strides and offsets multiples
end, {static_shapes = true})
k{grid = 1, block = 32}(zeros(f32, {32, 4}))
