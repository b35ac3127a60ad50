-- A histogram in a local array: one value is no class of it.
local k = kernel("histogram", function(values, y)
  local h = local_array(i32, 4)
  clear(h)
  for i in range(size(values)) do
    local c = values[i]
    h[c] = h[c] + 1 -- finds: out of bounds: read of h at 4, extent 4, by thread (0,0,0) of block (0,0,0)
  end
  y[threadIdx.x] = h[0]
end)
k{grid = 1, block = 32}(from_table(i32, {0, 3, 4, 1}), zeros(i32, 32))
