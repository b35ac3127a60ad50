-- Lanes of a warp run in any order: the reduction needs sync_warp() between its steps.
local k = kernel("warp_sum", function(x, y)
  local s = shared(f32, 32)
  local t = threadIdx.x
  s[t] = x[t]
  sync_warp()
  if t < 16 then
    local v = s[t + 16]
    s[t] = s[t] + v
    local w = s[t ~ 8] -- finds: race: read of s at 8, extent 32, by thread (0,0,0) of block (0,0,0), and write by thread (8,0,0) at line 9 are not ordered (lanes of a warp run in any order); put sync_warp() between line 9 and line 10
    y[t] = w
  end
end)
k{grid = 1, block = 32}(rand(f32, 32), zeros(f32, 32))
