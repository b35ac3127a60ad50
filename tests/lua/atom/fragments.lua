-- The fragments of mma.sync as the PTX ISA gives them, by its formulas of row and column.
local function place(a, operand, lane, i)
  local index, rows = a["layout_" .. operand](lane, i), a.shape[operand == "b" and 2 or 1]
  return index % rows, index // rows
end

local function agrees(name, operand, formula)
  local a, wrong = atom(name), 0
  for lane = 0, 31 do
    for i = 0, size(a["layout_" .. operand], 1) - 1 do
      local group, in_group = lane >> 2, lane % 4
      local row, col = place(a, operand, lane, i)
      local want_row, want_col = formula(group, in_group, i)
      wrong = wrong + ((row ~= want_row or col ~= want_col) and 1 or 0)
    end
  end
  return wrong == 0
end

-- m16n8k16, 16 bits (9.7.14.5.8)
local half = "SM80_16x8x16_F32F16F16F32_TN"
print(agrees(half, "a", function(g, t, i)   -- expect: true
  return (i < 2 or (i >= 4 and i < 6)) and g or g + 8, t * 2 + (i & 1) + (i >= 4 and 8 or 0)
end))
print(agrees(half, "b", function(g, t, i) -- PTX's row is k   -- expect: true
  return g, t * 2 + (i & 1) + (i >= 2 and 8 or 0)
end))
print(agrees(half, "c", function(g, t, i)   -- expect: true
  return i < 2 and g or g + 8, t * 2 + (i & 1)
end))
-- m16n8k8, tf32 (9.7.14.5.7)
print(agrees("SM80_16x8x8_F32TF32TF32F32_TN", "a", function(g, t, i)   -- expect: true
  return i % 2 == 0 and g or g + 8, i < 2 and t or t + 4
end))
-- m16n8k16, bytes (9.7.14.5.9)
print(agrees("SM80_16x8x16_S32S8U8S32_TN", "a", function(g, t, i)   -- expect: true
  return i < 4 and g or g + 8, t * 4 + (i & 3)
end))
-- m8n8k128, bits (9.7.14.5.5)
print(agrees("SM80_8x8x128_S32U1U1S32_TN_XORPOPC", "a", function(g, t, i)   -- expect: true
  return g, t * 32 + i
end))
-- The four quad pairs of a warp: lanes 0-3 and 16-19, and so on.
print(table.concat(atom"SM70_8x8x4_F32F16F16F32_NT".thr_id:values(), " "))  -- expect: 0 1 2 3 16 17 18 19
-- Sources of wgmma in registers, by the width of elements: the same 4 bytes of k in each register.
print(atom"SM90_64x128x16_F32BF16BF16_RS".layout_a)  -- expect: ((4,8,4),(2,2,2)):((128,1,16),(64,8,512))
print(atom"SM90_64x128x32_F16E4M3E5M2_RS_TN".layout_a)  -- expect: ((4,8,4),(4,2,2)):((256,1,16),(64,8,1024))
print((pcall(atom, "SM90_64x40x32_S32S8S8_SS_TN")))  -- expect: false

-- Names that are almost right are no atoms.
local wrong = { "", "SM90_64x", "SM90_64x8x16_", "SM90_64x08x16_F16F16F16_SS", "UniversalFMA<f32",
  "SM90_64x264x16_F16F16F16_SS", "UniversalFMA<>", "UniversalFMA<f32>x", "UniversalFMA<i4>",
  "UniversalFMA<f32,f32,f32,f32,f32>", "UniversalCopy<u256>", ("x"):rep(1000) }
for _, name in ipairs(wrong) do
  if pcall(atom, name) then print(name) end
end
-- Types that are left out are CuTe's: A as D, B as A, C as D.
print(atom"UniversalFMA<f32,f16>".name, atom"UniversalFMA<f16,f16,f16,f16>".name)  -- expect: UniversalFMA<f32,f16,f16,f32>	UniversalFMA<f16>
