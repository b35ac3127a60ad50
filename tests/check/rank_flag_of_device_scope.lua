-- The flag that tells another rank has the scope of the device.
device "cpu:2"
local m = mesh{ a = 2 }
local x, flag = m:zeros(f32, { 128 }, "(M@a)"), m:zeros(i32, { 2 }, "(M@a)")
local k = kernel("give", function(mine, theirs, flag_of_mine, flag_of_theirs, me)
  local i = threadIdx.x
  if me == 0 then
    theirs[i] = mine[i] + i
    sync_threads()
    if i == 0 then atomic_store(flag_of_theirs, 0, 1, {scope = "gpu"}) end
  else
    if i == 0 then
      while atomic_load(flag_of_mine, 0, {scope = "sys"}) == 0 do end -- finds: race: read of flag_of_mine at 0, extent 1, by thread (0,0,0) of block (0,0,0) of rank 1, and write by thread (0,0,0) of block (0,0,0) of rank 0 at line 10 are not ordered: atomic operations of scope "gpu" are not atomic to those of another rank; give both {scope = "sys"}
    end
    sync_threads()
    mine[i] = 2 * mine[i] -- finds: race: read of mine at 0, extent 64, by thread (0,0,0) of block (0,0,0) of rank 1, and write by thread (0,0,0) of block (0,0,0) of rank 0 at line 8 are not ordered: these blocks release or acquire at scope "gpu", which orders nothing between ranks; give both operations {scope = "sys"}
  end
end)
m:run(function(r)
  r:barrier()
  k{grid = 1, block = 64}(x:part(r.rank), peer_tensor(x, 1 - r.rank), flag:part(r.rank),
    peer_tensor(flag, 1 - r.rank), i32(r.rank))
end)
