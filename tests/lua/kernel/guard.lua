-- guard(t): tiles may overhang; what lies outside reads as 0 and is not written. Products and
-- transposes of sizes that no tile divides, the buffers around them untouched.
local function make_matmul(bM, bN, bK)
  local sA_layout, sB_layout = layout({ bM, bK }, { 1, bM + 1 }), layout({ bN, bK }, { 1, bN + 1 })
  local tA, tC = layout { 32, 2 }, layout { 8, 8 }
  return kernel("matmul", function(A, B, C)
    local sA, sB = shared(A.dtype, sA_layout), shared(B.dtype, sB_layout)
    local gA = tile(guard(A), { bM, bK }, { blockIdx.x, _ })
    local gB = tile(guard(B), { bN, bK }, { blockIdx.y, _ })
    local gC = tile(guard(C), { bM, bN }, { blockIdx.x, blockIdx.y })
    local function share(t) return parallelize(guard(t), tA, threadIdx.x) end
    local tAgA, tAsA = parallelize(gA, tA, threadIdx.x), share(sA)
    local tBgB, tBsB = parallelize(gB, tA, threadIdx.x), share(sB)
    local tCsA = parallelize(sA, tC, threadIdx.x, { 1, _ })
    local tCsB = parallelize(sB, tC, threadIdx.x, { _, 1 })
    local tCgC = parallelize(gC, tC, threadIdx.x)
    local tCrC = fragment_like(tCgC)
    clear(tCrC)
    for k in axes(tAgA, 2) do
      copy(tAgA(_, _, k), tAsA)
      copy(tBgB(_, _, k), tBsB)
      sync_threads()
      gemm(tCsA, tCsB, tCrC)
      sync_threads()
    end
    copy(tCrC, tCgC)
  end)
end

-- C stands inside a larger matrix, whose other elements must stay as they are.
local function check(matmul, bM, bN, M, N, K)
  local A, B = rand(f32, { M, K }), rand(f32, { N, K })
  local around = full(f32, { M + 3, N + 2 }, -7.0)
  local C = view(around, layout({ M, N }, { 1, M + 3 }))
  matmul { grid = { cdiv(M, bM), cdiv(N, bN) }, block = 64 }(A, B, C)
  if M * N > 0 and not allclose(C, reference.matmul(A, B)) then return false end
  for j = 0, N + 1 do
    for i = 0, M + 2 do
      if (i >= M or j >= N) and around[{ i, j }] ~= -7.0 then return false end
    end
  end
  return true
end

local wide = make_matmul(32, 32, 4)
for _, s in ipairs { { 1, 1, 1 }, { 31, 31, 31 }, { 63, 1, 5 }, { 1, 63, 3 }, { 32, 64, 4 },
  { 127, 33, 2 }, { 37, 41, 7 }, { 0, 5, 3 }, { 5, 0, 3 }, { 5, 7, 0 }, { 64, 31, 8 } } do
  local M, N, K = table.unpack(s)
  if not check(wide, 32, 32, M, N, K) then print("wrong:", M, N, K) end
end

-- Tiles that the threads do not divide: 40 by 32 rows, 6 by 2 of k.
local odd = make_matmul(40, 24, 6)
for _, s in ipairs { { 1, 1, 1 }, { 40, 24, 6 }, { 80, 24, 12 }, { 43, 47, 13 }, { 81, 25, 1 } } do
  local M, N, K = table.unpack(s)
  if not check(odd, 40, 24, M, N, K) then print("wrong, tiles of 40:", M, N, K) end
end

-- B = A' through padded shared memory.
local transpose = kernel("transpose", function(A, B)
  local s = shared(A.dtype, layout({ 16, 16 }, { 1, 17 }))
  local st = composition(s, layout({ 16, 16 }, { 16, 1 }))
  local gA = tile(guard(A), { 16, 16 }, { blockIdx.x, blockIdx.y })
  local gB = tile(guard(B), { 16, 16 }, { blockIdx.y, blockIdx.x })
  local thr = layout { 16, 4 }
  copy(parallelize(gA, thr, threadIdx.x), parallelize(s, thr, threadIdx.x))
  sync_threads()
  copy(parallelize(st, thr, threadIdx.x), parallelize(gB, thr, threadIdx.x))
end)
for _, s in ipairs { { 1, 1 }, { 31, 17 }, { 16, 16 }, { 0, 4 }, { 63, 129 }, { 13, 101 } } do
  local M, N = table.unpack(s)
  local A, B = rand(f32, { M, N }), full(f32, { N, M }, -1)
  transpose { grid = { cdiv(M, 16), cdiv(N, 16) }, block = 64 }(A, B)
  for j = 0, N - 1 do
    for i = 0, M - 1 do
      if A[{ i, j }] ~= B[{ j, i }] then print("wrong transpose:", M, N, i, j) end
    end
  end
end

-- fill, clear, axpby and gemm of vectors on guarded parts; other element types.
local function parts(dtype)
  return kernel("parts", function(x, y, z)
    local function part(t)
      return parallelize(tile(guard(t), 64, blockIdx.x), layout(32), threadIdx.x)
    end
    fill(part(y), 2)
    axpby(3, part(x), 2, part(y))
    gemm(part(x), part(x), part(y))
    clear(part(z))
  end), dtype
end
for _, dtype in ipairs { f32, f64, i32, i64 } do
  local k = parts(dtype)
  for _, n in ipairs { 1, 31, 64, 100, 129 } do
    local x, y, z = arange(dtype, n), arange(dtype, n + 5), arange(dtype, n + 5)
    k { grid = cdiv(n, 64), block = 32 }(x, view(y, n), view(z, n))
    for i = 0, n + 4 do
      local want_y, want_z = i < n and 3 * i + 4 + i * i or i, i < n and 0 or i
      if y[i] ~= want_y or z[i] ~= want_z then print("wrong part:", dtype, n, i, y[i], z[i]) end
    end
  end
end
print("done")  -- expect: done
