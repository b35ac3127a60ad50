-- A view that names more elements than its tensor has: TMA fills what lies outside the view with zeros, not what
-- lies outside the memory.
local k = kernel("shifted", function(A, C, n)
  local s, full = shared(f32, 64), mbarrier(1, 1)
  sync_threads()
  if threadIdx.x == 0 then
    full[0]:arrive_expect_tx(64 * 4)
    tma_load(tile(tma_tensor(view(A, layout(n, 1))), {64}, {1}), s, full[0]) -- finds: out of bounds: read of A at 100, extent 100, by thread (0,0,0) of block (0,0,0)
  end
  full[0]:wait(0)
  C[threadIdx.x] = s[threadIdx.x]
end)
local A, C = rand(f32, 100), zeros(f32, 32)
k{grid = 1, block = 32}(A, C, 100)
k{grid = 1, block = 32}(A, C, 128)
