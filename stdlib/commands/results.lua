-- results.lua: values as the prompt shows them (interp/shell/repl_print.c). A table is opened by
-- pretty.lua, and a small layout is drawn by `show`; the text of others is what tostring says.
local pretty = require "cuttle.pretty"

local M = {}

local MAX_PANELS <const> = 4 -- of what is drawn

-- Texts that are files, by how they begin, and what writes them. A terminal does not show these.
local pictures <const> = {
  { "<?xml ", "SVG", 'svg(x, "x.svg")' },
  { "<!DOCTYPE html>", "HTML", 'html(x, "x.html")' },
  { "\\documentclass", "LaTeX", 'latex(x, "x.tex")' },
  { "\\begin{tikzpicture}", "LaTeX", 'latex(x, "x.tex")' },
}

-- "104 lines of SVG; ..." in place of a picture's text; nil of another text.
local function picture_size(text)
  for _, picture in ipairs(pictures) do
    local begin, kind, maker = table.unpack(picture)
    if text:sub(1, #begin) == begin then
      local _, n_lines = text:gsub("\n", "")
      return ("%d lines of %s; %s writes a file, print(ans) shows them"):format(
        n_lines, kind, maker)
    end
  end
end

-- The text of a value. `columns`: those of the terminal; is_plain: it is a table without a text of
-- its own; on_terminal: nobody wants the text of a picture; name: what the language calls it.
function M.text(value, columns, is_plain, on_terminal, name)
  if is_plain then return pretty.text(value, columns) end
  if name then return ("function %s; help(%s)"):format(name, name) end
  local size = on_terminal and type(value) == "string" and picture_size(value)
  if size then return size end
  return tostring(value)
end

-- Draws the layout; as_text: returns the drawing as a text. Its operands may have more cells than
-- `max_cells`: these are left out.
function M.draw(value, max_cells, as_text)
  return show(value, { text = as_text, max_cells = max_cells, max_panels = MAX_PANELS })
end

-- Has the drawing's first line the layout's text? Then the drawing says it all.
function M.says_all(value, max_cells, text)
  local drawing = M.draw(value, max_cells, true)
  return type(drawing) == "string"
    and drawing:match("^[^\n]*"):find(text:match "^[^\n]*", 1, true) ~= nil
end

return M
