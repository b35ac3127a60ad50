-- Two arrivals at a barrier that was made for one.
local k = kernel("twice", function(x)
  local full = mbarrier(1, 1)
  sync_threads()
  if threadIdx.x % 32 == 0 then
    full:arrive_expect_tx(64) -- finds: arrive: this phase of full[0] has had its 1 arrival, and it waits for 128 bytes; one of the next phase must come after these
  end
  x[threadIdx.x] = 1
end)
k{grid = 1, block = 64}(zeros(f32, 64))
