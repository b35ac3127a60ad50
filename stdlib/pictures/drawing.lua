-- drawing.lua: the one description of a drawing. picture_page.lua, launch_svg.lua and
-- timeline_page.lua make it; svg.lua, latex.lua and, in a page, drawing.js only print it. Lengths
-- are in points; x goes to the right, y down.
--   { width, height, items = list of
--     {"rect", x, y, width, height, fill = colour, tip = text or nil,
--      key = text, which items share that a page marks together, or nil},
--     {"line", x1, y1, x2, y2, width =, color =},
--     {"text", x, y (its middle), text, size =, anchor = "start", "middle" or "end", color =,
--      bold = true or nil, turned = true (reads upwards) or nil} }
local lists = require "cuttle.lists"
local palette = require "cuttle.palette"
local Drawing = {}
Drawing.__index = Drawing

local CHAR <const> = 0.58 -- width of a character, per size
local LABEL <const> = 9   -- size of a legend's text

Drawing.GREY = "#555555"

--- An empty drawing; `fields` are its maker's own.
function Drawing.new(fields)
  fields.items = {}
  return setmetatable(fields, Drawing)
end

function Drawing.text_width(text, size) return (utf8.len(text) or #text) * CHAR * size end

local function add(self, item) self.items[#self.items + 1] = item end

function Drawing:rect(x, y, width, height, fill, tip, key)
  add(self, { "rect", x, y, width, height, fill = fill, tip = tip, key = key })
end

function Drawing:line(x1, y1, x2, y2, width, color)
  add(self, { "line", x1, y1, x2, y2, width = width, color = color })
end

--- `more`: anchor ("start"), color (black), bold, turned.
function Drawing:text(x, y, text, size, more)
  more = more or {}
  add(self, { "text", x, y, text, size = size, anchor = more.anchor or "start",
              color = more.color or palette.ink, bold = more.bold, turned = more.turned })
end

--- Squares of colours {fill, text} with what they mean, from (left, y) on, in lines that end before
--- `right`. Returns the y below them, and where the longest line ends.
function Drawing:legend(entries, left, y, right)
  local x, most = left, left
  for _, entry in ipairs(entries) do
    local width = LABEL + 7 + self.text_width(entry.text, LABEL)
    if x > left and x + width > right then x, y = left, y + LABEL + 10 end
    self:rect(x, y, LABEL + 3, LABEL + 3, entry.fill)
    self:text(x + LABEL + 7, y + LABEL / 2 + 1.5, entry.text, LABEL)
    most = math.max(most, x + width)
    x = x + width + 12
  end
  return y + LABEL + 10, most
end

-- The fields of an item for a page, in the order in which drawing.js takes them.
local fields = {
  rect = { "fill", "tip", "key" }, line = { "width", "color" },
  text = { "size", "anchor", "color", "bold", "turned" },
}

local function plain_item(item)
  local out = { item[1] }
  for i = 2, #item do
    out[i] = math.type(item[i]) and math.tointeger(item[i] * 100 // 1) / 100 or item[i]
  end
  for _, name in ipairs(fields[item[1]]) do out[#out + 1] = item[name] or false end
  return out
end

--- The drawing as lists, which JSON can hold.
function Drawing:plain(title)
  local items = lists.map(self.items, plain_item)
  return { title = title, width = self.width, height = self.height, items = items }
end

return Drawing
