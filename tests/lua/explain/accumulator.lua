-- What an accumulator has chosen, and why, as explain tells it: the text of one row.
local facts = require "cuttle.accumulator".facts
local function told(dtype, M, N, K, threads, heading, options, order)
  local text
  local k = kernel("told", function(A, B)
    for _, row in ipairs(facts(accumulator(shared_like(A), shared_like(B), options))) do
      if row[1] == heading then text = row[2] end
    end
  end, {static_shapes = true})
  order = order or row_major
  k{grid = 1, block = threads}(zeros(dtype, order{M, K}), zeros(dtype, order{N, K}))
  return text
end
print(told(f16, 64, 64, 32, 128, "threads"))  -- expect: 128: 2 x 2 warps
print(told(f16, 128, 32, 32, 128, "threads"))  -- expect: 128: 4 x 1 warps
print(told(f16, 64, 64, 32, 128, "threads", {warps = {1, 4}}))  -- expect: 128: 1 x 4 warps
print(told(f16, 16, 8, 8, 32, "atom"))  -- expect: SM80_16x8x8_F32F16F16F32_TN: the widest that fits
print(told(f16, 16, 8, 24, 32, "A"))  -- expect: SM75_U32x2_LDSM_N: 16 bytes lie together along K
print(told(f16, 16, 8, 16, 32, "B", nil, col_major))  -- expect: SM75_U16x4_LDSM_T: 16 bytes lie together along N
print(told(f16, 8, 32, 16, 32, "atom"))  -- expect: UniversalFMA<f32>: SM75_16x8x8_F32F16F16F32_TN does not divide (M,N,K) = (8,32,16)
print(told(f32, 16, 16, 16, 32, "atom"))  -- expect: UniversalFMA<f32>: tensor cores multiply no f32
print(told(f32, 16, 16, 16, 32, "atom", {tf32 = true}))  -- expect: SM80_16x8x8_F32TF32TF32F32_TN: the widest that fits
print(told(f32, 16, 16, 16, 32, "A"))  -- expect: plain loads: each thread reads what it multiplies
print(told(i8, 16, 16, 32, 32, "A", nil, col_major))  -- expect: plain loads: 16 bytes do not lie together along K
print(told(f64, 16, 16, 16, 32, "A"))  -- expect: plain loads: ldmatrix has no elements of 64 bits
print(told(bf16, 64, 32, 32, 128, "atom", {wgmma = true}))  -- expect: SM90_64x32x16_F32BF16BF16_SS: as wgmma = true says
print(told(bf16, 64, 32, 32, 128, "A", {wgmma = true}))  -- expect: where it is, in shared memory: wgmma reads it there
print(told(bf16, 64, 32, 32, 128, "sums"))  -- expect: 16 of f32, in 2 rows of a thread
