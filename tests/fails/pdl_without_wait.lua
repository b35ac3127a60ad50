local k = kernel("next", function(x) x[threadIdx.x] = x[threadIdx.x] + 1 end)
k{grid = 1, block = 4, pdl = true}(zeros(f32, 4)) -- expect error: next: pdl = true lets it begin before the launch before it has ended, but it never waits for that; call grid_dependency_wait() before the first use of what other launches read or write
