-- The producer loads one tile more than anybody waits for.
local k = kernel("ahead", function(A, C)
  local s, full = shared(f32, layout({8, 32, 2}, {32, 1, 256})), mbarrier(2, 1)
  sync_threads()
  for i = 0, 1 do
    if threadIdx.x == 0 then
      full[i]:arrive_expect_tx(8 * 32 * 4)
      tma_load(tile(tma_tensor(A), {8, 32}, {i, 0}), s(_, _, i), full[i]) -- finds: tma_load: the block may end before this has arrived: nobody waits for its phase of full[1]; wait for it, or leave the copy out
    end
  end
  full[0]:wait(0)
  C[threadIdx.x] = s[{0, threadIdx.x, 0}]
end)
k{grid = 1, block = 32}(rand(f32, row_major{16, 32}), zeros(f32, 32))
