-- Lanes of a part exchange values through shared memory, and nothing orders them.
local k = kernel("pairs", function(x)
  local s, i = shared(i32, 32), threadIdx.x
  local lanes = ballot(i < 16)
  if i < 16 then
    s[i] = x[i]
    x[i] = s[i ~ 1] -- finds: race: read of s at 1, extent 32, by thread (0,0,0) of block (0,0,0), and write by thread (1,0,0) at line 6 are not ordered (lanes of a warp run in any order); put sync_warp() between line 6 and line 7
    sync_warp{mask = lanes}
    s[i] = x[i] + 1
    sync_warp{mask = lanes}
    x[i] = s[i ~ 1]
  end
end)
k{grid = 1, block = 32}(arange(i32, 32))
