-- narrow_products.lua: what tensor cores of sm_120 make of narrow floats, beside the CPU engine,
-- which rounds as runtime/simt/model/exact_product.h says: for each atom how many results have the
-- same bits, how far the others are off as a part of what PTX promises, and how many infinities and
-- NaN differ. A product has 16 x 8 results of random patterns; with `ends`, infinities and NaN are
-- among them.
--   cuttle --device=cuda scripts/bench/narrow_products.lua [products of each atom [ends]]
-- Without such a GPU the CPU engine is compared with itself.
local ct = require "cuttle"
local row_major, zeros, copy, gemm = ct.row_major, ct.zeros, ct.copy, ct.gemm
local threadIdx, blockIdx, tile = ct.threadIdx, ct.blockIdx, ct.tile
local recast, size = ct.recast, ct.size
local f32, u8, f4e2m1 = ct.f32, ct.u8, ct.f4e2m1
local there <const> = ct.device().sm and "cuda" or "cpu"
local n_products <const> = tonumber(arg[1]) or 64
local has_ends <const> = arg[2] == "ends"

-- {====== Operands ======

-- Random patterns of `t`'s elements; without ends none that is no finite number.
local function random_patterns(t)
  local bytes = recast(t, u8)
  for i = 0, size(bytes) - 1 do
    repeat
      local bits = t.dtype.bits == 6 and 63 or 255
      bytes[i] = math.random(0, bits)
      local v = t.dtype ~= f4e2m1 and t[i] or 0
    until has_ends or v - v == 0
  end
  return t
end

-- Scales near 1, so that the sums of blocks meet.
local function random_scales(t)
  for i = 0, size(t) - 1 do t[i] = 2.0 ^ math.random(-3, 3) end
  return t
end

-- One block's product: its rows of A, B, the scales and C.
local function kernel_of(a)
  local mma = ct.tiled_mma(a)
  local M, N, K = a.shape[1], a.shape[2], a.shape[3]
  return ct.kernel("narrow", function(A, B, C, SFA, SFB)
    local thr, _ = mma:get_slice(threadIdx.x), ct._
    local gA, gB = tile(A, { M, K }, { blockIdx.x, 0 }), tile(B, { N, K }, { blockIdx.x, 0 })
    local gC = tile(C, { M, N }, { blockIdx.x, 0 })
    local rA, rB = thr:partition_fragment_A(gA), thr:partition_fragment_B(gB)
    local rC = thr:partition_fragment_C(gC)
    copy(thr:partition_A(gA), rA)
    copy(thr:partition_B(gB), rB)
    copy(thr:partition_C(gC), rC)
    if a.sf_vec_size then
      local vec = K // a.sf_vec_size
      local gSFA = tile(SFA, { M, vec }, { blockIdx.x, 0 })
      local gSFB = tile(SFB, { N, vec }, { blockIdx.x, 0 })
      local rSFA, rSFB = thr:partition_fragment_SFA(gSFA), thr:partition_fragment_SFB(gSFB)
      copy(thr:partition_SFA(gSFA), rSFA)
      copy(thr:partition_SFB(gSFB), rSFB)
      gemm(mma, { rA, rSFA }, { rB, rSFB }, rC)
    else
      gemm(mma, rA, rB, rC)
    end
    copy(rC, thr:partition_C(gC))
  end, { static_shapes = true })
end

-- {====== Results ======

local function scale_at(scales, row, k, a)
  return scales and scales[{ row, k // a.sf_vec_size }] or 1
end

-- What PTX promises of a result: it is within this of the exact one, as is the CPU engine's.
local function bound_of(a, x, product, i, j)
  local K, M, N = a.shape[3], a.shape[1], a.shape[2]
  local sum = math.abs(x.C[{ product * M + i, j }])
  for k = 0, K - 1 do
    local row, column = product * M + i, product * N + j
    sum = sum + math.abs(x.A[{ row, k }] * x.B[{ column, k }]) * scale_at(x.SFA, row, k, a) *
      scale_at(x.SFB, column, k, a)
  end
  local unit = a.dtypes.c == f32 and 2.0 ^ -23 or 2.0 ^ -10
  return 2 * (K + 1) * unit * sum
end

local function compare(a, x, got, want)
  local M, N = a.shape[1], a.shape[2]
  local same, ends, most = 0, 0, 0.0
  for product = 0, n_products - 1 do
    for i = 0, M - 1 do
      for j = 0, N - 1 do
        local g, w = got[{ product * M + i, j }], want[{ product * M + i, j }]
        if g == w or g ~= g and w ~= w then
          same = same + 1
        elseif g - g ~= 0 or w - w ~= 0 then
          ends = ends + 1
        else
          most = math.max(most, math.abs(g - w) / bound_of(a, x, product, i, j))
        end
      end
    end
  end
  return same, ends, most
end

local function measure(name)
  local a = ct.atom(name)
  local M, N, K = a.shape[1], a.shape[2], a.shape[3]
  local x = { A = random_patterns(zeros(a.dtypes.a, row_major { n_products * M, K }):to "cpu"),
              B = random_patterns(zeros(a.dtypes.b, row_major { n_products * N, K }):to "cpu"),
              C = zeros(a.dtypes.c, row_major { n_products * M, N }):to "cpu" }
  for i = 0, size(x.C) - 1 do x.C[i] = (math.random() - 0.5) * 2.0 ^ math.random(-4, 12) end
  if a.sf_vec_size then
    local vec = K // a.sf_vec_size
    x.SFA = random_scales(zeros(a.dtypes.sfa, row_major { n_products * M, vec }):to "cpu")
    x.SFB = random_scales(zeros(a.dtypes.sfb, row_major { n_products * N, vec }):to "cpu")
  end
  local k, results = kernel_of(a), {}
  for _, where in ipairs { there, "cpu" } do
    local C = ct.clone(x.C):to(where)
    k { grid = n_products, block = 32 } (x.A:to(where), x.B:to(where), C,
      x.SFA and x.SFA:to(where), x.SFB and x.SFB:to(where))
    results[#results + 1] = C:to "cpu"
  end
  local same, ends, most = compare(a, x, results[1], results[2])
  print(("%-56s same bits %6.2f %%, off by at most %.4f of the bound, %d ends differ"):format(name,
    100 * same / (n_products * M * N), most, ends))
end

math.randomseed(1)
for _, name in ipairs(ct.atoms { family = "mma.sync", sm = 120 }) do
  if ct.atom(name).sm == 120 then measure(name) end
end
