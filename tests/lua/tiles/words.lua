-- Tiled copies for MMAs that take words of several elements: ldmatrix fills the fragments that a plain copy
-- fills, of 4-bit integers and of 4-bit floats.
-- needs sm_120a
local here = device().sm and "cuda" or "cpu"

local function fragments(mma, name, rows, t)
  local by = tiled_copy(atom("UniversalCopy<u128>", u32), row_major { 32, 1 }, row_major { 1, 4 })
  local loads = { A = tiled_copy_A, B = tiled_copy_B }
  local from = loads[name](atom("SM75_U32x2_LDSM_N", u32), mma)
  local differ = zeros(i32, mma.threads):to(here)
  kernel("words", function(x, out)
    local s = shared(u32, row_major { rows, 8 })
    if threadIdx.x < 32 then
      local slice = by:get_slice(threadIdx.x)
      copy(by, slice:partition_S(x), slice:partition_D(s))
    end
    sync_threads()
    local thr, mine = mma:get_slice(threadIdx.x), from:get_slice(threadIdx.x)
    local plain, loaded = thr["partition_fragment_" .. name](thr, s),
      thr["partition_fragment_" .. name](thr, s)
    copy(thr["partition_" .. name](thr, s), plain)
    copy(from, mine:partition_S(s), mine:retile_D(loaded))
    for i = 0, size(plain) - 1 do
      if plain[i] ~= loaded[i] then out[threadIdx.x] = 1 end
    end
  end, { static_shapes = true }) { grid = 1, block = mma.threads } (t:to(here), differ)
  local n = 0
  differ = differ:to "cpu"
  for i = 0, size(differ) - 1 do n = n + differ[i] end
  return n
end

for _, name in ipairs { "SM80_16x8x64_S32S4S4S32_TN",
                        "SM120_16x8x64_TN_VS<f4e2m1,f4e2m1,f32,f8ue4m3,16>" } do
  local mma = tiled_mma(name, { 2, 2 })
  local t = zeros(u32, row_major { 32, 8 })
  for i = 0, size(t) - 1 do t[i] = i * 0x01010101 end
  print(fragments(mma, "A", 32, t), fragments(mma, "B", 32, t))
end
-- expect: 0	0
-- expect: 0	0
local mma = tiled_mma("SM120_16x8x64_TN_VS<f4e2m1,f4e2m1,f32,f8ue4m3,16>", { 2, 2 })
print(mma:tv_layout_A(true), mma:tv_layout_B(true))
-- expect: ((4,8,2,2),((2,2),(1,1))):((32,1,16,0),((8,128),(0,0)))	((4,8,2,2),(2,(1,1))):((16,1,0,8),(64,(0,0)))
print(tiled_copy_A(atom("SM75_U32x4_LDSM_N", u32), mma):tile_shape())  -- expect: (32,8)
