local k = kernel("k", function(x)
  x[0] = block_scan(x[0], "min", {exclusive = true}) -- expect error: block_scan: an exclusive scan by this operation needs {init = value}
end)
k{grid = 1, block = 32}(zeros(i32, 4))
