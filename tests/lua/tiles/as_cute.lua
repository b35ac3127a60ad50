-- Tiled MMAs and tiled copies as CuTe makes them: as_cute.out is what a C++ program prints that does the
-- same with CuTe's headers on the host (CUTLASS 7107b055), with the `_` of static integers taken out.
local function line(name, ...)
  local texts = { name }
  for i, x in ipairs { ... } do texts[i + 1] = tostring(x) end
  print(table.concat(texts, " "))
end

local function mma_test(name, mma, m, n, k)
  print("# " .. name)
  line("vmnk", mma:get_thr_layout_vmnk())
  line("A_TV", mma:tv_layout_A())
  line("B_TV", mma:tv_layout_B())
  line("C_TV", mma:tv_layout_C())
  local A, B, C = row_major { m, k }, layout { n, k }, layout { m, n }
  line("thrfrg_A", mma:thrfrg_A(A))
  line("thrfrg_B", mma:thrfrg_B(B))
  line("thrfrg_C", mma:thrfrg_C(C))
  for _, t in ipairs { 0, 5, 37 } do
    if t < mma:size() then
      local thr = mma:get_slice(t)
      local a, at_a = thr:partition_A(A)
      local b, at_b = thr:partition_B(B)
      local c, at_c = thr:partition_C(C)
      line("thr", t, at_a, at_b, at_c, a, b, c)
    end
  end
  line("frag_A", fragment_layout_like((mma:get_slice(0):partition_A(A))))
end

local function copy_test(name, copy, s)
  print("# " .. name)
  line("tiler", copy:tile_shape())
  line("tv", copy.layout_tv)
  line("S_TV", copy:tv_layout_S())
  line("D_TV", copy:tv_layout_D())
  line("tidfrg_S", copy:tidfrg_S(s))
  line("tidfrg_D", copy:tidfrg_D(s))
  for _, t in ipairs { 0, 9, 31 } do
    local thr = copy:get_slice(t)
    local a, at_a = thr:partition_S(s)
    local b, at_b = thr:partition_D(s)
    line("thr", t, at_a, at_b, a, b)
  end
end

local m1 = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", { 2, 2 }, { 32, 32, 16 })
mma_test("sm80", m1, 128, 128, 64)
mma_test("fma", tiled_mma("UniversalFMA<f32>", { 16, 16, 1 }), 128, 128, 8)
local volta = tiled_mma("SM70_8x8x4_F32F16F16F32_NT", "(2,2):(2,1)", { L"(4,4,2):(1,8,4)", 32, 4 })
mma_test("volta", volta, 64, 64, 16)
mma_test("wgmma", tiled_mma("SM90_64x64x16_F16F16F16_SS", { 2, 1, 1 }), 128, 128, 64)
local tf32k = tiled_mma("SM80_16x8x8_F32TF32TF32F32_TN", { 1, 2, 2 },
  { 16, L"(8,2,2):(1,16,8)", 16 })
mma_test("tf32k", tf32k, 64, 64, 32)

local rm, cm = row_major { 128, 64 }, layout { 128, 64 }
local cp_async = atom("SM80_CP_ASYNC_CACHEALWAYS<u128>", f16)
copy_test("cpasync", tiled_copy(cp_async, "(16,8):(8,1)", "(1,8)"), rm)
copy_test("univ", tiled_copy(atom("UniversalCopy<u128>", f32), "(32,8)", "(4,1)"), cm)
local c3 = tiled_copy_A(atom("SM75_U32x4_LDSM_N", f16), m1)
copy_test("ldsm_A", c3, rm)
local c4 = tiled_copy_B(atom("SM75_U32x2_LDSM_N", f16), m1)
copy_test("ldsm_B", c4, rm)
local m16 = tiled_mma("SM80_16x8x16_F16F16F16F16_TN", { 2, 2 }, { 32, 32, 16 })
local c5 = tiled_copy_C(atom("SM90_U32x2_STSM_N", f16), m16)
copy_test("stsm_C", c5, rm)
local c6 = tiled_copy_B(atom("SM75_U16x8_LDSM_T", f16), m1)
copy_test("ldsm_T_B", c6, cm)

local thr = m1:get_slice(9)
local fa = fragment_layout_like((thr:partition_A(rm)))
local fb = fragment_layout_like((thr:partition_B(rm)))
local fc = layout(shape((m16:get_slice(9):partition_C(rm))))
line("retile_A", (c3:retile(fa)))
line("retile_B", (c4:retile(fb)))
line("retile_BT", (c6:retile(fb)))
line("retile_C", (c5:retile(fc)))
copy_test("copy_S", tiled_copy_S(atom("UniversalCopy<u32>", f16), c5), rm)
