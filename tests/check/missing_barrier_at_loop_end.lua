-- The barrier behind the copy is there; the one before the next turn overwrites the tile is not.
local k = kernel("sums", function(x, y)
  local s = shared(f32, 64)
  local t = threadIdx.x
  local sum = 0.0
  for i in range(4) do
    s[t] = x[i * 64 + t] -- finds: race: write of s at 0, extent 64, by thread (0,0,0) of block (0,0,0), and read by thread (63,0,0) at line 9 are not ordered; put sync_threads() after line 9, before line 7 comes again
    sync_threads()
    sum = sum + s[63 - t]
  end
  y[t] = sum
end)
k{grid = 1, block = 64}(rand(f32, 256), zeros(f32, 64))
