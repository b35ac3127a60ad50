-- Each block of a cluster loads half of a tile and sends it to all; barriers are the receiver's own.
-- needs sm_90
local k = kernel("halves", function(A, C, mask)
  local s, full = shared(f32, row_major{16, 32}), mbarrier(2, 1)
  local rank, pair = cluster_rank(), blockIdx.x // 2
  sync_cluster()
  for i = 0, 1 do
    if threadIdx.x == 0 then
      full[i]:arrive_expect_tx(16 * 32 * 4)
      tma_load(tile(tma_tensor(A), {8, 32}, {4 * pair + 2 * i + rank, 0}),
               tile(s, {8, 32}, {rank, 0}), full[i], {multicast = mask})
    end
    full[i]:wait(0)
    for j = 0, 15 do C[{16 * i + j + 32 * pair, threadIdx.x, rank}] = s[{j, threadIdx.x}] end
    fence_proxy_async()
    sync_cluster()
  end
end)
local A, C = rand(f32, row_major{64, 32}), zeros(f32, {64, 32, 2})
local on_cpu <const> = not device().sm -- where checks are made
k{grid = 4, block = 32, cluster = 2, check = on_cpu}(A, C, static(3))
k{grid = 4, block = 32, cluster = 2, check = on_cpu}(A, C, 3)
local n_wrong = 0
for i = 0, 63 do
  for j = 0, 31 do
    if C[{i, j, 0}] ~= A[{i, j}] or C[{i, j, 1}] ~= A[{i, j}] then n_wrong = n_wrong + 1 end
  end
end
print(n_wrong)                            -- expect: 0
local _, message = pcall(k{grid = 4, block = 32, cluster = 2}, A, C, 5)
print(message:match "tma_load.*")
-- expect: tma_load: multicast: rank 2; a cluster of 2 blocks has ranks 0 to 1
