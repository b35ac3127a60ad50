-- Warps read rows that others write, with no barrier between.
local ld = atom("SM75_U32x4_LDSM_N", f16)
local st = atom("SM90_U32x4_STSM_N", f16)
local k = kernel("tiles", function(A, B)
  local s = shared(f16, row_major{64, 8})
  local t = threadIdx.x
  local r = fragment(f16, 8)
  copy(tile(A, 8, t), r)
  copy(st, r, s(t, _))
  copy(ld, s(63 - t, _), r) -- finds: race: read of s at (63,0), extent (64,8), by thread (0,0,0) of block (0,0,0), and write by thread (63,0,0) at line 9 are not ordered; put sync_threads() between line 9 and line 10
  copy(r, tile(B, 8, t))
end)
k{grid = 1, block = 64}(rand(f16, 512), zeros(f16, 512))
