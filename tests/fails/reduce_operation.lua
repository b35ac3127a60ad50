local k = kernel("k", function(x)
  x[0] = warp_reduce(x[0], "plus") -- expect error: warp_reduce: operation 'plus'; expected 'add', 'mul', 'min', 'max', 'and', 'or', 'xor' or a function of two values
end)
k{grid = 1, block = 32}(zeros(f32, 4))
