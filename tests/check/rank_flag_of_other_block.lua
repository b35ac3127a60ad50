-- A block tells another rank what a block beside it wrote, after it has waited for a flag that says nothing of that.
device "cpu:2"
local m = mesh{ a = 2 }
local x, flags = m:zeros(f32, { 128 }, "(M@a)"), m:zeros(i32, { 6 }, "(M@a)")
local sys, own = { scope = "sys" }, { scope = "gpu" }
local k = kernel("give", function(mine, theirs, flag, flag_of_theirs, me)
  local i, b = threadIdx.x, blockIdx.x
  if me == 0 then
    theirs[32 * b + i] = i + 1.0
    sync_threads()
    if i == 0 and b == 0 then
      atomic_store(flag, 0, 1, own)
    elseif i == 0 then
      while atomic_load(flag, 0, {order = "relaxed"}) == 0 do end
      if atomic_load(flag, 1, own) == 0 then atomic_store(flag_of_theirs, 2, 1, sys) end
    end
  else
    if i == 0 then
      while atomic_load(flag, 2, sys) == 0 do end
    end
    sync_threads()
    mine[32 * b + i] = 2 * mine[32 * b + i] -- finds: race: read of mine at 0, extent 64, by thread (0,0,0) of block (0,0,0) of rank 1, and write by thread (0,0,0) of block (0,0,0) of rank 0 at line 9 are not ordered: these blocks release or acquire at scope "gpu", which orders nothing between ranks; give both operations {scope = "sys"}
  end
end)
m:run(function(r)
  r:barrier()
  k{grid = 2, block = 32, cooperative = true}(x:part(r.rank), peer_tensor(x, 1 - r.rank),
    flags:part(r.rank), peer_tensor(flags, 1 - r.rank), i32(r.rank))
end)
