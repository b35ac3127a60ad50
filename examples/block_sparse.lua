-- block_sparse.lua: C = A X on tensor cores, where A is a sparse matrix of dense blocks (BSR) and X
-- is dense. Rows of blocks have different lengths, and an index tensor says which rows of X each
-- block meets: the copies of the pipeline gather these rows.
-- Usage: cuttle block_sparse.lua [rows of blocks [columns of blocks [N [share of blocks]]]]
local on_gpu = device().sm ~= nil
local n_rows = tonumber(arg[1] or (on_gpu and 64 or 4))
local n_columns = tonumber(arg[2] or (on_gpu and 64 or 6))
local N = tonumber(arg[3] or (on_gpu and 4096 or 96))
local density = tonumber(arg[4] or 0.3)
local bM, bK, bN, stages = 64, 32, 64, 3             -- blocks of A are (bM,bK), tiles of C (bM,bN)

-- values (bM,bK,block), the blocks of each row one after the other; starts (rows + 1): where a row
-- begins; columns (block): where in A a block stands; X (N,K), C (M,N)
local multiply = kernel("multiply", function(values, starts, columns, X, C)
  local row = blockIdx.y
  local first, last = starts[row], starts[row + 1]
  local gA = tile(values, {bM, bK}, {0, 0})
  local gX = tile(guard(X), {bN, bK}, {blockIdx.x, _})                   -- (bN,bK,k)
  local sA, sX = shared_like(gA, stages), shared_like(gX, stages)
  local acc = accumulator(sA, sX)
  pipeline(last - first, {
    stages = stages,
    load = function(i, slot)
      block_copy(gA(_, _, first + i), sA(_, _, slot))
      block_copy(gX(_, _, columns[first + i]), sX(_, _, slot))
    end,
    compute = function(slot) dot(sA(_, _, slot), sX(_, _, slot), acc) end,
  })
  acc:store(tile(guard(C), {bM, bN}, {row, blockIdx.x}))
end)

-- {====== A matrix, and the same in plain Lua ======

math.randomseed(1)
local starts, columns = {0}, {}
for row = 0, n_rows - 1 do                                               -- row 1 is empty
  for column = 0, n_columns - 1 do
    if row ~= 1 and math.random() < density then columns[#columns + 1] = column end
  end
  starts[#starts + 1] = #columns
end
local values = randn(f16, layout({bM, bK, #columns}, {bK, 1, bM * bK}))
local X, C = randn(f16, layout{N, n_columns * bK}), zeros(f16, row_major{n_rows * bM, N})

-- Element (m,n) of C.
local function expected(blocks, x, m, n)
  local row, sum = m // bM, 0.0
  for i = starts[row + 1], starts[row + 2] - 1 do
    for k = 0, bK - 1 do
      sum = sum + blocks[{m % bM, k, i}] * x[{n, columns[i + 1] * bK + k}]
    end
  end
  return sum
end

local launch = multiply:prepare{grid = {cdiv(N, bN), n_rows}, block = 128}(values,
  from_table(i32, starts), from_table(i32, columns), X, C)
launch()
local worst, A, B, result = 0.0, values:to"cpu", X:to"cpu", C:to"cpu"
for m = 0, n_rows * bM - 1, 11 do
  for n = 0, N - 1, math.max(N // 20, 1) do
    local v = expected(A, B, m, n)
    worst = math.max(worst, math.abs(result[{m, n}] - v) / math.max(1, math.abs(v)))
  end
end
assert(worst < 2e-3, "wrong result")
local ms = bench(launch)
print(("%d of %d blocks, N = %d: off by %.1e, %.3f ms, %.2f Tflop/s"):format(#columns,
  n_rows * n_columns, N, worst, ms, 2 * #columns * bM * bK * N / ms * 1e-9))
