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
local results = {f64 = f64, i8 = i32, u8 = i32}
local function run(dtype, M, N, K, threads, options, orders)
  for _, oA in ipairs(orders or {row_major, col_major}) do
    for _, oB in ipairs(orders or {row_major, col_major}) do
      local A, B = made(dtype, oA, {M, 2 * K}), made(dtype, oB, {N, 2 * K})
      local C = zeros(results[dtype.name] or f32, {M, N})
      product(M, N, K, options){grid = 1, block = threads}(A, B, C)
      close(("%s %dx%dx%d %d"):format(dtype, M, N, K, threads), C, reference.matmul(A, B),
        dtype == bf16 and {rtol = 5e-3, atol = 1e-3} or nil)
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
print(n_wrong)  -- expect: 0
