-- One meaning of "index", CuTe's, in pictures: a coordinate goes in, the index comes out. Cell (1,6)
-- of (4,8):(8,1) has the 1-D coordinate 25 and the index 14.
local l = L "(4,8):(8,1)"
print(crd2idx({ 1, 6 }, { 4, 8 }), l(1, 6), l(25)) -- expect: 25	14	14

-- Tooltips of SVG.
print(svg(l):match("<title>(coordinate %(1,6%).-)</title>"))
-- expect: coordinate (1,6), 1-D coordinate 25, index 14

-- Pages: names of facts, of texts and of marks.
local script = require "cuttle.page.js"
print(script:find('["linear", "1-D coordinate", facts.linear]', 1, true) ~= nil) -- expect: true
print(script:find('["offset", "Index", facts.offset]', 1, true) ~= nil)          -- expect: true
print(script:find('"Offset"', 1, true), script:find('"offset", needs', 1, true)) -- expect: nil	nil

-- The option color: by the index, and by the 1-D coordinate.
local picture = require "cuttle.picture"
local function keys(color)
  local list = {}
  for i, cell in ipairs(picture.of("(2,2):(2,1)", { color = color }).panels[1].cells) do
    list[i] = cell.color
  end
  return table.concat(list, " ")
end
print(keys "index", keys "offset", keys "coordinate") -- expect: 0 1 2 3	0 1 2 3	0 2 1 3
