-- A barrier lies between the writes and the reads.
local k = kernel("reverse", function(x, y)
  local s = shared(f32, 64)
  local t = threadIdx.x
  s[t] = x[t]
  sync_threads()
  y[t] = s[63 - t]
end)
k{grid = 1, block = 64}(rand(f32, 64), zeros(f32, 64))
