-- Pictures of atoms and what explain says of them.
print((show(atom("UniversalCopy<u64>", f16), { text = true, width = 80 }):gsub("%s*\n", "|")))
-- expect: UniversalCopy<u64> of f16|source                         destination|       0     1     2     3            0     1     2     3|  +------------------------+     +------------------------+|0 | T0V0  T0V1  T0V2  T0V3 |   0 | T0V0  T0V1  T0V2  T0V3 ||  +------------------------+     +------------------------+

-- The cell of a panel of the page: A's row 9, column 3 of the PTX ISA's figure for m16n8k16 is a3 of
-- T5; B's k 9, n 2 is b3 of T8; C's row 0, column 7 is c1 of T3.
local picture = require "cuttle.picture".of(atom"SM80_16x8x16_F16F16F16F16_TN", {}, "test")
local function cell(panel, row, col)
  for _, c in ipairs(picture.panels[panel].cells) do
    if c.row == row and c.col == col then return table.concat(c.lines), c.owners and #c.owners end
  end
end
print(cell(1, 9, 3), cell(2, 9, 2), cell(3, 0, 7))  -- expect: T5V3	T8V3	T3V1	1
print(#picture.panels, picture.panels[2].rows, picture.panels[2].cols, #picture.notes)  -- expect: 3	16	8	0

-- An operand in shared memory belongs to all; of addresses the first ones count.
picture = require "cuttle.picture".of(atom"SM90_64x8x16_F16F16F16_SS", {}, "test")
print(cell(1, 1, 1), cell(3, 9, 1))  -- expect: allV65	T4V3	1
picture = require "cuttle.picture".of(atom("SM75_U32x1_LDSM_N", f16), {}, "test")
print(cell(1, 7, 7), cell(2, 7, 7))  -- expect: T7V7	T31V1	1

local a = atom"SM70_8x8x4_F32F16F16F32_NT"
print(svg(a):find("C (M,N)", 1, true) ~= nil, latex(a):find("tikz") ~= nil)  -- expect: true	true
print(html(a):find("9.7.14.5.1", 1, true) ~= nil)  -- expect: true
print((a:explain { text = true }:gsub("\n", "|")))
-- expect: atom          SM70_8x8x4_F32F16F16F32_NT|product       (M,N,K) = (8,8,4)|instruction   mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32|              sm_70, PTX ISA section 9.7.14.5.1|threads       8, in lanes (4,2):(1,16)|A (M,K)       ((4,2),4):((8,4),1), 8x4 of f16: 4 elements of 32 in 2 registers of each thread|B (N,K)       ((4,2),4):((8,4),1), 8x4 of f16: 4 elements of 32 in 2 registers of each thread|C (M,N)       ((2,2,2),(2,2,2)):((1,16,4),(8,2,32)), 8x8 of f32: 8 elements of 64 in 8 registers of each thread
