-- Two pairs of warps exchange rows at barriers of one number, the second pair once more. A warp that meets one of the
-- other pair leaves its partner alone.
-- check: schedules
local k = kernel("two_pairs", function(y)
  local s, t = shared(i32, 128), threadIdx.x
  local pair = named_barrier(1, 64)
  s[t] = t
  pair:sync() -- finds: deadlock in block (0,0,0): warp 3 waits at line 8 for named barrier 1: 32 of 64 threads are missing
  y[t] = s[t < 64 and 63 - t or 191 - t] -- finds: race: read of s at 63, extent 128, by thread (0,0,0) of block (0,0,0), and write by thread (63,0,0) at line 7 are not ordered; arrive at a barrier after line 7, and wait for it before line 9
  if t >= 64 then
    pair:sync()
  end
end)
k{grid = 1, block = 128}(zeros(i32, 128))
