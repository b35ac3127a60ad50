-- Divisions that round up: tiles keep one colour by coordinate, what lies outside is marked in the
-- model and hatched by all who draw it.
local picture = require "cuttle.picture"

local function of_division(a, tiler, form) return picture.of(form(a, tiler)) end

-- By hand: the row and column of the element at a place of the zipped result, and its tile.
local function by_hand(linear, shape, tiler)
  local inner, outer = linear % (tiler[1] * tiler[2]), linear // (tiler[1] * tiler[2])
  local tiles_down = (shape[1] + tiler[1] - 1) // tiler[1]
  local down, right = outer % tiles_down, outer // tiles_down
  return inner % tiler[1] + down * tiler[1], inner // tiler[1] + right * tiler[2], outer
end

local function check_zipped(shape, strides, tiler)
  local model = of_division(layout(shape, strides), tiler, zipped_divide)
  local operand, result = model.panels[1], model.panels[2]
  local tile_of, outside = {}, 0
  for _, cell in ipairs(result.cells) do
    local row, col, tile = by_hand(cell.linear, shape, tiler)
    local is_inside = row < shape[1] and col < shape[2]
    assert(cell.color == tile and (cell.mark == "outside") == not is_inside)
    outside = outside + (is_inside and 0 or 1)
    tile_of[row .. "," .. col] = tile
  end
  for _, cell in ipairs(operand.cells) do
    assert(cell.color == tile_of[cell.row .. "," .. cell.col] and cell.mark == nil)
  end
  assert(#model.notes == (outside > 0 and 1 or 0))
end
for _, tiler in ipairs { { 2, 4 }, { 5, 6 }, { 3, 5 }, { 1, 1 }, { 8, 8 } } do
  check_zipped({ 5, 6 }, { 1, 5 }, tiler)
  check_zipped({ 5, 6 }, { 6, 1 }, tiler)
  check_zipped({ 5, 6 }, { 0, 1 }, tiler) -- equal indices, other elements
  check_zipped({ 5, 6 }, { 1, 1 }, tiler)
end

-- One colouring for every form, for tilers that are layouts, and for modes that are nested.
local function inside_of(model)
  local n = 0
  for _, panel in ipairs(model.panels) do
    for _, cell in ipairs(panel.role == "result" and panel.cells or {}) do
      n = n + (cell.mark ~= "outside" and 1 or 0)
    end
  end
  return n
end
for _, form in ipairs { logical_divide, zipped_divide, tiled_divide, flat_divide } do
  print(inside_of(of_division("(5,6):(1,5)", { 2, 4 }, form)),
    inside_of(of_division("(5,6):(1,5)", "4:1", form)),
    inside_of(of_division("((5,3),6):((1,5),15)", 4, form)),
    inside_of(of_division("((5,3),6):((1,5),15)", "<<2:1,2:1>,4:1>", form)),
    inside_of(of_division("((5,3),16):((1,5),64)", 4, form)), -- the mode of 15 is padded
    inside_of(of_division("(5,16):(64,4)", 4, form)))
  -- expect: 30	30	90	90	240	80
  -- expect: 30	30	90	90	240	80
  -- expect: 30	30	90	90	240	80
  -- expect: 30	30	90	90	240	80
end

-- A composition may lead outside as well.
local composed = picture.of(composition("(4,8):(1,4)", "6:9"))
print(inside_of(composed), composed.notes[1]) -- expect: 4	2 of the result's 6 elements (hatched) lie outside (4,8)

-- As text it is hatched with or without UTF-8; in files by lines and a class of its own.
local ragged = zipped_divide("(3,2):(1,3)", { 2, 2 })
print(show(ragged, { text = true }))
-- expect: zipped_divide((3,2):(1,3), (2,2))
-- expect: operand (3,2):(1,3)   result ((2,2),(2,1)):((1,3),(2,0))
-- expect:     0  1                  0  1
-- expect:   +------+              +------+
-- expect: 0 | 0  3 |            0 | 0  2 |
-- expect: 1 | 1  4 |            1 | 1 /3/|
-- expect:   +------+              +------+
-- expect: 2 | 2  5 |            2 | 3  5 |
-- expect:   +------+            3 | 4 /6/|
-- expect:                         +------+
-- expect: (the division rounds up: 2 of the result's 8 elements (hatched) lie outside (3,2))
print(show(ragged, { text = true, utf8 = true, ansi = true }):find("m\u{2571}3\u{2571}\27", 1, true) ~= nil) -- expect: true
print(select(2, svg(ragged):gsub('stroke%-width="0.7"', "")), svg(ragged):find("the division rounds up", 1, true) ~= nil) -- expect: 10	true
print(select(2, html(ragged):gsub('"outside"', "")) > 0, html(ragged):find("the division rounds up", 1, true) ~= nil) -- expect: true	true

-- Without elements there is no grid, and that is said.
print(show("(4,0):(1,4)", { text = true }))
-- expect: (4,0):(1,4)
-- expect: ((4,0):(1,4) has no elements)
print(svg("(4,0)"):find("has no elements", 1, true) ~= nil, latex("(4,0)"):find("has no elements", 1, true) ~= nil, html("(4,0)"):find("has no elements", 1, true) ~= nil) -- expect: true	true	true

-- Colours by bank have a legend of the banks that are there.
local banks = picture.of("(4,3):(1,8)", { color = "bank" })
for _, entry in ipairs(banks.legend) do print(entry.color, entry.text) end
-- expect: 0	banks 0, 8, 16
-- expect: 1	banks 1, 9, 17
-- expect: 2	banks 2, 10, 18
-- expect: 3	banks 3, 11, 19
print(banks.notes[1]) -- expect: 32 banks of 32 bits; an element has 32 bits
print(show("(1,3):(1,8)", { color = "bank", text = true, ansi = true }):match("\n([^\n]*)\n[^\n]*$")) -- expect: [48;5;110;38;5;16m banks 0, 8, 16 [0m
