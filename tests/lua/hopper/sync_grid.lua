-- sync_grid in launches with clusters: it also orders what their blocks do in each other's shared memory.
-- needs sm_90
local ring = kernel("ring", function(y, steps)
  local s = shared(i32, 2)
  local next_one = map_shared_rank(s, (cluster_rank() + 1) % cluster_size())
  if threadIdx.x == 0 then s[0] = blockIdx.x end
  sync_grid()
  for _ in range(steps) do
    if threadIdx.x == 0 then next_one[1] = s[0] end
    sync_grid()
    if threadIdx.x == 0 then s[0] = s[1] end
    sync_grid()
  end
  if threadIdx.x == 0 then y[blockIdx.x] = s[0] end
end)
local y = zeros(i32, 24)
ring{grid = 24, block = 64, cluster = 4, cooperative = true}(y, 3)
print(table.concat(y:totable(), " "))
-- expect: 1 2 3 0 5 6 7 4 9 10 11 8 13 14 15 12 17 18 19 16 21 22 23 20
