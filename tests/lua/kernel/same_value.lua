-- Blocks that write the same values to the same places at the same time, in the same or in opposite
-- order: `check` (tests/lua/program/check_clean.lua) finds no race, whoever comes first.
local function launch(name, body)
  local k = kernel(name, body)
  for _ = 1, 100 do
    local a = zeros(i32, 1 << 14)
    k { grid = 4, block = 32 }(a)
    assert(a[0] == 5 and a[31] == 5)
  end
end

launch("stored", function(a) a[threadIdx.x] = 5 end)
launch("filled", function(a) fill(parallelize(tile(a, 256, 0), layout(32), threadIdx.x), 5) end)
-- Elements that are far from each other, from both ends.
launch("crossed", function(a)
  for i = 0, 3 do a[where(blockIdx.x % 2 == 0, i, 3 - i) * 4096 + threadIdx.x] = 5 end
end)
launch("scattered", function(a)
  local at = where(blockIdx.x % 2 == 0, threadIdx.x, 31 - threadIdx.x)
  a[at] = 5
  a[at * 512 + 31] = 5
end)
launch("copied", function(a)
  local r = fragment(i32, layout(16))
  fill(r, 5)
  copy(r, parallelize(tile(a, 512, 0), layout(32), threadIdx.x))
end)
print("ok")  -- expect: ok
