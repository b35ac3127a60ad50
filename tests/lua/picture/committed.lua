-- The pictures in docs/pictures: no text begins outside its picture. Those of measured timelines
-- cannot be drawn again without a GPU, so changes to them are made by hand.
local tap = dofile "tests/support/tap.lua"

local LETTER <const> = 0.4 -- of the font's size: no text is narrower
local SMALL <const> = 9    -- the font's size in the class b, if none is given

local function attribute(tag, name) return tag:match("%s" .. name .. '="([^"]*)"') end

-- The texts that begin left of the picture's edge.
local function cut_off(svg)
  local group, found = svg:match "<g [^>]*>", {}
  for tag, text in svg:gmatch "(<text [^>]*)>([^<]*)" do
    local anchor = attribute(tag, "class") == "b" and "middle" or attribute(tag, "text%-anchor")
      or attribute(group, "text%-anchor")
    local size = tonumber(attribute(tag, "font%-size") or attribute(group, "font%-size")) or SMALL
    local left = tonumber(attribute(tag, "x")) or 0
    if anchor == "middle" then left = left - LETTER * size * #text / 2 end
    if left < 0 then found[#found + 1] = text end
  end
  return found
end

for _, name in ipairs { "division", "timeline_attention", "timeline_hopper_gemm" } do
  local file <close> = assert(io.open(("docs/pictures/%s.svg"):format(name)))
  local found = cut_off(file:read "a")
  tap.ok(#found == 0, name .. ": all texts are within the picture", table.concat(found, "\n"))
end
tap.done()
