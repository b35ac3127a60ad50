-- Nothing tells the other warps that the mbarriers have been initialised.
local k = kernel("early", function(x)
  local full = mbarrier(1, 1)
  if threadIdx.x == 0 then full:arrive() end
  if threadIdx.x >= 32 then
    full:wait(0) -- finds: full[0] is used by warp 1, which nothing tells that it was initialised; put sync_threads() between its declaration and line 6
    x[threadIdx.x] = 1
  end
end)
k{grid = 1, block = 64}(zeros(f32, 64))
