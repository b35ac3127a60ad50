-- arrive_expect_tx takes the tensors that come in place of their bytes.
-- needs sm_90
local k = kernel("by_tensors", function(A, B, C)
  local sA = shared(A.dtype, row_major{8, 32})
  local sB = shared(B.dtype, tile_to_shape(gmma_layout(bf16, "K", 64), {16, 32, 2}))
  local full = mbarrier(1, 1)
  sync_threads()
  if threadIdx.x == 0 then
    full[0]:expect_tx(sA)
    full[0]:arrive_expect_tx(sB(_, _, 1))
    tma_load(tile(tma_tensor(A), {8, 32}, {0, 0}), sA, full[0])
    tma_load(tile(tma_tensor(B), {16, 32}, {0, 0}), sB(_, _, 1), full[0])
  end
  full[0]:wait(0)
  C[threadIdx.x] = sA[{7, threadIdx.x}] + sB[{15, threadIdx.x, 1}]
end)
local A, B, C = ones(f32, row_major{8, 32}), ones(bf16, row_major{16, 32}), zeros(f32, 32)
k{grid = 1, block = 32, check = not device().sm}(A, B, C)
print(C[31])                                             -- expect: 2.0
local text = k{grid = 1, block = 32}:source(A, B, C)
print(text:match("mbar_expect_tx%(&full%[0%], (%d+)"),
  text:match("arrive_expect_tx%(&full%[0%], (%d+)"))
-- expect: 1024	1024

local bad = kernel("bad", function(x)
  local full = mbarrier(1, 1)
  full[0]:arrive_expect_tx(x)
end)
print((select(2, pcall(bad{grid = 1, block = 32}, zeros(f32, 4)))):match("arrive.*"))
-- expect: arrive_expect_tx: x is not in shared memory; pass the tensor that tma_load fills, or the number of bytes
