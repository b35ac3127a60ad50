-- Hilbert's curve is no arithmetic: a kernel takes it as a table.
local k = kernel("walk", function(x)
  for m, n in raster{tiles = {2, 3}, order = "hilbert"} do x[m] = n end -- expect error: raster: Hilbert's curve is a table in a kernel: make it on the host, raster{tiles = {m, n}, order = "hilbert"}:table(), and give it as order
end)
k{grid = 2, block = 32}(zeros(i32, 2))
