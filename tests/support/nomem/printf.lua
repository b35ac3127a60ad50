local k = kernel("k", function(n, x)
  local i = threadIdx.x
  if i < n then printf("%d %g %s\n", i, x[i], "a") end
  x[i] = block_reduce(x[i], "add")
  assert(x[i] >= 0.0, "neg")
end)
local x = ones(f32, 64)
k{grid = 1, block = 64}(5, x)
assert(x[63] == 64.0)
assert(#k{grid = 1, block = 64}:source(5, x) > 10)
assert(#k{grid = 1, block = 64}:ir(5, x) > 10)
