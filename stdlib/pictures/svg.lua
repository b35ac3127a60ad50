-- svg.lua: pictures as SVG, a file that stands alone.
--   svg(x[, file][, options])   writes the file and returns its name; without one, the text
-- picture.lua says what x and the options can be; drawn.lua adds launches.
local picture = require "cuttle.picture"
local page_of = require "cuttle.picture_page"
local M = {}

local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

local function escaped(text) return (text:gsub('[&<>"]', escapes)) end

-- A length with at most two decimals.
local function num(x) return (("%.2f"):format(x):gsub("%.?0+$", "")) end

local printers = {}

function printers.rect(item)
  local tag = ('<rect x="%s" y="%s" width="%s" height="%s" fill="%s"'):format(
    num(item[2]), num(item[3]), num(item[4]), num(item[5]), item.fill)
  if not item.tip then return tag .. "/>" end
  return tag .. "><title>" .. escaped(item.tip) .. "</title></rect>"
end

function printers.line(item)
  return ('<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="%s" stroke-width="%s"/>'):format(
    num(item[2]), num(item[3]), num(item[4]), num(item[5]), item.color, num(item.width))
end

-- What texts have that say nothing else: a picture is mostly texts, and most are black and in the
-- middle of a cell.
local ANCHOR <const>, COLOR <const> = "middle", "#000000"

-- The middle of digits and capitals is 0.36 of their size above the line that they stand on. `size`
-- is that of most texts.
function printers.text(item, size)
  local x, y, drop = num(item[2]), item[3], 0.36 * item.size
  local more = item.size ~= size and (' font-size="%s"'):format(num(item.size)) or ""
  if item.anchor ~= ANCHOR then more = more .. (' text-anchor="%s"'):format(item.anchor) end
  if item.color ~= COLOR then more = more .. (' fill="%s"'):format(item.color) end
  if item.bold then more = more .. ' font-weight="bold"' end
  if item.turned then
    more = (' dy="%s"%s transform="rotate(-90 %s %s)"'):format(num(drop), more, x, num(y))
    drop = 0
  end
  return ('<text x="%s" y="%s"%s>%s</text>'):format(x, num(y + drop), more, escaped(item[4]))
end

local function most_common_size(items)
  local count, most = {}, nil
  for _, item in ipairs(items) do
    local size = item[1] == "text" and item.size
    if size then
      count[size] = (count[size] or 0) + 1
      if not most or count[size] > count[most] then most = size end
    end
  end
  return most or 14
end

local HEAD <const> = [[
<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s"%s>
<title>%s</title>
<rect width="100%%" height="100%%" fill="#FFFFFF"/>
<g font-family="Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
text-anchor="]] .. ANCHOR .. [[" fill="]] .. COLOR .. [[" font-size="%s">
<style>text { pointer-events: none; }</style>
]]

-- In a window of its own such a picture is as wide as the window, and never smaller than it is.
local FLUID <const> = ' style="min-width:%spx;width:100%%;height:auto"'

-- The page (picture_page.lua) as text.
function M.page(page, title)
  local out, w, h, size = {}, num(page.width), num(page.height), most_common_size(page.items)
  local style = page.is_fluid and FLUID:format(w) or ""
  out[1] = HEAD:format(w, h, w, h, style, escaped(title), num(size))
  for _, item in ipairs(page.items) do out[#out + 1] = printers[item[1]](item, size) .. "\n" end
  out[#out + 1] = "</g>\n</svg>\n"
  return table.concat(out)
end

function M.svg(x, file, options)
  file, options = page_of.arguments(file, options)
  local model = picture.of(x, options, "svg")
  return page_of.deliver(M.page(page_of.of(model), model.title), file, "svg", picture.fail)
end

return M
