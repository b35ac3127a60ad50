local k = kernel("k", function(x) x[0] = 1 end)
k{grid = 1, threads = 32}(zeros(f32, 1)) -- expect error: k: launch option 'threads' is unknown; write block
