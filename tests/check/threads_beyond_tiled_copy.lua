-- Two warps at work with a tiled copy of one, by a condition that holds in both.
local copier = tiled_copy(atom("UniversalCopy<u32>", f32), layout{32}, layout{1})
local k = kernel("two_warps", function(x, y, n)
  if threadIdx.x < n then
    local part = copier:get_slice(threadIdx.x):partition_S(tile(x, 32, 0))
    y[threadIdx.x] = part[0] -- finds: coordinate: 32 among the threads that share x, extent 32, by thread (32,0,0) of block (0,0,0); let only that many threads get here
  end
end)
k{grid = 1, block = 64}(rand(f32, 64), zeros(f32, 64), 64)
