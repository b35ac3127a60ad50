local k = kernel("k", function(x) x[0] = 1 end)
k{grid = 1, block = 1, min_blocks = 2}(zeros(f32, 1)) -- expect error: k: launch option 'min_blocks' is one of kernel(name, fn, {...}); expected grid, block, cluster, smem, stream, pdl or check
