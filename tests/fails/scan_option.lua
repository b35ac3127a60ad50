local k = kernel("k", function(x)
  x[0] = warp_scan(x[0], "min", {inclusive = true}) -- expect error: warp_scan: option 'inclusive' is unknown; expected exclusive and init
end)
k{grid = 1, block = 32}(zeros(i32, 4))
