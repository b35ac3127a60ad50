-- Nobody sets the counters in shared memory to 0. The CPU engine's memory happens to be 0.
local k = kernel("histogram", function(x, counts)
  local h = shared(i32, 8)
  for i in range(threadIdx.x, size(x), blockDim.x) do atomic_add(h, x[i] % 8, 1) end -- finds: uninitialised: read of h at 0, extent 8, by thread (0,0,0) of block (0,0,0): no thread of the block has written it; write it first, then sync_threads()
  sync_threads()
  if threadIdx.x < 8 then atomic_add(counts, threadIdx.x, h[threadIdx.x]) end
end)
k{grid = 1, block = 64}(arange(i32, 500), zeros(i32, 8))
