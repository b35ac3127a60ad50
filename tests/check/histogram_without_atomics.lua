-- Counting by reading, adding and writing loses counts.
local k = kernel("histogram", function(x, counts)
  local h = shared(i32, 8)
  local t = threadIdx.x
  if t < 8 then h[t] = 0 end
  sync_threads()
  h[x[t]] = h[x[t]] + 1 -- finds: race: write of h at 0, extent 8, by thread (32,0,0) of block (0,0,0), and write by thread (28,0,0) at the same line are not ordered; put sync_threads() between the two, give each thread a place of its own, or use an atomic operation
  sync_threads()
  if t < 8 then counts[t] = h[t] end
end)
local x = zeros(i32, 64)
for i = 0, 63 do x[i] = i * i % 8 end
k{grid = 1, block = 64}(x, zeros(i32, 8))
