-- The last row of a matrix was never written.
local ld = atom("SM75_U32x1_LDSM_N", f16)
local k = kernel("rows", function(A, B)
  local s = shared(f16, row_major{8, 8})
  local t = threadIdx.x
  if t < 28 then copy(tile(A, 2, t), tile(s, {1, 2}, {t // 4, t % 4})) end
  sync_threads()
  local r = fragment(f16, 2)
  copy(ld, s(t % 8, _), r) -- finds: uninitialised: read of s at (7,0), extent (8,8), by thread (7,0,0) of block (0,0,0): no thread of the block has written it; write it first, then sync_threads()
  copy(r, tile(B, 2, t))
end)
k{grid = 1, block = 32}(rand(f16, 64), zeros(f16, 64))
