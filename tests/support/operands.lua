-- operands.lua: operands of products whose results are known exactly, and products with scales
-- beside sums in double precision.
local M = {}

--- Small integers, so that sums are exact; of an element type, or `as` another one with its values.
function M.integers(dtype, shape, seed, as)
  local t = zeros(as or dtype, shape)
  for i = 0, size(t, 0) - 1 do
    for j = 0, size(t, 1) - 1 do
      t[{ i, j }] = (i * 7 + j * 3 + i * j + seed) % 5 - (dtype == u8 and 0 or 2)
    end
  end
  return t
end

--- Elements and scales that differ, and are exact in narrow types.
M.elements = { 0, 0.5, 1, 1.5, 2, 3, -0.5, -1, -2, -4, 6 }
M.powers = { 0.25, 0.5, 1, 2, 4 }
M.scales = { 0.25, 1.5, 3.25, 0.875 } -- of f8ue4m3

--- A row-major matrix of values of such a list.
function M.matrix(dtype, rows, columns, values, seed)
  local t = zeros(dtype, row_major { rows, columns })
  for i = 0, rows - 1 do
    for j = 0, columns - 1 do t[{ i, j }] = values[(i * 5 + j * 3 + i * j + seed) % #values + 1] end
  end
  return t
end

--- A (M,K), its scales (M,K / V) of type sf, B (N,K) of type `others`, its scales, and C (M,N).
function M.scaled(dtype, others, V, sf, m, n, k)
  return M.matrix(dtype, m, k, M.elements, 1),
    M.matrix(sf, m, k // V, sf == f8ue4m3 and M.scales or M.powers, 3),
    M.matrix(others, n, k, M.elements, 2), M.matrix(sf, n, k // V, M.powers, 4),
    zeros(f32, row_major { m, n })
end

--- "equal" if each `step`-th row of C is, at some columns, within the bound of single precision of
--- the exact sums: what PTX promises of a device; the CPU engine rounds once for each block.
function M.compare_scaled(A, SFA, B, SFB, C, V, step)
  local K = size(A, 1)
  local error = device().sm and (K + 1) * 2.0 ^ -23 or K // V * 2.0 ^ -24
  local function row(t, i) return t(i, _):totable() end
  for i = 0, size(C, 0) - 1, step do
    local a, sfa = row(A, i), row(SFA, i)
    for j = i % 7, size(C, 1) - 1, 7 do
      local sum, sizes, b, sfb = 0.0, 0.0, row(B, j), row(SFB, j)
      for k = 0, K - 1 do
        local p = a[k + 1] * b[k + 1] * sfa[k // V + 1] * sfb[k // V + 1]
        sum, sizes = sum + p, sizes + math.abs(p)
      end
      if math.abs(C[{ i, j }] - sum) > error * sizes then
        return ("%d,%d: %s, expected %s"):format(i, j, C[{ i, j }], sum)
      end
    end
  end
  return "equal"
end

return M
