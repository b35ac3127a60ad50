-- products.lua: products of matrices and vectors, and attention.
local t = dofile "tests/judge/texts.lua"
local small <const> = { M = { 1, 20 }, N = { 1, 40 }, K = { 1, 50 } }

local function product(A, B, C)
  for i = 0, size(C, 0) - 1 do
    for j = 0, size(C, 1) - 1 do
      local sum = 0.0
      for k = 0, size(A, 1) - 1 do sum = sum + A[{ i, k }] * B[{ j, k }] end
      C[{ i, j }] = sum
    end
  end
end

local function plain(name, fields, body)
  fields.name, fields.sizes, fields.reference = name, small, fields.reference or product
  fields.right = t.pairs("A, B, C", "C", body or [[
local sum = f32(0)
    for k = 0, size(A, 1) - 1 do sum = sum + A[{i, k}] * B[{j, k}] end
    C[{i, j}] = sum]])
  return t.pairs_faults(fields, "C")
end

local tiled = {
  name = "product in tiles", sizes = small, inputs = { { "A", f32, "M,K" }, { "B", f32, "N,K" } },
  outputs = { { "C", f32, "M,N" } }, reference = product,
  right = [[
local k = kernel("tiles", function(A, B, C)
  local a, b = shared(f32, {8, 17}), shared(f32, {8, 17})
  local i, j = blockIdx.y * 8 + threadIdx.y, blockIdx.x * 8 + threadIdx.x
  local sum = f32(0)
  for at = 0, size(A, 1) - 1, 8 do
    local p = at + threadIdx.x
    local v, w = f32(0), f32(0)
    if i < size(A, 0) and p < size(A, 1) then v = A[{i, p}] end
    local row = blockIdx.x * 8 + threadIdx.y
    if row < size(B, 0) and p < size(A, 1) then w = B[{row, p}] end
    a[{threadIdx.y, threadIdx.x}] = v
    b[{threadIdx.y, threadIdx.x}] = w
    sync_threads()
    for q = 0, 7 do sum = sum + a[{threadIdx.y, q}] * b[{threadIdx.x, q}] end
    sync_threads()
  end
  if i < size(C, 0) and j < size(C, 1) then C[{i, j}] = sum end
end)
return function(A, B, C)
  k{grid = {cdiv(size(C, 1), 8), cdiv(size(C, 0), 8)}, block = {8, 8}}(A, B, C)
end
]],
  wrong = { "size(A, 1) - 1, 8 do", "size(A, 1) // 8 * 8 - 1, 8 do" },
  race = { "b[{threadIdx.x, q}] end\n    sync_threads()", "b[{threadIdx.x, q}] end" },
  outside = { "i < size(A, 0) and p", "p" },
}

local per_row = {
  name = "matrix times vector", sizes = { M = { 1, 9 }, N = { 1, 150 } },
  inputs = { { "x", f32, "M,N" }, { "v", f32, "N" } }, outputs = { { "y", f32, "M" } },
  reference = function(x, v, y)
    for i = 0, size(x, 0) - 1 do
      local sum = 0.0
      for j = 0, size(x, 1) - 1 do sum = sum + x[{ i, j }] * v[j] end
      y[i] = sum
    end
  end,
  right = t.rows("x, v, y", [[local all = f32(0)
  for j = threadIdx.x, n - 1, blockDim.x do all = all + x[{row, j}] * v[j] end
  all = block_reduce(all, "add")
  if threadIdx.x == 0 then y[row] = all end]]),
}

local batched = {
  name = "batched product", sizes = { B = { 1, 3 }, M = { 1, 9 }, N = { 1, 40 }, K = { 1, 20 } },
  inputs = { { "A", f32, "B,M,K" }, { "W", f32, "B,N,K" } }, outputs = { { "C", f32, "B,M,N" } },
  reference = function(A, W, C)
    for b = 0, size(A, 0) - 1 do
      for i = 0, size(A, 1) - 1 do
        for j = 0, size(W, 1) - 1 do
          local sum = 0.0
          for p = 0, size(A, 2) - 1 do sum = sum + A[{ b, i, p }] * W[{ b, j, p }] end
          C[{ b, i, j }] = sum
        end
      end
    end
  end,
  right = [[
local k = kernel("batched", function(A, W, C)
  local b, i, j = blockIdx.y, blockIdx.x, threadIdx.x
  if j < size(W, 1) then
    local sum = f32(0)
    for p = 0, size(A, 2) - 1 do sum = sum + A[{b, i, p}] * W[{b, j, p}] end
    C[{b, i, j}] = sum
  end
end)
return function(A, W, C) k{grid = {size(A, 1), size(A, 0)}, block = 64}(A, W, C) end
]],
  wrong = { "j < size(W, 1)", "j < size(W, 1) // 2 * 2" },
  race = { "C[{b, i, j}] = sum", "C[{b, i, j // 2}] = sum" },
  outside = { "j < size(W, 1)", "j <= size(W, 1)" },
}

local attention = {
  name = "attention of one head", sizes = { M = { 1, 12 }, N = { 1, 40 }, D = { 1, 24 } },
  inputs = { { "q", f32, "M,D" }, { "x", f32, "N,D" }, { "v", f32, "N,D" } },
  outputs = { { "y", f32, "M,D" } },
  reference = function(q, x, v, y)
    local n, d = size(x, 0), size(x, 1)
    for i = 0, size(q, 0) - 1 do
      local p, most, sum = {}, -math.huge, 0.0
      for j = 0, n - 1 do
        p[j] = 0.0
        for c = 0, d - 1 do p[j] = p[j] + q[{ i, c }] * x[{ j, c }] end
        most = math.max(most, p[j])
      end
      for j = 0, n - 1 do
        p[j] = math.exp(p[j] - most)
        sum = sum + p[j]
      end
      for c = 0, d - 1 do
        local out = 0.0
        for j = 0, n - 1 do out = out + p[j] / sum * v[{ j, c }] end
        y[{ i, c }] = out
      end
    end
  end,
  right = [[
local k = kernel("attention", function(q, x, v, y)
  local row, n, d = blockIdx.x, size(x, 0), size(x, 1)
  local p = shared(f32, 40)
  local score = f32(-1 / 0)
  if threadIdx.x < n then
    score = f32(0)
    for c = 0, d - 1 do score = score + q[{row, c}] * x[{threadIdx.x, c}] end
  end
  local most = block_reduce(score, "max")
  local e = exp(score - most)
  local sum = block_reduce(e, "add")
  if threadIdx.x < n then p[threadIdx.x] = e / sum end
  sync_threads()
  if threadIdx.x < d then
    local out = f32(0)
    for j = 0, n - 1 do out = out + p[j] * v[{j, threadIdx.x}] end
    y[{row, threadIdx.x}] = out
  end
end)
return function(q, x, v, y) k{grid = size(q, 0), block = 64}(q, x, v, y) end
]],
  wrong = { "j = 0, n - 1", "j = 0, n // 2 * 2 - 1" },
  race = { "  sync_threads()\n", "" },
  outside = { "threadIdx.x < d", "threadIdx.x <= d" },
}

return {
  plain("product", { inputs = { { "A", f32, "M,K", order = "any" }, { "B", f32, "N,K" } },
    outputs = { { "C", f32, "M,N", order = "any" } } }),
  plain("product of f16", { inputs = { { "A", f16, "M,K" }, { "B", f16, "N,K" } },
    outputs = { { "C", f16, "M,N" } } }, [[
local sum = f32(0)
    for k = 0, size(A, 1) - 1 do sum = sum + f32(A[{i, k}]) * f32(B[{j, k}]) end
    C[{i, j}] = cast(sum, f16)]]),
  plain("outer product", { inputs = { { "A", f64, "M" }, { "B", f64, "N" } },
    outputs = { { "C", f64, "M,N" } },
    reference = function(A, B, C)
      for i = 0, size(A) - 1 do
        for j = 0, size(B) - 1 do C[{ i, j }] = A[i] * B[j] end
      end
    end }, "C[{i, j}] = A[i] * B[j]"),
  tiled, t.rows_faults(per_row, { "if threadIdx.x == 0 then y[row] = all end",
    "y[row] = all + threadIdx.x" }),
  batched, attention,
}
