-- The loop of a raster has two names.
local k = kernel("walk", function(x)
  for m in raster{tiles = {2, 3}} do x[m] = 1 end -- expect error: a loop over raster has 1 name, but there are 2; write 'for m, n in'
end)
k{grid = 2, block = 32}(zeros(i32, 2))
