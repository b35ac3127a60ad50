-- Two ranks write, and the second stores its number over the first one's. Who reads that has waited for the second.
device "cpu:3"
local m = mesh{ a = 3 }
local x, flag = m:zeros(f32, { 96 }, "(M@a)"), m:zeros(i32, { 3 }, "(M@a)")
local sys, relaxed = { scope = "sys" }, { scope = "sys", order = "relaxed" }
local k = kernel("gather", function(out, flag_of_out, me)
  local i = threadIdx.x
  if me < 2 then
    if i < 16 then out[me * 16 + i] = i + 1.0 end
    sync_warp()
    if i == 0 then
      while atomic_load(flag_of_out, 0, relaxed) ~= me do end
      atomic_store(flag_of_out, 0, me + 1, sys)
    end
  else
    if i == 0 then
      while atomic_load(flag_of_out, 0, sys) < 2 do end
    end
    sync_warp()
    out[i] = 2 * out[i] -- finds: race: read of out at 0, extent 32, by thread (0,0,0) of block (0,0,0) of rank 2, and write by thread (0,0,0) of block (0,0,0) of rank 0 at line 9 are not ordered; between ranks only scope "sys" orders: release after one of them with atomic_store(flag, i, 1, {scope = "sys"}), acquire before the other with atomic_load(flag, i, {scope = "sys"}), with sync_threads() or, in a warp, sync_warp() between these and other threads
  end
end)
m:run(function(r)
  r:barrier()
  k{grid = 1, block = 32}(r.rank == 2 and x:part(2) or peer_tensor(x, 2),
    r.rank == 2 and flag:part(2) or peer_tensor(flag, 2), i32(r.rank))
end)
