-- dot by wgmma: products of shared tiles and of sums in registers, rows of them; against plain loops.
-- needs sm_90a
local function close(C, A, B, f)
  local worst, a, b = 0, A:totable(), B:totable()
  for m, row in ipairs(C:totable()) do
    for n, got in ipairs(row) do
      local sum, column = 0, b[n]
      for k, x in ipairs(a[m]) do sum = sum + x * column[k] end
      local expected = f and f(sum, m - 1, n - 1) or sum
      worst = math.max(worst, math.abs(got - expected) / math.max(1, math.abs(expected)))
    end
  end
  return worst
end
local function product(dtype, result, bM, bN, bK, threads, oA, oB)
  local k = kernel("product", function(A, B, C)
    local gA, gB = tile(A, {bM, bK}, {blockIdx.x, _}), tile(B, {bN, bK}, {blockIdx.y, _})
    local sA, sB = shared_like(gA, 3), shared_like(gB, 3)
    local acc = accumulator(sA, sB, {wgmma = true, tf32 = true})
    pipeline(size(gA, 2), {
      stages = 3,
      load = function(k, slot)
        block_copy(gA(_, _, k), sA(_, _, slot))
        block_copy(gB(_, _, k), sB(_, _, slot))
      end,
      compute = function(slot) dot(sA(_, _, slot), sB(_, _, slot), acc) end,
    })
    acc:store(tile(C, {bM, bN}, {blockIdx.x, blockIdx.y}))
  end)
  local new = dtype == i8 and rand or randn
  local A, B = new(dtype, oA{bM, 4 * bK}), new(dtype, oB{bN, 4 * bK})
  local C = zeros(result, {bM, bN})
  k{grid = {1, 1}, block = threads}(A, B, C)
  return close(C, A, B)
end
print(product(f16, f32, 64, 64, 64, 128, row_major, row_major) < 1e-3)   -- expect: true
print(product(bf16, f32, 128, 48, 32, 256, col_major, row_major) < 1e-3) -- expect: true
print(product(f16, f32, 64, 64, 64, 256, row_major, col_major) < 1e-3)   -- expect: true
print(product(f32, f32, 64, 32, 32, 128, row_major, row_major) < 2e-2)   -- expect: true
print(product(i8, i32, 64, 32, 64, 128, row_major, row_major) < 1e-9)    -- expect: true

-- Sums, minus the largest of their row, as A of the next product.
local k = kernel("two", function(A, B, V, S_out, O)
  local sA, sB, sV = shared_like(A), shared_like(B), shared_like(V)
  block_copy(A, sA)
  block_copy(B, sB)
  block_copy(V, sV)
  sync_threads()
  local S = dot(sA, sB, accumulator(sA, sB, {wgmma = true}))
  row_broadcast(S, row_reduce(S, "max"), function(v, top) return v - top end):store(S_out)
  local T = select(sV, 1, 0)
  dot(S, T, accumulator(S, T, {wgmma = true})):store(O)
end, {static_shapes = true})
local A, B = randn(f16, row_major{64, 64}), randn(f16, row_major{32, 64})
local V = randn(f16, row_major{32, 64})
local S, O = zeros(f32, {64, 32}), zeros(f32, {64, 64})
k{grid = 1, block = 128}(A, B, V, S, O)
local tops = {}
close(S, A, B, function(sum, m) tops[m] = math.max(tops[m] or sum, sum) return 0 end)
print(close(S, A, B, function(sum, m) return sum - tops[m] end) < 1e-3)  -- expect: true
S = S:to"cpu"
local rounded = zeros(f16, {64, 32}):to"cpu"  -- as the product has it
for i = 0, size(S) - 1 do rounded[i] = S[i] end
print(close(O, rounded, select(V, 1, 0)) < 1e-3)                         -- expect: true
