-- The halo of the tile is read, but nobody wrote it.
local k = kernel("stencil", function(x, y)
  local s = shared(f32, 66)
  local t = threadIdx.x
  s[t + 1] = x[t]
  sync_threads()
  y[t] = s[t] + s[t + 2] -- finds: uninitialised: read of s at 0, extent 66, by thread (0,0,0) of block (0,0,0): no thread of the block has written it; write it first, then sync_threads()
end)
k{grid = 1, block = 64}(rand(f32, 64), zeros(f32, 64))
