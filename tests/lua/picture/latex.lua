-- TikZ pictures: each compiles to one page, where pdflatex and TikZ are installed.
local tap = dofile "tests/support/tap.lua"
local ok = tap.ok

local pictures = {
  a_layout = { "((2,2),4):((1,8),2)" },
  special_characters = { "2:1", { title = "\\ ~ ^ < > | \" # $ % & _ { }" } },
  slices = { "(2,3,4):(1,2,6)" },
  owners = { (tv_layout("(4,8):(8,1)", "(2,2):(2,1)")) },
  gaps = { "(4,2):(2,8)", { tile = { 4, 4 } } },
  doubles = { "(9,2):(0,1)", { tile = 2 } },
  a_division = { logical_divide("(8,8):(8,1)", { 2, L"4:2" }) },
  a_high_column = { "(2000,1):(1,0)" },
  wide_cells = { layout({ 2, 60 }, { 1 << 50, 1 << 40 }) },
  a_long_row = { "600:1" },
  a_swizzle = { "Sw<2,0,3> o 0 o (8,8):(8,1)" },
  coordinates = { layout({ 4, 8 }, { E(0), E(1) }) },
}
local names = {}
for name in pairs(pictures) do names[#names + 1] = name end
table.sort(names)

local dir = os.tmpname()
os.remove(dir)
local can = os.execute("command -v pdflatex >/dev/null 2>&1 && kpsewhich tikz.sty >/dev/null 2>&1")
if can then assert(os.execute("mkdir " .. dir)) end

local run = "cd %s && pdflatex -halt-on-error -interaction=nonstopmode %s.tex >%s.out 2>&1"
for _, name in ipairs(names) do
  local picture = pictures[name]
  if can then
    latex(picture[1], dir .. "/" .. name .. ".tex", picture[2])
    local compiled = os.execute(run:format(dir, name, name))
    local out = assert(io.open(dir .. "/" .. name .. ".out")):read("a")
    ok(compiled and out:find("(1 page", 1, true) and not out:find("Overfull", 1, true),
      name .. " compiles to a page")
  else
    tap.skip(name .. " compiles", "no pdflatex with TikZ here")
  end
end
if can then os.execute("rm -r " .. dir) end

ok(latex("2:1", nil, { title = "{_\\" }):find("{\\textbf{\\{\\_\\textbackslash{}}}", 1, true),
  "what TeX would read otherwise is escaped")
local part = latex("2:1", nil, { standalone = false })
ok(part:find("^\\begin{tikzpicture}") and part:find("\\end{tikzpicture}\n$"), "a mere picture")
ok(latex("2:1"):find("^\\documentclass") and L"2:1":latex() == latex("2:1"), "a method too")
tap.done()
