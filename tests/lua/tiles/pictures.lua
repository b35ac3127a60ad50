-- Pictures of tiled MMAs and tiled copies, and what explain says of them.
local pictures = require "cuttle.picture"

local function cell(picture, panel, row, col)
  for _, c in ipairs(picture.panels[panel].cells) do
    if c.row == row and c.col == col then
      local texts = {}
      for i, o in ipairs(c.owners) do texts[i] = ("T%dV%d"):format(o.thread, o.value) end
      return table.concat(texts, ",")
    end
  end
end

-- A is for both warps along N, B for both along M; C has one owner.
local mma = tiled_mma("SM80_16x8x8_F16F16F16F16_TN", { 2, 2 })
local picture = pictures.of(mma, {}, "test")
print(cell(picture, 1, 17, 0), cell(picture, 2, 0, 9), cell(picture, 3, 17, 9))  -- expect: T36V0,T100V0	T68V0,T100V0	T100V1
print(picture.panels[1].title, picture.panels[2].title, picture.panels[3].title)  -- expect: A (M,K)	B (N,K)	C (M,N)
print(#picture.notes, picture.title)  -- expect: 0	tiled MMA of SM80_16x8x8_F16F16F16F16_TN, tile (32,16,8)

-- The source of ldmatrix is addresses: lane 9 gives row 9's; the destination is what the MMA wants.
local copy = tiled_copy_A(atom("SM75_U32x2_LDSM_N", f16), tiled_mma"SM80_16x8x8_F16F16F16F16_TN")
picture = pictures.of(copy, {}, "test")
print(cell(picture, 1, 9, 5), cell(picture, 2, 9, 5))  -- expect: T9V5	T6V3

local a = show(copy, { text = true })
print(a:match("[^\n]*"), svg(copy):find("T9") ~= nil, html(mma):find("tiled MMA", 1, true) ~= nil)
-- expect: tiled copy of SM75_U32x2_LDSM_N, tile (16,8)	true	true
print((copy:explain { text = true }:gsub("\n", "|")))
-- expect: tiled copy    SM75_U32x2_LDSM_N of f16|tile          (16,8)|threads       32, 4 elements of each in 1 instruction|S             ((16,2),(8,1)):((1,0),(16,0))|D             ((4,8),((2,2),1)):((32,1),((16,8),0))
print(latex(mma):find("tikzpicture", 1, true) ~= nil)  -- expect: true

-- Their texts.
print((tostring(tiled_mma"UniversalFMA<f32>":get_slice(0)):gsub("\n", "|")))
-- expect: thread (V,M,N,K) = (0,0,0,0) of tiled MMA, 1 thread, tile (1,1,1)|  thr_vmnk (1,1,1,1):(0,0,0,0)|  perm <1,1,1>|  UniversalFMA<f32>|    thr 1:0|    MNK (1,1,1)|    A   f32 (1,1):(0,0)|    B   f32 (1,1):(0,0)|    C   f32 (1,1):(0,0)

-- A thread's slice shows the whole that it is of, with its own cells marked.
print(show(mma:get_slice(3), { text = true }) == show(mma, { text = true, thread = 3 }))  -- expect: true
local marked = show(copy, { text = true, thread = 3 })
print(show(copy:get_slice(3), { text = true }) == marked, marked ~= a)  -- expect: true	true
