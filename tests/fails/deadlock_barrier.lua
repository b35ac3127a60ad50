-- One warp waits for a flag that the other one, at a barrier, does not set.
local k = kernel("wait", function(t)
  if threadIdx.x < 32 then
    sync_threads()
    atomic_store(t, 0, 1)
  else
    while atomic_load(t, 0) == 0 do end -- expect error: deadlock: thread (32,0,0) of block (0,0,0) repeats the loop at line 7, and nothing that runs can end it; warp 0 waits in sync_threads at line 4; warp 1 repeats the loop at line 7
  end
end)
k{grid = 1, block = 64}(zeros(i32, 4))
