-- A product of tensor cores whose operands come by ldmatrix and go by stmatrix, as tiled copies made of the
-- MMA retile them: operands contiguous in k (N) or in m and n (T), swizzled, k block after k block; the
-- result through shared memory, in either order.
local bM, bN, bK = 64, 64, 32
local mma = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", { 2, 2 }, { 32, 32, 16 })
local lds = { N = atom("SM75_U32x4_LDSM_N", f16), T = atom("SM75_U16x8_LDSM_T", f16) }
local sts = { N = atom("SM90_U32x4_STSM_N", f16), T = atom("SM90_U16x8_STSM_T", f16) }
local cp = atom("UniversalCopy<u128>", f16)

-- Eight rows of 16 bytes a swizzle, contiguous in mode 1 or in mode 0.
local function shared_layout(major, m, n)
  if major == "N" then return composition(swizzle(2, 3, 3), row_major { m, n }) end
  return composition(swizzle(3, 3, 3), layout { m, n })
end
local function loader(major, m, n)
  if major == "N" then
    return tiled_copy(cp, row_major { 128 * 8 // n, n // 8 }, row_major { 1, 8 })
  end
  return tiled_copy(cp, layout { m // 8, 128 * 8 // m }, layout { 8, 1 })
end

local function product(name, a, b, c)
  local loadA, loadB, storeC = loader(a, bM, bK), loader(b, bN, bK), loader(c, bM, bN)
  local ldA, ldB = tiled_copy_A(lds[a], mma), tiled_copy_B(lds[b], mma)
  local stC = sts[c] and tiled_copy_C(sts[c], mma)
  return kernel(name, function(A, B, C)
    local sA, sB = shared(f16, shared_layout(a, bM, bK)), shared(f16, shared_layout(b, bN, bK))
    local sC = shared(f16, shared_layout(c, bM, bN))
    local thrA, thrB = loadA:get_slice(threadIdx.x), loadB:get_slice(threadIdx.x)
    local thr, toA, toB = mma:get_slice(threadIdx.x), ldA:get_slice(threadIdx.x),
      ldB:get_slice(threadIdx.x)
    local gA, gB = tile(A, { bM, bK }, { blockIdx.x, _ }), tile(B, { bN, bK }, { blockIdx.y, _ })
    local gC = tile(C, { bM, bN }, { blockIdx.x, blockIdx.y })
    local tCrA, tCrB = thr:fragment_A(thr:partition_A(sA)), thr:fragment_B(thr:partition_B(sB))
    local tCrC = thr:fragment_C(thr:partition_C(gC))
    local tXsA, tXrA = toA:partition_S(sA), toA:retile_D(tCrA)
    local tXsB, tXrB = toB:partition_S(sB), toB:retile_D(tCrB)
    local tAgA, tBgB = thrA:partition_S(gA), thrB:partition_S(gB)
    clear(tCrC)
    for k in axes(tAgA, 3) do
      sync_threads()
      copy(loadA, tAgA(_, _, _, k), thrA:partition_D(sA))
      copy(loadB, tBgB(_, _, _, k), thrB:partition_D(sB))
      sync_threads()
      for j = 0, size(tCrA, 2) - 1 do
        copy(ldA, tXsA(_, _, j), tXrA(_, _, j))
        copy(ldB, tXsB(_, _, j), tXrB(_, _, j))
        gemm(mma, tCrA(_, _, j), tCrB(_, _, j), tCrC)
      end
    end
    local rC, from = cast(tCrC, f16), stC:get_slice(threadIdx.x)
    copy(stC, from:retile_S(rC), from:partition_D(sC))
    sync_threads()
    local out = storeC:get_slice(threadIdx.x)
    copy(storeC, out:partition_S(sC), out:partition_D(gC))
  end)
end

local function by(major, m, n) return major == "N" and row_major { m, n } or layout { m, n } end
for _, majors in ipairs { "NNN", "NTT", "TNN", "TTT" } do
  local a, b, c = majors:sub(1, 1), majors:sub(2, 2), majors:sub(3, 3)
  local A, B = rand(f16, by(a, 128, 96), -1, 1), rand(f16, by(b, 64, 96), -1, 1)
  local C = zeros(f16, by(c, 128, 64))
  local k = product("gemm_" .. majors, a, b, c)
  local ok, message = pcall(k { grid = { 2, 1 }, block = 128 }, A, B, C)
  -- Sums of 96 products below 1, in f32, rounded to f16 at the end: half an ulp of at most 32.
  print(ok and allclose(C, reference.matmul(A, B), { rtol = 2e-3, atol = 8e-3 })
    or assert(message:match("needs sm_%d+"), message))
end
-- expect: true
-- expect: true
-- expect: true
-- expect: true
