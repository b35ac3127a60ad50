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
