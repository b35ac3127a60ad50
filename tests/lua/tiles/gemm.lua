-- gemm by a tiled MMA, a slice of it or its atom: of UniversalFMA the ordinary gemm of what is behind
-- the mode of values, which has one element.
device "cpu"
local bM, bN, bK = 16, 24, 8

local function product_of(name, dtype, sum, form, options)
  local mma = tiled_mma(name, { 8, 4 })
  local k = kernel("product", function(A, B, C)
    local thr = mma:get_slice(threadIdx.x)
    local gA, gB = tile(A, { bM, bK }, { 0, _ }), tile(B, { bN, bK }, { 0, _ })
    local tCrC = thr:partition_fragment_C(tile(C, { bM, bN }, { 0, 0 }))
    clear(tCrC)
    for k in axes(gA, 2) do
      local tCgA, tCgB = thr:partition_A(gA(_, _, k)), thr:partition_B(gB(_, _, k))
      if form == "k" then
        for j in axes(tCgA, 2) do gemm(mma, tCgA(_, _, j), tCgB(_, _, j), tCrC) end
      else
        gemm(({ tiled = mma, slice = thr, atom = mma.atom })[form], tCgA, tCgB, tCrC, options)
      end
    end
    copy(tCrC, thr:partition_C(tile(C, { bM, bN }, { 0, 0 })))
  end)
  local A, B = arange(i32, { bM, 2 * bK }), arange(i32, { bN, 2 * bK })
  local X, Y, C = zeros(dtype, { bM, 2 * bK }), zeros(dtype, { bN, 2 * bK }), zeros(sum, { bM, bN })
  for i = 0, size(X) - 1 do X[i] = A[i] % 7 - 3 end
  for i = 0, size(Y) - 1 do Y[i] = B[i] % 5 - 2 end
  k { grid = 1, block = 32 }(X, Y, C)
  for m = 0, bM - 1 do
    for n = 0, bN - 1 do
      local v = 0
      for j = 0, 2 * bK - 1 do v = v + X[{ m, j }] * Y[{ n, j }] end
      if v ~= C[{ m, n }] then return false end
    end
  end
  return true
end

print(product_of("UniversalFMA<f32>", f32, f32, "tiled"))  -- expect: true
print(product_of("UniversalFMA<f32>", f32, f32, "tiled", { order = "serpentine" }))  -- expect: true
print(product_of("UniversalFMA<f32>", f32, f32, "k"))  -- expect: true
print(product_of("UniversalFMA<f64>", f64, f64, "slice"))  -- expect: true
print(product_of("UniversalFMA<i32>", i32, i32, "atom"))  -- expect: true
print(product_of("UniversalFMA<f32,f16>", f16, f32, "tiled"))  -- expect: true

-- Parts of guarded tensors; and the product of single values.
local mma = tiled_mma("UniversalFMA<f32>", { 8, 4 })
local ragged = kernel("ragged", function(A, B, C)
  local thr = mma:get_slice(threadIdx.x)
  local gA = tile(guard(A), { bM, bK }, { blockIdx.x, 0 })
  local gB = tile(guard(B), { bN, bK }, { blockIdx.y, 0 })
  local tCgC = thr:partition_C(tile(guard(C), { bM, bN }, { blockIdx.x, blockIdx.y }))
  gemm(mma, thr:partition_A(gA), thr:partition_B(gB), tCgC)
end)
local A, B, C = rand(f32, { 21, 5 }), rand(f32, { 30, 5 }), zeros(f32, { 21, 30 })
ragged { grid = { 2, 2 }, block = 32 }(A, B, C)
print(allclose(C, reference.matmul(A, B)))  -- expect: true

local single = kernel("single", function(out)
  local a, c = fragment(f32, 1), fragment(f32, 1)
  fill(a, 3) fill(c, 4)
  gemm(atom"UniversalFMA<f32>", a, a, c)
  out[0] = c[0]
end)
local out = zeros(f32, 1)
single { grid = 1, block = 1 }(out)
print(out[0])  -- expect: 13.0
