-- A grid so wide that its blocks do not run in bands: a band would have more than 2^24 blocks.
device "cpu"
local x = zeros(i32, 2)
local k = kernel("k", function(x) atomic_add(x, blockIdx.y, 1) end)
k{grid = {(1 << 21) + 1, 2}, block = 1}(x)
print(x[0], x[1])  -- expect: 2097153	2097153
