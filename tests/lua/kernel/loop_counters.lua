-- Counters of `for` in the emitted text: of 64 bits where the last step may pass the end of int.
local function heads(name, body, ...)
  local text = kernel(name, body) { grid = 2, block = 32 }:source(...)
  for head in text:gmatch "for (%b()) {" do print(name, head) end
end

local x = zeros(i32, 300)
heads("up", function(y, n)
  for i = 0, n - 1, 2 do y[i] = i end
end, x, 300) -- expect: up	(long long i_64 = 0; i_64 < n; i_64 += 2)
heads("stride", function(y, n)
  for i = blockIdx.x * blockDim.x + threadIdx.x, n - 1, gridDim.x * blockDim.x do y[i] = i end
end, x, 300) -- expect: stride	(long long i_64 = bid_x * 32 + tid_x; i_64 < n; i_64 += grid_x * 32)
heads("known_end", function(y)
  for i = threadIdx.x, 299, gridDim.x * blockDim.x do y[i] = i end
end, x) -- expect: known_end	(long long i_64 = tid_x; i_64 < 300; i_64 += grid_x * 32)
heads("small", function(y)
  for i = threadIdx.x, 299, blockDim.x do y[i] = i end
end, x) -- expect: small	(int i = tid_x; i < 300; i += 32)
heads("below_0", function(y, n)
  for i = threadIdx.x - 1, n - 1, 2 do y[i + 1] = i end
end, x, 299) -- expect: below_0	(long long i_64 = tid_x - 1; i_64 < n; i_64 += 2)
heads("down", function(y, n)
  for i in range(299, n, -2) do y[i] = i end
end, x, 0) -- expect: down	(long long i_64 = 299; i_64 > n; i_64 -= 2)

-- The step behind the last index passes the end of int, on an engine too.
local k = kernel("last", function(y, n)
  local turns = 0
  for i = threadIdx.x + (1 << 30), n - 1, 1 << 30 do turns = turns + i % 3 + 1 end
  y[threadIdx.x] = turns
end)
k { grid = 1, block = 4 }(x, (1 << 31) - 1)
print(x[0], x[1], x[2], x[3]) -- expect: 2	3	1	2
