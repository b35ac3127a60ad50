-- A phase that expects more bytes than anybody copies.
local k = kernel("bytes", function(x)
  local full = mbarrier(2, 1)
  sync_threads()
  if threadIdx.x == 0 then full[1]:arrive_expect_tx(4096) end
  if threadIdx.x >= 32 then
    full[1]:wait(0) -- finds: deadlock in block (0,0,0): warps 1 to 3 wait at line 7 for full[1], parity 0: 4096 bytes are missing
    x[threadIdx.x] = 1
  end
end)
k{grid = 1, block = 128}(zeros(f32, 128))
