-- A graph of launches, a copy and a fill, recorded anew with other arguments.
local add = kernel("add", function(xs, y, c)
  y[threadIdx.x] = xs[1][threadIdx.x] + xs[2][threadIdx.x] * c
end)
local a, b, y, z = ones(f32, 8), ones(f32, 8), zeros(f32, 8), zeros(f32, 8)
local g = graph(function(n, out)
  clear(out)
  for i = 1, n do add{grid = 1, block = 8}({a, b}, out, i) end
  copy(out, z)
end, 2, y)
g()
assert(z[7] == 3)
g(3, y)
assert(z[7] == 4)
g(1, zeros(f32, 8))
assert(z[7] == 2)
