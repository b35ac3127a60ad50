-- A rank tells another one before all its threads have written.
device "cpu:2"
local m = mesh{ a = 2 }
local x, flag = m:zeros(f32, { 128 }, "(M@a)"), m:zeros(i32, { 2 }, "(M@a)")
local k = kernel("give", function(mine, theirs, flag_of_mine, flag_of_theirs, me)
  local i = threadIdx.x
  if me == 0 then
    theirs[i] = mine[i] + i
    if i == 0 then atomic_store(flag_of_theirs, 0, 1, {scope = "sys"}) end
  else
    if i == 0 then
      while atomic_load(flag_of_mine, 0, {scope = "sys"}) == 0 do end
    end
    sync_threads()
    mine[i] = 2 * mine[i] -- finds: race: read of mine at 1, extent 64, by thread (1,0,0) of block (0,0,0) of rank 1, and write by thread (1,0,0) of block (0,0,0) of rank 0 at line 8 are not ordered; between ranks only scope "sys" orders: release after one of them with atomic_store(flag, i, 1, {scope = "sys"}), acquire before the other with atomic_load(flag, i, {scope = "sys"}), with sync_threads() or, in a warp, sync_warp() between these and other threads
  end
end)
m:run(function(r)
  r:barrier()
  k{grid = 1, block = 64}(x:part(r.rank), peer_tensor(x, 1 - r.rank), flag:part(r.rank),
    peer_tensor(flag, 1 - r.rank), i32(r.rank))
end)
