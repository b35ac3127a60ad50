-- gemm_hopper: configurations for few rows or columns have the bits of "hopper 64x64x64", which
-- loads whole tiles; and those that load some rows refuse more. The stride of a single row is 0.
-- Blocks that share K add in another order.
-- needs sm_90a
local function words(t) return recast(view(t, layout(size(t))):to("cpu"), u16):totable() end
local function same(a, b)
  local x, y = words(a), words(b)
  for i = 1, #x do
    if x[i] ~= y[i] then return false end
  end
  return true
end

local names <const> = {"hopper 32x64x64, 32 rows", "hopper 64x64x64, 32 rows", "hopper 16x64x64",
                       "hopper 32x64x64, 12 stages"}
local of_16 <const> = {"hopper 32x64x64, 16 rows", "hopper 64x64x64, 16 rows"}
local in_2 <const> = {"hopper 64x64x64, 32 rows, K in 2", "hopper 64x64x64, K in 2",
                      "hopper 32x64x64, K in 2"}
local function check(m, n, k, options)
  local A, B = randn(bf16, row_major{m, k}), randn(bf16, row_major{n, k})
  local C, D = zeros(bf16, row_major{m, n}), zeros(bf16, row_major{m, n})
  options.split, options.config = 1, "hopper 64x64x64"
  matmul(A, B, D, options)
  for _, list in ipairs{names, m <= 16 and of_16 or nil} do
    for _, name in ipairs(list) do
      options.config = name
      matmul(A, B, C, options)
      assert(same(C, D), name)
    end
  end
  for _, name in ipairs(k > 64 and in_2 or {}) do
    options.config = name
    matmul(A, B, C, options)
    assert(allclose(C, D, {rtol = 0.01, atol = 0.01}), name)
  end
  local R, scale = reference.matmul(A, B):to("cpu"), options.alpha or 1
  C = C:to("cpu")
  for i = 0, m - 1 do
    for j = 0, n - 1, 7 do
      local want = R[{i, j}] * scale
      assert(math.abs(C[{i, j}] - want) <= 0.01 * math.abs(want) + 0.01)
    end
  end
  return true
end
print(check(16, 96, 320, {}))                        -- expect: true
print(check(9, 200, 1000, {alpha = 0.5}))            -- expect: true
print(check(32, 72, 64, {}))                         -- expect: true
print(check(1, 4096, 1024, {}))                      -- expect: true
print(check(1, 72, 128, {beta = 0}))                 -- expect: true
print(check(16, 8, 64, {}))                          -- expect: true

-- The same without names: a GPU takes them by itself.
for _, m in ipairs{1, 2, 16, 32} do
  local A, B = ones(bf16, row_major{m, 512}), ones(bf16, row_major{4224, 512})
  local by_rows, by_columns = zeros(f32, row_major{m, 4224}), zeros(f32, {m, 4224})
  matmul(A, B, by_rows)
  matmul(A, B, by_columns)
  by_rows, by_columns = by_rows:to("cpu"), by_columns:to("cpu")
  for n = 0, 4223, 11 do
    assert(by_rows[{m - 1, n}] == 512 and by_columns[{m - 1, n}] == 512)
  end
end

local A, B = zeros(bf16, row_major{33, 64}), zeros(bf16, row_major{64, 64})
print((select(2, pcall(matmul, A, B, zeros(bf16, row_major{33, 64}), {config = names[1]}))
  :gsub("^%S+ ", ""):gsub("on %w+:?%d*;", "on it;")))
-- expect: matmul: configuration 'hopper 32x64x64, 32 rows' is not for this problem: bf16, TN, K = 64, on it; it loads 32 rows, contiguous along K
