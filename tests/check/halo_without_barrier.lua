-- A tile with its halo, loaded in a loop that each thread runs once or twice, and read without a barrier.
-- No loop comes back to line 5: there is one fault, between the two lines.
local k = kernel("stencil", function(x, y)
  local s = shared(f32, 324)
  for e = threadIdx.x, 323, 256 do s[e] = x[e] end
  local sum = 0.0
  for a = 0, 2 do sum = sum + s[threadIdx.x + 18 * a] end -- finds: race: read of s at 36, extent 324, by thread (0,0,0) of block (0,0,0), and write by thread (36,0,0) at line 5 are not ordered; put sync_threads() between line 5 and line 7
  y[threadIdx.x] = sum
end)
k{grid = 1, block = 256}(rand(f32, 324), zeros(f32, 256))
