-- palette.lua: the colours of pictures, the only place that knows any. Fills are light, can be told
-- apart by the colour-blind (Paul Tol's "light" scheme), and carry black text. A cell has a key, an
-- integer; key k takes the colour k modulo the number of colours.
local M = {
  -- fill: of SVG, TikZ and HTML; ansi: the nearest of a terminal's 256 colours. Neighbours in the
  -- list differ most, as neighbours in a picture often have neighbouring keys.
  { fill = "#77AADD", ansi = 110, name = "light blue" },
  { fill = "#EEDD88", ansi = 222, name = "light yellow" },
  { fill = "#EE8866", ansi = 209, name = "orange" },
  { fill = "#44BB99", ansi = 72, name = "mint" },
  { fill = "#FFAABB", ansi = 217, name = "pink" },
  { fill = "#99DDFF", ansi = 117, name = "light cyan" },
  { fill = "#BBCC33", ansi = 149, name = "pear" },
  { fill = "#DDDDDD", ansi = 253, name = "pale grey" },

  ink = "#000000",                -- text on all of them
  blank = { fill = "#FFFFFF" },   -- a cell without a key
  warning = { fill = "#CC3311", ansi = 160, ink = "#FFFFFF" }, -- an element with several owners
}

-- The colour of a key; `blank` of nil.
function M.of(key) return key and M[key % #M + 1] or M.blank end

local FADED <const> = 0.22 -- of the colour is left, the rest is white

-- What stands back behind cells that are marked.
function M.faded(color)
  local fill = color.fill:gsub("%x%x", function(hex)
    return ("%02X"):format((255 - FADED * (255 - tonumber(hex, 16))) // 1 | 0)
  end)
  return { fill = fill, ink = "#8A8A8A" }
end

return M
