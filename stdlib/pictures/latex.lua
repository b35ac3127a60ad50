-- latex.lua: pictures as TikZ, a document that pdflatex turns into one page of the picture's size.
--   latex(x[, file][, options])   writes the file and returns its name; without one, the text
-- picture.lua says what x and the options can be; besides, with standalone = false only the
-- tikzpicture, to be put into a document that loads TikZ. Nothing but TikZ and geometry is needed.
local picture = require "cuttle.picture"
local page_of = require "cuttle.picture_page"
local M = {}

local escapes = {
  ["\\"] = "\\textbackslash{}", ["~"] = "\\textasciitilde{}", ["^"] = "\\textasciicircum{}",
  ["<"] = "\\textless{}", [">"] = "\\textgreater{}", ["|"] = "\\textbar{}", ['"'] = "''",
}

local function escaped(text)
  return (text:gsub('[\\~^<>|"#$%%&_{}]', function(c) return escapes[c] or "\\" .. c end))
end

local function num(x) return (("%.2f"):format(x):gsub("%.?0+$", "")) end

-- Colours by name: "#77AADD" -> "c77AADD".
local function color_name(color) return "c" .. color:sub(2) end

local anchors = { start = "west", middle = "center", ["end"] = "east" }
local FONT <const> = 10 -- of the document; nodes are scaled from it, so each size has its glyphs

local printers = {}

function printers.rect(item)
  return ("\\fill[%s] (%s,%s) rectangle +(%s,%s);"):format(color_name(item.fill), num(item[2]),
    num(item[3]), num(item[4]), num(item[5]))
end

function printers.line(item)
  return ("\\draw[%s,line width=%spt] (%s,%s) -- (%s,%s);"):format(color_name(item.color),
    num(item.width), num(item[2]), num(item[3]), num(item[4]), num(item[5]))
end

function printers.text(item)
  local text = escaped(item[4])
  local style = ("text=%s,scale=%.4g,anchor=%s%s"):format(color_name(item.color),
    item.size / FONT, anchors[item.anchor], item.turned and ",rotate=90" or "")
  return ("\\node[%s] at (%s,%s) {%s};"):format(style, num(item[2]), num(item[3]),
    item.bold and "\\textbf{" .. text .. "}" or text)
end

-- \definecolor of each colour that the page has, in the order of their first use.
local function color_definitions(page)
  local seen, out = {}, {}
  for _, item in ipairs(page.items) do
    local color = item.fill or item.color
    if not seen[color] then
      seen[color] = true
      out[#out + 1] = ("\\definecolor{%s}{HTML}{%s}"):format(color_name(color), color:sub(2))
    end
  end
  return table.concat(out, "\n")
end

local PICTURE <const> = [[
\begin{tikzpicture}[x=1pt,y=-1pt,every node/.style={inner sep=0pt,outer sep=0pt,font=\sffamily}]
%s
\path[use as bounding box] (0,0) rectangle (%s,%s);
%s
\end{tikzpicture}]]

local DOCUMENT <const> = [[
\documentclass[10pt]{article}
\usepackage[paperwidth=%spt,paperheight=%spt,margin=0pt]{geometry}
\usepackage{tikz}
\pagestyle{empty}
\setlength{\parindent}{0pt}
\setlength{\topskip}{0pt}
\begin{document}
%s%%
\end{document}
]]

-- TeX has no lengths of 16384 pt and adds some up on its way: a larger page is drawn smaller.
local LIMIT <const> = 8000

local function shrink(page)
  local scale = LIMIT / math.max(page.width, page.height)
  if scale >= 1 then return end
  page.width, page.height = page.width * scale, page.height * scale
  for _, item in ipairs(page.items) do
    for key, value in pairs(item) do
      item[key] = math.type(value) and value * scale or value
    end
  end
end

local function text_of(model, standalone)
  local page, out = page_of.of(model), {}
  shrink(page)
  local w, h = num(page.width), num(page.height)
  for _, item in ipairs(page.items) do out[#out + 1] = printers[item[1]](item) end
  local tikz = PICTURE:format(color_definitions(page), w, h, table.concat(out, "\n"))
  return standalone and DOCUMENT:format(w, h, tikz) or tikz .. "\n"
end

function M.latex(x, file, options)
  file, options = page_of.arguments(file, options)
  local model = picture.of(x, options, "latex", { standalone = true })
  local standalone = type(options) ~= "table" or options.standalone ~= false
  return page_of.deliver(text_of(model, standalone), file, "latex", picture.fail)
end

return M
