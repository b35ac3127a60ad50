-- Each block stores both elements of its byte.
local k = kernel("ones", function(y)
  local both = fragment(f4e2m1, 2)
  fill(both, f4e2m1(1.0))
  copy(both, tile(y, {2}, {blockIdx.x}))
end)
local y = zeros(f4e2m1, 64)
k{grid = 32, block = 1}(y)
for i = 0, 63 do assert(y[i] == 1) end
