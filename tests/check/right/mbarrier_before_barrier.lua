-- A barrier of the block tells all warps that the mbarrier has been initialised.
local k = kernel("early", function(x)
  local full = mbarrier(1, 1)
  sync_threads()
  if threadIdx.x == 0 then full:arrive() end
  if threadIdx.x >= 32 then
    full:wait(0)
    x[threadIdx.x] = 1
  end
end)
k{grid = 1, block = 64}(zeros(f32, 64))
