-- html(x): the page as a text, or its file. What the page does is tested in a browser, tests/browser.
local page = html(zipped_divide("(8,8):(8,1)", "(2,4)"))

-- It stands alone: nothing is loaded from elsewhere, and no mark of the template is left.
print(page:find("^<!DOCTYPE html>") ~= nil, page:find("</html>%s*$") ~= nil) -- expect: true	true
print(page:find("src=", 1, true), page:find("@import", 1, true), page:find("url(", 1, true), page:find("https?:")) -- expect: nil	nil	nil	nil
print(page:find("@%u+@")) -- expect: nil
print(page:match("<title>(.-)</title>")) -- expect: zipped_divide((8,8):(8,1), (2,4))

-- What the title says is not said again.
local function headings(text)
  local found = {}
  local derived = text:match '"derived":(%b[])'
  for heading in derived:gmatch '%["([^"]*)"' do found[#found + 1] = heading end
  return table.concat(found, " ")
end
print(headings(page))                                          -- expect: How Result
print(headings(html(tile_to_shape("(8,8):(8,1)", { 16, 16 })))) -- expect: Made by How
print(headings(html "4:1"))                                    -- expect:

-- No text of the user ends the script element or the title.
local hostile = html("4:1", { title = '</script></title>&"<!--\1' })
print(select(2, hostile:gsub("</script>", "")), select(2, hostile:gsub("</title>", ""))) -- expect: 2	1
print(hostile:match("<title>([^\1]*)")) -- expect: &lt;/script&gt;&lt;/title&gt;&amp;&quot;&lt;!--
print(hostile:match('\n"title":("[^\n]*)}</script>')) -- expect: "\u003c/script\u003e\u003c/title\u003e\u0026\"\u003c!--\u0001"

-- With a name it writes the file, as a function and as a method.
local path = os.tmpname()
print(html("4:1", path) == path) -- expect: true
local file <close> = io.open(path)
print(file:read("a") == html("4:1")) -- expect: true
print(L"(4,8)":html(path) == path) -- expect: true
os.remove(path)

-- Numbers beyond 2^53, which JavaScript cannot hold exactly, are texts.
print(html(layout(2, 1 << 60)):match('"offset":(%b[])')) -- expect: [0,"1152921504606846976"]

-- Options are those of pictures; the bits of an element are those of a tensor.
print(html("8:1", { bits = 16 }):match('"bytes":([%d.]+)')) -- expect: 2
print(html(zeros(f64, { 2, 2 })):match('"bytes":([%d.]+)')) -- expect: 8

-- Mistakes are one line that blames the script's.
local function message(...)
  return select(2, pcall(html, ...)):match("^tests/lua/picture/html%.lua:%d+: (.*)$")
end
print(message("4:1", {colour = "red"})) -- expect: html: option 'colour' is unknown; did you mean 'color'?
print(message("4:1", "/nowhere/x.html")) -- expect: html: /nowhere/x.html: No such file or directory
print(message("4:1", true)) -- expect: html: the file is a boolean; a name was expected

-- A name that promises another kind of file is refused, before anything is written.
print(message("4:1", "x.svg")) -- expect: html: 'x.svg' would contain a page, which does not match its name; write svg(x, "x.svg"), or name it .html
print(select(2, pcall(svg, "4:1", "x.HTML")):match(": (.*)")) -- expect: svg: 'x.HTML' would contain an SVG picture, which does not match its name; write html(x, "x.HTML"), or name it .svg
print(select(2, pcall(latex, "4:1", "x.html")):match(": (.*)")) -- expect: latex: 'x.html' would contain LaTeX, which does not match its name; write html(x, "x.html"), or name it .tex
print((io.open("x.svg")), (io.open("x.HTML"))) -- expect: nil	nil

-- Whatever has a picture has a page, whose names of texts and marks the page's script knows.
local script = require "cuttle.page.js"
local texts = script:match("const textModes = (%b[])")
local relations = script:match("const relations = (%b{})")
local mma = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", { 2, 2 })
local pictured = {
  L "(4,8):(8,1)", L "Sw<2,0,3> o 0 o (8,8):(8,1)", composition("(6,2):(8,2)", "(4,3):(3,1)"),
  zipped_divide("(8,8):(8,1)", "(2,4)"), complement("4:2", 24), swizzle(2, 0, 3),
  arange(f16, { 4, 6 }), identity_tensor { 4, 6 }, mma.atom, mma, mma:get_slice(3),
  tiled_copy_A(atom("SM75_U32x4_LDSM_N", f16), mma), atom("SM75_U32x4_LDSM_N", f16),
  tiled_copy_A(atom("SM75_U32x4_LDSM_N", f16), mma):get_slice(3),
}
pictured[#pictured + 1] = (tv_layout("(4,8):(8,1)", "(2,2):(1,2)"))
local n_pages = 0
for _, x in ipairs(pictured) do
  local text = html(x)
  n_pages = n_pages + 1
  local text_mode = text:match('\n"text_mode":"(.-)"')
  assert(texts:find(('name: "%s"'):format(text_mode), 1, true), text_mode)
  for name in text:match('\n"same":(%b[])'):gmatch('"(.-)"') do
    assert(relations:find(("\n    %s: {"):format(name), 1, true), name)
  end
end
print(n_pages) -- expect: 15
