-- The box is loaded from memory that nobody has written.
local k = kernel("box", function(A, C)
  local s, full = shared(f32, row_major{8, 32}), mbarrier(1, 1)
  sync_threads()
  if threadIdx.x == 0 then
    full[0]:arrive_expect_tx(8 * 32 * 4)
    tma_load(tile(tma_tensor(A), {8, 32}, {0, 0}), s, full[0]) -- finds: uninitialised: read of A at (0,0), extent (8,32), by thread (0,0,0) of block (0,0,0): nobody has written it since it was allocated; write it first, or allocate it with zeros
  end
  full[0]:wait(0)
  C[threadIdx.x] = s[{0, threadIdx.x}]
end)
k{grid = 1, block = 32}(tensor(f32, row_major{8, 32}), zeros(f32, 32))
k{grid = 1, block = 32}(rand(f32, row_major{8, 32}), zeros(f32, 32)) -- this one is right
