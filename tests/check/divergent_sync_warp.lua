-- A sync_warp that half of the warp reaches, while the others are not at their end.
local k = kernel("half", function(x, y)
  local s = shared(f32, 32)
  local t = threadIdx.x
  s[t] = x[t]
  sync_warp()
  if t < 16 then
    local v = s[t] + s[t + 16]
    sync_warp() -- finds: sync_warp: thread (0,0,0) of block (0,0,0) is there, but thread (16,0,0) is elsewhere; all threads of a warp must reach the same sync_warp
    s[t] = v
  end
  sync_threads()
  y[t] = s[t]
end)
k{grid = 1, block = 32}(rand(f32, 32), zeros(f32, 32))
