local k = kernel("k", function(x)
  x[0] = warp_reduce(x[0], "min", 6) -- expect error: warp_reduce: width 6; expected 1, 2, 4, 8, 16 or 32
end)
k{grid = 1, block = 32}(zeros(i32, 4))
