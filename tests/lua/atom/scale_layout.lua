-- Scales in the order that CUTLASS's Sm1xxBlockScaledConfig and cuBLAS give them: 128 rows of 4 scales are
-- 512 bytes, tiles follow along K first. The places of elements (m,k) are those that a program with
-- CUTLASS's header printed for 256 x 256 and 16 elements a scale.
-- needs sm_120a
local here = device().sm and "cuda" or "cpu"
local function scale_layout(n_rows, n_scales)
  return tile_to_shape(L"((32,4),4):((16,4),1)", { n_rows, n_scales }, "right")
end

local l = scale_layout(256, 16)
print(l)  -- expect: (((32,4),2),(4,4)):(((16,4),2048),(1,512))
local places = {}
for i, m in ipairs { 0, 1, 31, 32, 127, 128 } do places[i] = l(m, 200 // 16) end
print(table.concat(places, " "), l(31, 4), l(127, 1))
-- expect: 1536 1552 2032 1540 2044 3584	1008	509

-- A product with such scales is the product with scales by rows.
local M, N, K <const> = 128, 128, 128
local mma = tiled_mma("SM120_16x8x64_TN_VS<f4e2m1,f4e2m1,f32,f8ue4m3,16>", { 2, 2 }, { 32, 32 })
local product = kernel("product", function(A, SFA, B, SFB, C)
  local thr = mma:get_slice(threadIdx.x)
  local gA, gB = tile(A, { 64, K }, { blockIdx.x, 0 }), tile(B, { 64, K }, { blockIdx.y, 0 })
  local gSFA = tile(SFA, { 64, K // 16 }, { blockIdx.x, 0 })
  local gSFB = tile(SFB, { 64, K // 16 }, { blockIdx.y, 0 })
  local gC = tile(C, { 64, 64 }, { blockIdx.x, blockIdx.y })
  local rA, rB = thr:partition_fragment_A(gA), thr:partition_fragment_B(gB)
  local rSFA, rSFB = thr:partition_fragment_SFA(gSFA), thr:partition_fragment_SFB(gSFB)
  local rC = thr:partition_fragment_C(gC)
  copy(thr:partition_A(gA), rA)
  copy(thr:partition_B(gB), rB)
  copy(thr:partition_SFA(gSFA), rSFA)
  copy(thr:partition_SFB(gSFB), rSFB)
  clear(rC)
  gemm(mma, { rA, rSFA }, { rB, rSFB }, rC)
  copy(rC, thr:partition_C(gC))
end, { static_shapes = true })

local rows = require "cuttle.rows"
local A, SFA = rows.quantize_nvfp4(randn(f32, row_major { M, K }):to(here), 0.001)
local B, SFB = rows.quantize_nvfp4(randn(f32, row_major { N, K }):to(here), 0.001)
local function interleaved(scales)
  local l = scale_layout(size(scales, 0), size(scales, 1))
  local t = view(zeros(f8ue4m3, size(scales)):to "cpu", l)
  copy(scales:to "cpu", t)
  return t:to(here)
end
local C, D = zeros(f32, row_major { M, N }):to(here), zeros(f32, row_major { M, N }):to(here)
product { grid = { 2, 2 }, block = 128 } (A, SFA, B, SFB, C)
product { grid = { 2, 2 }, block = 128 } (A, interleaved(SFA), B, interleaved(SFB), D)
print(allclose(C, D, { rtol = 0, atol = 0 }), C:to "cpu"[{ 0, 0 }] ~= 0)  -- expect: true	true
