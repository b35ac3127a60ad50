-- Products of random types, extents, orders, slots and threads, with reductions of their rows, against
-- plain loops. What cannot be shared is refused, and nothing else is. An argument is how many, if not 30.
math.randomseed(17)
local function pick(t) return t[math.random(#t)] end
local types = {f16, bf16, f32, f64, i8, u8, f8e4m3, i32}
local sums = {f64 = f64, i8 = i32, u8 = i32, i32 = i32}
local orders = {row_major, col_major}
local function made(dtype, layout)
  return sums[dtype.name] == i32 and rand(dtype, layout, 0, 9) or randn(dtype, layout)
end
local function product(M, N, K, stages, tf32)
  return kernel("product", function(A, B, C, R)
    local gA, gB = tile(guard(A), {M, K}, {0, _}), tile(guard(B), {N, K}, {0, _})
    local sA, sB = shared_like(gA, stages), shared_like(gB, stages)
    local acc = accumulator(sA, sB, {tf32 = tf32})
    pipeline(size(gA, 2), {
      stages = stages,
      load = function(i, slot)
        block_copy(gA(_, _, i), sA(_, _, slot))
        block_copy(gB(_, _, i), sB(_, _, slot))
      end,
      compute = function(slot) dot(sA(_, _, slot), sB(_, _, slot), acc) end,
    })
    acc:store(tile(guard(C), {M, N}, {0, 0}))
    acc:store_rows(row_reduce(acc, "max"), R)
  end)
end
local function worst_of(A, B, C, R)
  local worst, rows, columns = 0, size(A, 0), size(B, 0)
  A, B, C, R = A:to"cpu", B:to"cpu", C:to"cpu", R:to"cpu"
  for m = 0, rows - 1, 5 do
    local top = -math.huge
    for n = 0, columns - 1 do
      local sum = 0
      for k = 0, size(A, 1) - 1 do sum = sum + A[{m, k}] * B[{n, k}] end
      top = math.max(top, sum)
      worst = math.max(worst, math.abs(C[{m, n}] - sum) / math.max(1, math.abs(sum)))
    end
    worst = math.max(worst, math.abs(R[m] - top) / math.max(1, math.abs(top)))
  end
  return worst
end
local n_right, n_refused = 0, 0
local N_PRODUCTS <const> = tonumber(arg[1] or 30)
for _ = 1, N_PRODUCTS do
  local dtype, threads, tf32 = pick(types), pick{32, 64, 96, 128, 256}, math.random() < 0.3
  local M, N, K = 8 * math.random(12), 8 * math.random(12), pick{4, 8, 16, 24, 32, 48}
  local rows, depth = M - math.random(0, 7), 2 * K - math.random(0, 3)
  local A, B = made(dtype, pick(orders){rows, depth}), made(dtype, pick(orders){N, depth})
  local C, R = zeros(sums[dtype.name] or f32, {rows, N}), zeros(sums[dtype.name] or f32, M)
  local launch = product(M, N, K, pick{2, 3}, tf32){grid = 1, block = threads}
  local ok, message = pcall(launch, A, B, C, R)
  local limit = tf32 and dtype == f32 and 5e-2 or 2e-3
  if not ok and tostring(message):find("cannot be shared by", 1, true) then
    n_refused = n_refused + 1
  elseif ok and worst_of(A, B, C, R) < limit then
    n_right = n_right + 1
  else
    print(dtype, threads, M, N, K, ok and worst_of(A, B, C, R) or message)
  end
end
print(n_right + n_refused == N_PRODUCTS, n_right > 20 * N_PRODUCTS // 30) -- expect: true	true
