-- dot of floats of 6 bits with 6 and with 8, by atoms of sm_120 where the tile has their shape, and by
-- plain FMAs where it does not: small numbers, so sums are exact.
-- needs sm_120a
local here = device().sm and "cuda" or "cpu"

local function product(a, b, M, N, K, threads)
  local A, B = zeros(a, row_major { M, K }), zeros(b, row_major { N, K })
  for i = 0, size(A) - 1 do A[i] = (i * 7 % 13 - 6) / 2 end
  for i = 0, size(B) - 1 do B[i] = (i * 5 % 11 - 5) / 2 end
  local C = zeros(f32, row_major { M, N }):to(here)
  kernel("narrow", function(x, y, c)
    local sA, sB = shared_like(x), shared_like(y)
    block_copy(x, sA)
    block_copy(y, sB)
    sync_threads()
    local acc = accumulator(sA, sB)
    explain(acc)
    dot(sA, sB, acc)
    acc:store(c)
  end, { static_shapes = true }) { grid = 1, block = threads } (A:to(here), B:to(here), C)
  local wrong = 0
  C = C:to "cpu"
  for m = 0, M - 1 do
    for n = 0, N - 1 do
      local sum = 0
      for k = 0, K - 1 do sum = sum + A[{ m, k }] * B[{ n, k }] end
      if C[{ m, n }] ~= sum then wrong = wrong + 1 end
    end
  end
  return wrong
end

print(product(f6e2m3, f6e3m2, 32, 32, 64, 64))
-- expect: product       (M,N,K) = (32,32,64)
-- expect: atom          SM120_16x8x32_TN<f6e2m3,f6e3m2,f32>: the widest that fits
-- expect: threads       64: 2 x 1 warps
-- expect: A             SM75_U32x4_LDSM_N: 16 bytes lie together along K
-- expect: B             SM75_U32x4_LDSM_N: 16 bytes lie together along K
-- expect: sums          16 of f32, in 2 rows of a thread
-- expect: 0
print(product(f8e4m3, f6e2m3, 32, 16, 32, 32))
-- expect: product       (M,N,K) = (32,16,32)
-- expect: atom          SM120_16x8x32_TN<f8e4m3,f6e2m3,f32>: the widest that fits
-- expect: threads       32: 1 x 1 warps
-- expect: A             SM75_U32x4_LDSM_N: 16 bytes lie together along K
-- expect: B             SM75_U32x4_LDSM_N: 16 bytes lie together along K
-- expect: sums          16 of f32, in 4 rows of a thread
-- expect: 0
print(product(f6e3m2, f6e3m2, 12, 8, 8, 32))
-- expect: product       (M,N,K) = (12,8,8)
-- expect: atom          UniversalFMA<f32>: SM120_16x8x32_TN<f6e3m2,f6e3m2,f32> does not divide (M,N,K) = (12,8,8)
-- expect: threads       32: (1,4,8,1):(0,8,1,0) of (M,N)
-- expect: A             plain loads: each thread reads what it multiplies
-- expect: B             plain loads: each thread reads what it multiplies
-- expect: sums          3 of f32, in 3 rows of a thread
-- expect: 0
