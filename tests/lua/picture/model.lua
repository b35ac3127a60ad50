-- The model that all pictures are drawn from: what its cells say, and how operations are coloured.
local picture = require "cuttle.picture"

local function rows_of(panel, text_of)
  for row = 0, panel.rows - 1 do
    local texts = {}
    for col = 0, panel.cols - 1 do
      texts[#texts + 1] = text_of(panel.cells[row * panel.cols + col + 1])
    end
    print(table.concat(texts, " "))
  end
end

local function lines_and_key(cell) return table.concat(cell.lines, "/") .. ":" .. cell.color end

-- Law: a cell's offset is the layout at its coordinate and at its index, in every panel.
local function check_cells(text)
  local L = layout(text)
  local seen = 0
  for _, panel in ipairs(picture.of(L, { operands = false }).panels) do
    for _, cell in ipairs(panel.cells) do
      assert(cell.offset == L(cell.linear) and crd2idx(cell.crd, L) == cell.offset)
      seen = seen + 1
    end
  end
  assert(seen == size(L))
end
for _, text in ipairs { "5:2", "(4,8):(8,1)", "((2,2),4):((1,8),2)", "(2,3,4):(12,4,1)",
                        "(2,(3,2),2,2):(1,(2,6),12,24)", "(1,1):(0,0)", "(4,2):(0,-3)",
                        "Sw<2,1,3> o 5 o (8,(2,4)):(8,(4,1))" } do
  check_cells(text)
end

-- Colexicographic order along an axis of nested modes, and where its tiles begin.
local nested = picture.of("((2,2),(2,2,2)):((1,8),(2,4,16))").panels[1]
print(nested.row_axis.text, nested.col_axis.text) -- expect: (2,2):(1,8)	(2,2,2):(2,4,16)
for _, g in ipairs(nested.col_groups) do io.write(g.at, "/", g.level, " ") end
print() -- expect: 2/1 4/2 6/1

-- Coordinates where strides are basis elements.
rows_of(picture.of(layout({ 2, 3 }, { E(1), E(0) })).panels[1], function(c) return c.offset end)
-- expect: (0,0) (1,0) (2,0)
-- expect: (0,1) (1,1) (2,1)

-- A division colours each tile, in the operand as in the result.
local divided = picture.of(zipped_divide("(4,4):(4,1)", { 2, 2 }))
print(divided.kind, divided.title) -- expect: operation	zipped_divide((4,4):(4,1), (2,2))
print(divided.panels[1].role, divided.panels[2].role) -- expect: operand	result
rows_of(divided.panels[1], lines_and_key)
-- expect: 0:0 1:0 2:2 3:2
-- expect: 4:0 5:0 6:2 7:2
-- expect: 8:1 9:1 10:3 11:3
-- expect: 12:1 13:1 14:3 15:3
print(#divided.panels[1].row_groups, divided.panels[1].col_groups[1].at) -- expect: 1	2
rows_of(divided.panels[2], lines_and_key)
-- expect: 0:0 8:1 2:2 10:3
-- expect: 4:0 12:1 6:2 14:3
-- expect: 1:0 9:1 3:2 11:3
-- expect: 5:0 13:1 7:2 15:3

-- A swizzle: the same cells before and after, each unit of 2^M offsets in its colour.
local swizzled = picture.of("Sw<1,1,2> o 0 o (2,8):(8,1)")
rows_of(swizzled.panels[1], lines_and_key)
-- expect: 0:0 1:0 2:1 3:1 4:2 5:2 6:3 7:3
-- expect: 8:4 9:4 10:5 11:5 12:6 13:6 14:7 15:7
rows_of(swizzled.panels[2], function(c) return c.before .. ">" .. lines_and_key(c) end)
-- expect: 0>0:0 1>1:0 2>2:1 3>3:1 4>4:2 5>5:2 6>6:3 7>7:3
-- expect: 8>10:5 9>11:5 10>8:4 11>9:4 12>14:7 13>15:7 14>12:6 15>13:6

-- Owners of a tile's elements; elements without one and with two are counted.
local owned = picture.of("(4,2):(2,8)", { tile = { 4, 4 } })
rows_of(owned.panels[1], function(c) return c.mark or table.concat(c.lines, "") end)
-- expect: T0V0 T2V0 T0V1 T2V1
-- expect: unowned unowned unowned unowned
-- expect: T1V0 T3V0 T1V1 T3V1
-- expect: unowned unowned unowned unowned
print(owned.notes[1]) -- expect: 8 of 16 elements have no owner
local twice = picture.of("(2,3):(1,1)", { tile = 4 })
rows_of(twice.panels[1], function(c) return table.concat(c.lines, "") .. (c.mark or "") end)
-- expect: T0V0 T1V0T0V1doubled T1V1T0V2doubled T1V2
print((picture.of((tv_layout("(2,2):(2,1)", "(1,2):(1,1)"))).title))
-- expect: ((2,2),2):((4,1),2), tile (2,4)

print(picture.of("(2,2):(1,2)", { tile = { 1 << 20, 1 << 20 } }).notes[1])
-- expect: 1099511627772 of 1099511627776 elements have no owner

-- What is too large is cut, and the picture says so.
local large = picture.of("(100,100):(1,100)", { max_cells = 1000 }).panels[1]
print(large.rows, large.cols, large.note) -- expect: 32	31	32 x 31 of 100 x 100 cells are drawn; max_cells = 10000 draws all
local many = picture.of("(2,2,40):(1,2,4)", { max_panels = 3 })
print(#many.panels, many.panels[3].title, many.notes[1])
-- expect: 3	(_,_,2)	37 more panels of (2,2,40):(1,2,4)

for _, bad in ipairs { { wrong = 1 }, { rows = 2 }, { rows = 0, cols = 0 }, { color = "red" },
                       { max_cells = 0 } } do
  print(select(2, pcall(picture.of, "(4,2):(1,4)", bad)):match(": (.*)"))
end
-- expect: picture: option 'wrong' is unknown; expected bits, color, cols, max_cells, max_panels, operands, rows, thread, tile or title
-- expect: picture: '2' is not a mode of (4,2):(1,4); a mode number or name was expected
-- expect: picture: mode 0 is in rows and in cols; each mode goes along one axis
-- expect: picture: 'red' is not a colouring; bank, coordinate, index, none, offset, thread, tile, value or a function of the cell was expected
-- expect: picture: max_cells is 0; an integer from 1 on was expected

-- Each layout of a tiler by mode is a panel, whatever its rank.
for _, panel in ipairs(picture.of(logical_divide("(9,(4,8))", "<3:3,(2,4):(1,8)>")).panels) do
  print(panel.role, panel.layout)
end
-- expect: operand	(9,(4,8)):(1,(9,36))
-- expect: tiler	3:3
-- expect: tiler	(2,4):(1,8)
-- expect: result	((3,3),((2,4),4)):((3,1),((9,72),18))

-- Operands in shared memory: a warp group, or all threads, are one owner to the eye.
local groups = picture.of(tiled_mma("SM90_64x8x16_F32BF16BF16_SS", { 2, 1, 1 }), { max_cells = 4 })
local function said(panel) return table.concat(panel.cells[2].lines, " ") end
print(said(groups.panels[1]), #groups.panels[1].cells[2].owners, said(groups.panels[2]),
  said(groups.panels[3]))
-- expect: T0-127 V64	128	all V1	T0 V1
