-- dot: products of tiles over types, orders of modes, warps and sizes, compared with plain loops.
local n_wrong = 0
local function close(name, C, R, tolerance)
  local ok, worst = allclose(C, R, tolerance or {rtol = 1e-3, atol = 1e-3})
  if not ok then n_wrong = n_wrong + 1 print(name, worst) end
end
local function product(M, N, K, options)
  return kernel("product", function(A, B, C)
    local gA, gB = tile(A, {M, K}, {0, _}), tile(B, {N, K}, {0, _})
    local sA, sB = shared_like(gA(_, _, 0)), shared_like(gB(_, _, 0))
    local acc = accumulator(sA, sB, options)
    for k in range(size(gA, 2)) do
      sync_threads()
      block_copy(gA(_, _, k), sA)
      block_copy(gB(_, _, k), sB)
      sync_threads()
      dot(sA, sB, acc)
    end
    acc:store(tile(C, {M, N}, {0, 0}))
  end)
end
local function made(dtype, order, shape)
  return rand(dtype, order(shape))
end
local results = {f64 = f64, i8 = i32, u8 = i32, i16 = i32, i32 = i32}
local rough = {bf16 = {rtol = 5e-3, atol = 1e-3}, f8e4m3 = {rtol = 0.07, atol = 0.01},
               f8e5m2 = {rtol = 0.14, atol = 0.01}}  -- reference.matmul rounds to the operands' type
local function run(dtype, M, N, K, threads, options)
  for _, oA in ipairs{row_major, col_major} do
    for _, oB in ipairs{row_major, col_major} do
      local A, B = made(dtype, oA, {M, 2 * K}), made(dtype, oB, {N, 2 * K})
      local C = zeros(results[dtype.name] or f32, {M, N})
      product(M, N, K, options){grid = 1, block = threads}(A, B, C)
      close(("%s %dx%dx%d %d"):format(dtype, M, N, K, threads), C, reference.matmul(A, B),
        rough[dtype.name])
    end
  end
end
run(f16, 64, 64, 32, 128)
run(f16, 64, 64, 32, 128, {warps = {4, 1}})
run(f16, 32, 24, 16, 64)
run(f16, 128, 64, 64, 128)
run(f16, 32, 32, 8, 32)
run(f16, 8, 32, 16, 32)             -- no atom: plain FMAs
run(bf16, 64, 32, 32, 64)
run(tf32, 32, 32, 16, 32)
run(f32, 32, 32, 8, 64)
run(f32, 32, 32, 16, 32, {tf32 = true})
run(f64, 32, 32, 16, 64)
run(i8, 32, 32, 64, 64)
run(u8, 64, 32, 32, 64)
run(i16, 16, 16, 8, 32)             -- no tensor core has these
run(i32, 8, 24, 4, 64)
run(f8e4m3, 32, 32, 32, 64)
run(f8e5m2, 16, 48, 64, 32)

-- Types that differ, where an atom takes both; against plain loops.
local function mixed(a, b, result)
  local A, B = made(a, row_major, {16, 64}), made(b, row_major, {16, 64})
  local C = zeros(result, {16, 16})
  product(16, 16, 32){grid = 1, block = 32}(A, B, C)
  A, B, C = A:to"cpu", B:to"cpu", C:to"cpu"
  local worst = 0
  for m = 0, 15 do
    for n = 0, 15 do
      local sum = 0
      for k = 0, 63 do sum = sum + A[{m, k}] * B[{n, k}] end
      worst = math.max(worst, math.abs(C[{m, n}] - sum))
    end
  end
  if worst > 1e-2 then n_wrong = n_wrong + 1 print(a, b, worst) end
end
mixed(f8e4m3, f8e5m2, f32)
mixed(f8e5m2, f8e4m3, f32)
mixed(i8, u8, i32)
mixed(u8, i8, i32)
print(n_wrong)  -- expect: 0
