local k = kernel("k", function(x) x[0] = 1 end)
k{grid = 1, block = 1}({1, 2, 3}) -- expect error: k: argument 1 (x) is a table; a tensor, a number or a boolean was expected; from_table(f32, t) makes a tensor
