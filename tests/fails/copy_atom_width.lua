-- An atom that copies four elements at once needs them side by side and aligned, on both sides.
local tc = tiled_copy(atom("UniversalCopy<u128>", f32), layout{8, 4}, layout{4, 1})
local k = kernel("k", function(A)
  local sA = shared(f32, layout({32, 4}, {1, 34}))
  local thr = tc:get_slice(threadIdx.x)
  local tAgA, tAsA = thr:partition_S(A), thr:partition_D(sA)
  copy(tc, tAgA, tAsA) -- expect error: copy: UniversalCopy<u128> takes 4 x f32 (16 bytes) at once, but tAgA ((4,1),1,1):((1,0),0,0) (aligned to 16 bytes) and tAsA ((4,1),1,1):((1,0),0,0) (8 bytes) allow 2: tAsA does not begin at a multiple of that; their common vector has 4; take UniversalCopy<u64>, or make strides and offsets multiples
end, {static_shapes = true})
k{grid = 1, block = 32}(zeros(f32, {32, 4}))
