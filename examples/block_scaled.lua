-- block_scaled.lua: C = A B' of floats of 8 and 4 bits in blocks with scales: MXFP8, MXFP4 and
-- NVFP4, by the tensor cores of sm_120a (RTX 50) and sm_121a (DGX Spark). The operands are
-- quantised by kernels; the result is compared with the exact product of what these made, in
-- integers, unless the sizes are large: then only the time is printed.
--   cuttle block_scaled.lua [M N K]
-- needs sm_120a
local rows = require "cuttle.rows"
local M, N, K = tonumber(arg[1]) or 128, tonumber(arg[2]) or 64, tonumber(arg[3]) or 256
local sm = device().sm
if sm and sm // 10 ~= 12 then
  print "these products need sm_120a or sm_121a; with --device=cpu they run on the CPU engine"
  return
end

local bM, bN <const> = 64, 64   -- a block's tile of C
local row_bytes <const> = 64    -- of the rows of A and B in its tiles
local words <const> = row_bytes // 4

-- {====== The kernel ======

-- Rows of 16 words, swizzled: the eight rows that ldmatrix reads at once lie in different banks.
local function tile_words(rows_of_tile)
  return shared(u32, composition(swizzle(2, 2, 3), row_major { rows_of_tile, words }))
end

-- 128 threads copy 16 bytes each: rows of 4 threads.
local copy_words = tiled_copy(atom("SM80_CP_ASYNC_CACHEGLOBAL<u128>", u32), row_major { 32, 4 },
  row_major { 1, 4 })

local function product_of(mma)
  local a = mma.atom
  local bK = row_bytes * 8 // a.bits.a                     -- elements of K in a tile
  local V = a.sf_vec_size
  -- What the MMA multiplies: packed floats of 4 bits as words of eight.
  local element = a.bits.a == 4 and u32 or a.dtypes.a
  local ldmatrix = atom("SM75_U32x4_LDSM_N", element)
  local from_A, from_B = tiled_copy_A(ldmatrix, mma), tiled_copy_B(ldmatrix, mma)
  return kernel("block_scaled", function(A, SFA, B, SFB, factor, C)
    local gA = tile(recast(A, u32), { bM, words }, { blockIdx.x, _ })            -- (bM,words,k)
    local gB = tile(recast(B, u32), { bN, words }, { blockIdx.y, _ })
    local gSFA = tile(SFA, { bM, bK // V }, { blockIdx.x, _ })                   -- (bM,scales,k)
    local gSFB = tile(SFB, { bN, bK // V }, { blockIdx.y, _ })
    local gC = tile(C, { bM, bN }, { blockIdx.x, blockIdx.y })
    local sA, sB = tile_words(bM), tile_words(bN)
    local eA, eB = recast(sA, element), recast(sB, element)
    local by, thr = copy_words:get_slice(threadIdx.x), mma:get_slice(threadIdx.x)
    local by_A, by_B = from_A:get_slice(threadIdx.x), from_B:get_slice(threadIdx.x)
    local tCgSFA, tCgSFB = thr:partition_SFA(gSFA), thr:partition_SFB(gSFB)
    local tCgC = thr:partition_C(gC)
    local rA, rB = thr:partition_fragment_A(eA), thr:partition_fragment_B(eB)
    local rC = thr:fragment_C(tCgC)
    local rSFA = thr:fragment_SFA(tCgSFA(_, _, _, 0))
    local rSFB = thr:fragment_SFB(tCgSFB(_, _, _, 0))
    clear(rC)
    for k in axes(gA, 2) do
      copy(copy_words, by:partition_S(gA(_, _, k)), by:partition_D(sA))
      copy(copy_words, by:partition_S(gB(_, _, k)), by:partition_D(sB))
      copy(tCgSFA(_, _, _, k), rSFA)                       -- straight to the registers
      copy(tCgSFB(_, _, _, k), rSFB)
      cp_async_commit()
      cp_async_wait(0)
      sync_threads()
      copy(from_A, by_A:partition_S(eA), by_A:retile_D(rA))
      copy(from_B, by_B:partition_S(eB), by_B:retile_D(rB))
      gemm(mma, { rA, rSFA }, { rB, rSFB }, rC)
      sync_threads()
    end
    for i = 0, size(rC) - 1 do rC[i] = rC[i] * factor end  -- the scales of whole tensors
    copy(rC, tCgC)
  end, { static_shapes = true })
end

-- {====== The exact product, in integers ======

-- What the host reads of a matrix, row by row.
local function read(t)
  local list = {}
  for i = 0, size(t, 0) - 1 do
    list[i] = {}
    for k = 0, size(t, 1) - 1 do list[i][k] = t[{ i, k }] end
  end
  return list
end

-- Row i of A by row j of B: the exact sum, and that of the sizes of all products. Elements and
-- scales are multiples of powers of two, so products are integers in a unit that is small enough.
local function exact_sum(a, sfa, b, sfb, V, unit)
  local sum, sizes = 0, 0
  for block = 0, K // V - 1 do
    local scale = sfa[block] * sfb[block]
    for k = block * V, block * V + V - 1 do
      local p = assert(math.tointeger(a[k] * b[k] * scale / unit), "the unit is too large")
      sum, sizes = sum + p, sizes + math.abs(p)
    end
  end
  return sum * unit, sizes * unit
end

-- The largest error, as a part of what PTX promises: sums of single precision in any order.
local function largest_error(A, SFA, B, SFB, factor, C, V, unit)
  local a, sfa, b, sfb, c = read(A), read(SFA), read(B), read(SFB), read(C)
  local most = 0
  for i = 0, M - 1 do
    for j = 0, N - 1 do
      local sum, sizes = exact_sum(a[i], sfa[i], b[j], sfb[j], V, unit)
      local bound = (K + 2) * 2.0 ^ -23 * sizes * factor
      most = math.max(most, math.abs(c[i][j] - sum * factor) / bound)
    end
  end
  return most
end

-- {====== Three formats ======

local function nvfp4(x)
  local global = rows.nvfp4_global(x)
  local q, scale = rows.quantize_nvfp4(x, global)
  return q, scale, global[0]
end

-- Name, quantiser, atom, a unit of all products.
local formats <const> = {
  { "MXFP8", rows.quantize_mxfp8, "SM120_16x8x32_TN_VS<f8e4m3,f8e4m3,f32,f8ue8m0,32>", 2.0 ^ -46 },
  { "MXFP4", rows.quantize_mxfp4, "SM120_16x8x64_TN_VS<f4e2m1,f4e2m1,f32,f8ue8m0,32>", 2.0 ^ -46 },
  { "NVFP4", nvfp4, "SM120_16x8x64_TN_VS<f4e2m1,f4e2m1,f32,f8ue4m3,16>", 2.0 ^ -20 },
}

local x, y = randn(f32, row_major { M, K }), randn(f32, row_major { N, K })
local is_small = M * N * K <= 1 << 24
local want = is_small and reference.matmul(x, y)

-- How far the product of the quantised is from that of the originals, as a part of the latter.
local function loss(C)
  local off, all = 0, 0
  for i = 0, size(C) - 1 do off, all = off + (C[i] - want[i]) ^ 2, all + want[i] ^ 2 end
  return (off / all) ^ 0.5
end

for _, format in ipairs(formats) do
  local name, quantize, atom_name, unit = table.unpack(format)
  local mma = tiled_mma(atom_name, { 2, 2 }, { 32, 32 })
  local A, SFA, global_a = quantize(x)
  local B, SFB, global_b = quantize(y)
  local factor = (global_a or 1) * (global_b or 1)
  local C = zeros(f32, row_major { M, N })
  local launch = product_of(mma):prepare { grid = { M // bM, N // bN }, block = mma.threads } (A,
    SFA, B, SFB, factor, C)
  launch()
  if sm or not is_small then
    local ms = bench(launch)
    print(("%s  %.3f ms, %.1f TFLOP/s"):format(name, ms, 2e-9 * M * N * K / ms))
  end
  if is_small then
    local error = largest_error(A, SFA, B, SFB, factor, C, mma.atom.sf_vec_size, unit)
    assert(error <= 1, "the product is not that of the quantised operands")
    print(("%s  quantisation loses %4.1f %%; the product's error is at most %.4f of its bound")
      :format(name, 100 * loss(C), error))
  end
end
