-- The block reads where its next work is, also when no cluster gave any.
local k = kernel("place_of_no_work", function(X)
  local response, answered = shared(u64, 2), mbarrier(1, 1)
  sync_threads()
  local tile, parity, more = i32(blockIdx.x), i32(0), blockIdx.x < gridDim.x
  while more do
    if threadIdx.x == 0 then
      answered:arrive_expect_tx(16)
      clc_try_cancel(response, answered)
    end
    X[{threadIdx.x, tile}] = X[{threadIdx.x, tile}] + 1
    answered:wait(parity)
    parity = parity ~ 1
    more = clc_is_canceled(response)
    tile = clc_get_first_ctaid(response) -- finds: clc_get_first_ctaid: no cluster gave its work, so the answer has no place, by thread (0,0,0) of block (0,0,0); read it only if clc_is_canceled is true
    fence_proxy_async()
    sync_threads()
  end
end)
k{grid = 5, block = 64}(zeros(i32, {64, 5}))
