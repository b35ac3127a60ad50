-- packed_boxes.lua: boxes of TMA and elements of 4 bits: a shared tensor stands for its bytes, of
-- which two elements share one, so the barrier expects half as many as it has elements.
-- needs sm_90
local load = kernel("load", function(x, y)
  local s, full = shared(f4e2m1, 64), mbarrier(1, 1)
  sync_threads()
  if threadIdx.x == 0 then
    full[0]:arrive_expect_tx(s)
    tma_load(tma_tensor(recast(x, u8)), recast(s, u8), full[0])
  end
  full[0]:wait(0)
  y[threadIdx.x] = s[threadIdx.x]
end, {static_shapes = true})
local numbers = {0, 0.5, 1, 1.5, 2, 3, 4, 6}
local x, y = zeros(f4e2m1, 64), zeros(f32, 64)
for i = 0, 63 do x[i] = numbers[(3 * i) % 8 + 1] end
load{grid = 1, block = 64}(x, y)
local n_right = 0
for i = 0, 63 do n_right = n_right + (y[i] == numbers[(3 * i) % 8 + 1] and 1 or 0) end
print(n_right) -- expect: 64
