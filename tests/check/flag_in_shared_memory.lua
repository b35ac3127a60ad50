-- A warp hands on a row in shared memory; the waiting lane does not meet the lanes that read.
local k = kernel("warps", function(y)
  local row, flag = shared(f32, 32), shared(u32, 1)
  local t = threadIdx.x
  if t == 0 then flag[0] = 0 end
  sync_threads()
  if t < 32 then
    row[t] = 2.0 * t
    sync_warp()
    if t == 0 then atomic_store(flag, 0, 1) end
  else
    if t == 32 then
      while atomic_load(flag, 0) == 0 do end
    end
    y[t - 32] = row[63 - t] -- finds: race: read of row at 30, extent 32, by thread (33,0,0) of block (0,0,0), and write by thread (30,0,0) at line 8 are not ordered; put sync_threads() between line 8 and line 15
  end
end)
k{grid = 1, block = 64}(zeros(f32, 32))
