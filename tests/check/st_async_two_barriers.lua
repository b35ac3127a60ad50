-- The lanes of one store name two mbarriers. Only the first one's phase is awaited in time.
local k = kernel("send", function(x, y)
  local s, full, t = shared(f32, 32), mbarrier(2, 1), threadIdx.x
  sync_cluster()
  if t < 2 then full[t]:arrive_expect_tx(16 * 4) end
  st_async(s, t, x[t], full[t // 16], 1 - cluster_rank())
  full[0]:wait(0)
  y[{t, blockIdx.x}] = s[31 - t] -- finds: race: read of s at 31, extent 32, by thread (0,0,0) of block (0,0,0), and write by st_async by thread (31,0,0) of block (1,0,0) at line 6 are not ordered; a thread that waits for that phase of its mbarrier sees what it copies
  full[1]:wait(0)
  sync_cluster()
end)
k{grid = 2, block = 32, cluster = 2}(rand(f32, 32), zeros(f32, {32, 2}))
