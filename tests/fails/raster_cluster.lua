-- A raster for clusters that the launch does not make.
local k = kernel("walk", function(x)
  for m, n in raster{tiles = {2, 3}, cluster = 2} do x[m] = n end -- expect error: raster: cluster = 2, but the clusters of the launch have 1 block; launch with cluster = 2
end)
k{grid = 2, block = 32}(zeros(i32, 2))
