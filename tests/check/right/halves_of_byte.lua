-- Each thread stores both elements of its byte.
local k = kernel("ones", function(y)
  local mine = fragment(f4e2m1, 2)
  fill(mine, f4e2m1(1.0))
  copy(mine, tile(y, {2}, {threadIdx.x}))
end)
local y = zeros(f4e2m1, 64)
k{grid = 1, block = 32}(y)
for i = 0, 63 do assert(y[i] == 1) end
