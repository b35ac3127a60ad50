-- SVG pictures: well-formed XML of the right size, with each cell's text; files and their errors.
local tap = dofile "tests/support/tap.lua"
local ok = tap.ok

local function count(text, pattern) return select(2, text:gsub(pattern, "")) end

-- A picture of each kind; the number of cells that it has.
local tv = tv_layout("(4,8):(8,1)", "(2,2):(2,1)")
local pictures = {
  { "a layout", "((2,2),4):((1,8),2)", 16 }, { "a row", "70:1", 70 },
  { "a named text & more", "(2,2):(1,2)", 4, { title = 'A & B < "C"' } },
  { "slices", "(2,3,4):(1,2,6)", 24 }, { "owners", tv, 128 },
  { "gaps", "(4,2):(2,8)", 16, { tile = { 4, 4 } } }, { "doubles", "(9,2):(0,1)", 2, { tile = 2 } },
  { "a division", zipped_divide("(8,8):(8,1)", { 2, 4 }), 128 },
  { "a product", raked_product("(2,2):(1,2)", "(3,4):(4,1)"), 64 },
  { "a complement", complement("4:2", 24), 34 },
  { "a swizzle", "Sw<2,0,3> o 0 o (8,8):(8,1)", 128 },
  { "coordinates", layout({ 4, 8 }, { E(0), E(1) }), 32 },
  { "a tensor", arange(f32, { 4, 3 }), 12 },
}

local parse = "python3 -c 'import sys, xml.etree.ElementTree as t; t.parse(sys.argv[1])'"
local checkers = { { "python3 -c 'import xml.etree'", parse },
                   { "xmllint --version", "xmllint --noout" } }
local checker
for _, row in ipairs(checkers) do
  checker = checker or os.execute(row[1] .. " >/dev/null 2>&1") and row[2]
end

local path = os.tmpname()
for _, row in ipairs(pictures) do
  local text = svg(row[2], row[4])
  ok(count(text, "<title>coordinate ") == row[3], row[1] .. ": each cell is there")
  if checker then
    assert(svg(row[2], path, row[4]) == path)
    ok(os.execute(("%s %s"):format(checker, path)), row[1] .. ": well-formed")
  else
    tap.skip(row[1] .. ": well-formed", "neither python3 nor xmllint here")
  end
end

local file = assert(io.open(path, "rb"))
ok(file:read("a") == svg(pictures[#pictures][2]), "the file holds the text")
file:close()
os.remove(path)

ok(svg("(2,2):(1,2)") == L"(2,2):(1,2)":svg(), "a method too")
ok(svg("(M=2,K=4):(4,1)"):find(">M  2:4</text>", 1, true), "names of modes at the axes")
ok(svg(tv, nil, { 8, 16 }) == svg(tv, { tile = { 8, 16 } }), "a tuple is a tile")
ok(svg("2:1", { title = "a < b" }):find("a &lt; b</text>", 1, true), "titles are escaped")
ok(count(svg("2:1", { color = "none" }), 'fill="#FFFFFF"') == 3, "no colours")
ok(count(svg("4:1", { color = function(cell) return cell.offset // 2 end }), "#77AADD") == 2,
  "colours by a function")

local function fails(message, ...)
  local good, err = pcall(svg, ...)
  ok(not good and err:match(": (.*)") == message, message)
end
fails("svg: /nonexistent/x.svg: No such file or directory", "2:1", "/nonexistent/x.svg")
fails("svg: the file is a boolean; a name was expected", "2:1", true)
fails("svg: option 'standalone' is unknown; expected bits, color, cols, max_cells, max_panels, "
  .. "operands, rows, thread, tile or title", "2:1", nil, { standalone = true })
tap.done()
