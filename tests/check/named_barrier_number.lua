-- Writers arrive at one barrier, readers sync at another.
local k = kernel("numbers", function(x, y)
  local s = shared(f32, 64)
  local t = threadIdx.x
  s[t] = x[t]
  if t < 32 then
    named_barrier(1, 32):sync()
    y[t] = s[t + 32] -- finds: race: read of s at 32, extent 64, by thread (0,0,0) of block (0,0,0), and write by thread (32,0,0) at line 5 are not ordered; arrive at a barrier after line 5, and wait for it before line 8
  end
end)
k{grid = 1, block = 64}(rand(f32, 64), zeros(f32, 64))
