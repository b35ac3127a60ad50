-- The CUDA C of scalar kernels as people write them, of any size: expressions stay whole, nothing is
-- computed that a programmer would not compute.
local naive = kernel("naive", function(m, n, out)
  local r = blockIdx.y * blockDim.y + threadIdx.y
  local c = blockIdx.x * blockDim.x + threadIdx.x
  if r < size(out, 0) and c < size(out, 1) then
    local p = 0.0
    for i = 0, size(m, 1) - 1 do p = p + m[{r, i}] * n[{i, c}] end
    out[{r, c}] = p
  end
end)

local function matrix(h, w) return zeros(f32, row_major{h, w}) end
print(naive{grid = {3, 3}, block = {16, 16}}:source(matrix(33, 35), matrix(35, 37), matrix(33, 37)))

-- Shared memory that the launch gives, of tiles as wide as an argument says; alone, and behind so much
-- memory of the kernel's own that all of it is dynamic.
local function tiles(n_fixed)
  return kernel("tiles", function(m, out, tw)
    local fixed = shared(f64, n_fixed)
    local both = view(shared(f32), layout({tw, tw, 2}, {tw, 1, tw * tw}))
    local a, b = both(_, _, 0), both(_, _, 1)
    local i, j = threadIdx.x, threadIdx.y
    a[{j, i}], b[{j, i}], fixed[i] = m[{j, i}], 0.0, 1.0
    sync_threads()
    for k = 0, cdiv(size(m, 0), tw) - 1 do
      out[{k, i}] = a[{i, j}] + b[{i, j}] + cast(fixed[k], f32)
    end
  end)
end
for _, n_fixed in ipairs{16, 8192} do
  local config = {grid = 1, block = {16, 16}, smem = 2048}
  print(tiles(n_fixed)(config):source(matrix(32, 32), matrix(32, 32), 16))
end
