-- A plain copy is complete at the next sync_threads; before it, only for the thread that made it.
local k = kernel("other", function(x, y)
  local s = shared(f32, 64)
  copy(tile(x, 2, threadIdx.x), tile(s, 2, threadIdx.x))
  y[threadIdx.x] = s[63 - threadIdx.x] -- finds: race: read of s at 63, extent 64, by thread (0,0,0) of block (0,0,0), and write by thread (31,0,0) at line 4 are not ordered (lanes of a warp run in any order); put sync_warp() between line 4 and line 5
end)
k{grid = 1, block = 32}(rand(f32, 64), zeros(f32, 32))
