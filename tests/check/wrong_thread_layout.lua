-- The thread layout's stride is 8 where 16 was meant: two threads own each element of columns 1 to 2.
local k = kernel("stage", function(x, y)
  local s = shared(f32, 64)
  local t = threadIdx.x
  local owner = layout({16, 4}, {1, 8})
  local at = t % 16 + t // 16 * stride(owner, 1)
  s[at] = x[t] -- finds: race: write of s at 16, extent 64, by thread (32,0,0) of block (0,0,0), and write by thread (24,0,0) at the same line are not ordered; put sync_threads() between the two, give each thread a place of its own, or use an atomic operation
  sync_threads()
  if t < 40 then y[t] = s[t] end
end)
k{grid = 1, block = 64}(arange(f32, 64), zeros(f32, 64))
