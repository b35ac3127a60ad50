-- A planned order may stop a warp between a copy's operands and the copy: the operands are the
-- warp's own, whatever others copy meanwhile.
-- needs sm_90
local N <const> = 32
local k = kernel("copies_of_two_warps", function(src, dst)
  local warp, lane = threadIdx.x // 32, threadIdx.x % 32
  local s, sums = shared(f32, N), shared(f32, layout{N, 8})
  local full, go = mbarrier(1, 1), mbarrier(1, 1)
  sync_threads()
  if warp == 0 then
    go[0]:wait(0)
    if lane == 0 then
      full[0]:arrive_expect_tx(4 * N)
      tma_load(tile(tma_tensor(src), {N}, {_})(_, 0), s, full[0])
    end
    full[0]:wait(0)
  else
    local mine = sums(_, 7)
    mine[lane] = 1.0
    fence_proxy_async()
    sync_warp()
    if lane == 0 then
      go[0]:arrive()
      tma_store(mine, tile(tma_tensor(dst), {N}, {_})(_, 2), {reduce = "add"})
      tma_store_commit()
      tma_store_wait(0)
    end
  end
end)
local src, dst = zeros(f32, 3 * N), zeros(f32, 3 * N)
k{grid = 3, block = 64, check = true}(src, dst)
print(dst[0], dst[2 * N], dst[3 * N - 1])  -- expect: 0.0	3.0	3.0
