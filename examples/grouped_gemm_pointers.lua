-- grouped_gemm_pointers.lua: products C = A B' of different shapes in one launch, which cuBLAS and
-- CUTLASS group with arrays of pointers. One kernel gets its matrices from lists of tensors, the
-- other from arrays of addresses and sizes in device memory. A block computes one tile of one
-- product. Plain Lua checks both, on a GPU only some elements.
-- Usage: cuttle grouped_gemm_pointers.lua [products [largest size]]
local on_gpu = device().sm ~= nil
local n_products = tonumber(arg[1] or (on_gpu and 64 or 6))
local largest = tonumber(arg[2] or (on_gpu and 1000 or 70))
local bM <const>, bN <const>, bK <const> = 64, 64, 16
local load_threads, threads = layout{32, 8}, layout{16, 16}

-- Tile (m, n) of C. The guards let tiles overhang.
local function product(A, B, C, m, n)
  local sA = shared(f32, layout({bM, bK}, {1, bM + 1}))      -- padded: no bank conflicts
  local sB = shared(f32, layout({bN, bK}, {1, bN + 1}))
  local to_A = parallelize(sA, load_threads, threadIdx.x)
  local to_B = parallelize(sB, load_threads, threadIdx.x)
  local of_A = parallelize(sA, threads, threadIdx.x, {1, _})
  local of_B = parallelize(sB, threads, threadIdx.x, {_, 1})
  local sums = fragment(f32, {bM // 16, bN // 16})
  clear(sums)
  for k in range(cdiv(size(A, 1), bK)) do
    copy(parallelize(tile(guard(A), {bM, bK}, {m, k}), load_threads, threadIdx.x), to_A)
    copy(parallelize(tile(guard(B), {bN, bK}, {n, k}), load_threads, threadIdx.x), to_B)
    cp_async_wait(0)
    sync_threads()
    gemm(of_A, of_B, sums)
    sync_threads()
  end
  copy(sums, parallelize(tile(guard(C), {bM, bN}, {m, n}), threads, threadIdx.x))
end

-- Column b of `work`: which product block b is of, from 1 on, and its tile's m and n.
local by_lists = kernel("by_lists", function(A, B, C, work)
  local g = work[{0, blockIdx.x}]
  product(A[g], B[g], C[g], work[{1, blockIdx.x}], work[{2, blockIdx.x}])
end)

-- Column g of `sizes` has M, N and K of product g, from 0 on. Matrices are column-major.
local by_pointers = kernel("by_pointers", function(A, B, C, sizes, work)
  local g = work[{0, blockIdx.x}] - 1
  local M, N, K = sizes[{0, g}], sizes[{1, g}], sizes[{2, g}]
  local function matrix(pointers, rows, columns)
    return tensor_at(pointers[g], f32, layout({rows, columns}, {1, rows}), {align = 16})
  end
  product(matrix(A, M, K), matrix(B, N, K), matrix(C, M, N), work[{1, blockIdx.x}],
    work[{2, blockIdx.x}])
end)

local A, B, C, D, shapes, tiles = {}, {}, {}, {}, {{}, {}, {}}, {{}, {}, {}}
local n_flops = 0
for g = 1, n_products do
  local M, N, K = 1 + g * 37 % largest, 1 + g * 53 % largest, 1 + g * 71 % largest
  A[g], B[g] = randn(f32, {M, K}), randn(f32, {N, K})
  C[g], D[g] = zeros(f32, {M, N}), zeros(f32, {M, N})
  shapes[1][g], shapes[2][g], shapes[3][g] = M, N, K
  for n = 0, cdiv(N, bN) - 1 do
    for m = 0, cdiv(M, bM) - 1 do
      local b = #tiles[1] + 1
      tiles[1][b], tiles[2][b], tiles[3][b] = g, m, n
    end
  end
  n_flops = n_flops + 2 * M * N * K
end
local function addresses(list)
  local t = {}
  for i, x in ipairs(list) do t[i] = x.address end
  return from_table(u64, t)
end
local config = {grid = #tiles[1], block = 256}
local work, sizes = from_table(i32, tiles), from_table(i32, shapes)
local lists = by_lists:prepare(config)(A, B, C, work)
local pointers = by_pointers:prepare(config)(addresses(A), addresses(B), addresses(D), sizes, work)
lists()
pointers()

local worst, same = 0.0, true
local step = on_gpu and 1009 or 1
for g = 1, n_products do
  local a, b, c, d = A[g]:to("cpu"), B[g]:to("cpu"), C[g]:to("cpu"), D[g]:to("cpu")
  for i = 0, size(c) - 1, step do
    local m, n, sum = i % size(c, 0), i // size(c, 0), 0.0
    for k = 0, size(a, 1) - 1 do sum = sum + a[{m, k}] * b[{n, k}] end
    worst = math.max(worst, math.abs(c[i] - sum))
    same = same and c[i] == d[i]
  end
end
local ok = same and worst < 1e-3
local ms, ms_pointers = bench(lists), bench(pointers)
print(("%d products of different shapes on %s: %s, largest error %.2g"):format(n_products,
  device().name, ok and "correct" or "wrong", worst))
print(("by lists %.3f ms, %.1f Gflop/s; by pointers %.3f ms, %.1f Gflop/s"):format(ms,
  n_flops / ms * 1e-6, ms_pointers, n_flops / ms_pointers * 1e-6))
os.exit(ok, true)
