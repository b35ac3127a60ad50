-- A slot that is loaded again before its readers have let go of it.
local k = kernel("over", function(A, C)
  local s, full = shared(f32, row_major{8, 32}), mbarrier(2, 1)
  sync_threads()
  if threadIdx.x == 0 then
    for i = 0, 1 do
      full[i]:arrive_expect_tx(8 * 32 * 4)
      tma_load(tile(tma_tensor(A), {8, 32}, {i, 0}), s, full[i])
      full[i]:wait(0)
    end
  elseif threadIdx.x >= 32 then
    for i = 0, 1 do
      full[i]:wait(0)
      C[{threadIdx.x - 32, i}] = s[{i, threadIdx.x - 32}] -- finds: race: read of s at (0,0), extent (8,32), by thread (32,0,0) of block (0,0,0), and write by a copy to an mbarrier by thread (0,0,0) at line 8 are not ordered; a thread that waits for that phase of its mbarrier sees what it copies
    end
  end
end)
k{grid = 1, block = 64}(rand(f32, row_major{16, 32}), zeros(f32, {32, 2}))
