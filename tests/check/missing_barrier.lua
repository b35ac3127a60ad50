-- Threads read what others of the block write, with no barrier between.
local k = kernel("reverse", function(x, y)
  local s = shared(f32, 64)
  local t = threadIdx.x
  s[t] = x[t]
  y[t] = s[63 - t] -- finds: race: read of s at 63, extent 64, by thread (0,0,0) of block (0,0,0), and write by thread (63,0,0) at line 5 are not ordered; put sync_threads() between line 5 and line 6
end)
k{grid = 1, block = 64}(rand(f32, 64), zeros(f32, 64))
