-- An element that another block's tensor does not have.
local k = kernel("reach", function(x)
  local s = shared(f32, 16)
  if threadIdx.x < 16 then s[threadIdx.x] = 1 end
  cluster_sync()
  x[threadIdx.x] = remote(s, 1)[threadIdx.x] -- expect error: out of bounds: read of s_2 at 16, extent 16, by thread (16,0,0) of block (1,0,0)
end)
k{grid = 2, block = 32, cluster = 2}(zeros(f32, 32))
