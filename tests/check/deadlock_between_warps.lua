-- Warp 0 waits at a barrier for warp 1, which waits for warp 0's flag.
local k = kernel("cross", function(x)
  local flag = shared(i32, 1)
  if threadIdx.x == 0 then flag[0] = 0 end
  sync_threads()
  if threadIdx.x >= 32 then
    while atomic_load(flag, 0) == 0 do end -- finds: deadlock: thread (32,0,0) of block (0,0,0) repeats the loop at line 7, and nothing that runs can end it; warp 0 waits in sync_threads at line 9; warp 1 repeats the loop at line 7
  end
  sync_threads()
  if threadIdx.x == 0 then atomic_store(flag, 0, 1) end
  x[threadIdx.x] = 1
end)
k{grid = 1, block = 64}(zeros(f32, 64))
