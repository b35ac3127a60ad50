-- html.lua: pictures as pages that answer to mouse and keys. picture.lua says what x and the
-- options can be. A page needs nothing else: no network, no file beside it. It is
-- stdlib/pictures/page.html with page.css and page.js in it; this file gives it its data (the head
-- of page.js says which).
local atom_facts = require "cuttle.atom_facts"
local derive = require "cuttle.derive"
local json = require "cuttle.json"
local lists = require "cuttle.lists"
local type_name = require "cuttle.type_name"
local pages = require "cuttle.page_file"
local palette = require "cuttle.palette"
local picture = require "cuttle.picture"
local M = {}

local MAX_STEPS <const> = 8 -- of a derivation

-- {====== Panels ======

local role_titles = {
  operand = "Operand", tiler = "Tiler", result = "Result", before = "Before the swizzle",
  after = "After the swizzle", together = "Operand and complement",
}

local function panel_title(panel, kind)
  local title = role_titles[panel.role] or panel.role
  if kind == "atom" then return panel.title end
  if panel.role == "result" and kind == "tv" then
    title = "Tile"
  elseif panel.role == "result" and kind ~= "operation" then
    title = "Layout"
  end
  return panel.title and ("%s %s"):format(title, panel.title) or title
end

local function axis_text(name, axis)
  local label = axis.name and ("%s %s"):format(name, axis.name) or name
  return #axis.modes > 0 and ("%s %s"):format(label, axis.text) or nil
end

local function axes_text(panel)
  local rows, cols = axis_text("rows", panel.row_axis), axis_text("columns", panel.col_axis)
  return rows and cols and ("%s, %s"):format(rows, cols) or rows or cols or ""
end

local function pairs_of(groups)
  return lists.map(groups, function(group) return { group.at, group.level } end)
end

local function owners_list(owners)
  local out = {}
  for _, owner in ipairs(owners) do
    out[#out + 1] = owner.thread
    out[#out + 1] = owner.value
  end
  return out
end

-- A field of every cell as a list; nil when no cell has it.
local function column(cells, of)
  local out, any = {}, false
  for i, cell in ipairs(cells) do
    local value = of(cell)
    any = any or value ~= nil
    out[i] = value == nil and json.null or value
  end
  return any and out or nil
end

local function field(name)
  return function(cell) return cell[name] end
end

local function text_of_value(cell)
  return cell.value ~= nil and cell.lines[1] or nil
end

local function columns(cells)
  local out = { value = column(cells, text_of_value), mark = column(cells, field "mark"),
                before = column(cells, field "before"), by_all = column(cells, field "by_all") }
  out.color = column(cells, function(cell) return cell.color or json.null end)
  out.owners = column(cells, function(cell) return cell.owners and owners_list(cell.owners) end)
  for _, name in ipairs { "row", "col", "crd", "linear", "offset" } do
    out[name] = column(cells, field(name)) or {}
  end
  return out
end

-- What the numbers of a panel's cells count, by role: 1-D coordinates (linear) and indices
-- (offset). R(i) = A(B(i)) for a composition and for the tile of a division: B's indices are
-- coordinates of A, R's are indices of A.
local composed = {
  operand = { linear = "A", offset = "memory" }, tiler = { linear = "R", offset = "A" },
  result = { linear = "R", offset = "memory" },
}
local divided = {
  operand = composed.operand, tiler = { linear = "tile", offset = "A" }, result = composed.result,
}
local other = {
  operand = composed.operand, tiler = { linear = "B", offset = "B's" }, result = composed.result,
  together = { linear = "both", offset = "memory" },
}
local plain <const> = { linear = "R", offset = "memory", value = "R" }

-- The operands of an MMA are tiles of their own; source and destination of a copy are one tile.
local function spaces_of_part(panel)
  return { linear = panel.place and panel.title or "tile", offset = "none", value = panel.title }
end

-- A tiler by mode is several layouts, none of which takes all coordinates of A.
local function spaces_of(panel, model, origin)
  if model.kind == "atom" then return spaces_of_part(panel) end
  if model.kind ~= "operation" then return plain end
  local whole = panel.role ~= "tiler" or panel.layout == tostring(origin[3])
  local name = whole and origin[1] or ""
  local by_role = name == "composition" and composed or name:find("divide") and divided or other
  return by_role[panel.role] or plain
end

local function panel_data(panel, model, origin)
  return {
    title = panel_title(panel, model.kind), note = panel.note, text = panel.layout,
    spaces = spaces_of(panel, model, origin), axes = axes_text(panel),
    rows = panel.rows, cols = panel.cols, place = panel.place,
    row_groups = pairs_of(panel.row_groups), col_groups = pairs_of(panel.col_groups),
    cells = columns(panel.cells),
  }
end

-- {====== How the result came about ======

-- Rows {heading, text}: the operations one after another, and how the last one works.
local function add_derivation(rows, layout)
  local steps = derive.steps(layout)
  for i = math.max(1, #steps - MAX_STEPS + 1), #steps - 1 do
    rows[#rows + 1] = { "Step " .. i, ("%s = %s"):format(steps[i].call, steps[i].result) }
  end
  local last = steps[#steps]
  if last then
    rows[#rows + 1] = { "Made by", last.call }
    rows[#rows + 1] = #last.details > 0 and { "How", table.concat(last.details, "\n") } or nil
  end
end

-- The rows between the title and the controls; none says what the title says.
local function derived_rows(model, layout, title)
  local rows = lists.map(model.facts or {}, function(fact)
    return { fact[1]:gsub("^%l", string.upper), fact[2] }
  end)
  for _, note in ipairs(model.facts and model.notes or {}) do rows[#rows + 1] = { "Note", note } end
  if model.facts then return rows end
  add_derivation(rows, layout)
  rows[#rows + 1] = { #rows > 0 and "Result" or "Layout", model.layout }
  local swizzle = model.kind == "swizzle" and derive.swizzle_text(layout.swizzle)
  if swizzle then rows[#rows + 1] = { "Swizzle", swizzle } end
  for _, note in ipairs(model.notes) do rows[#rows + 1] = { "Note", note } end
  return lists.filter(rows, function(row) return row[2] ~= title end)
end

-- {====== The page ======

-- How a picture is shown at first, by its kind: the cells' text, and what hover marks. Both are
-- names that page.js knows (textModes, relations).
local beginnings = {
  layout = { text = "offset", same = { "offset" } },
  swizzle = { text = "offset", same = { "offset", "linear" } },
  operation = { text = "offset", same = { "offset" } },
  tv = { text = "thread", same = { "thread" } },
  atom = { text = "thread", same = { "thread", "linear" } },
  tensor = { text = "value", same = { "offset" } },
  sharding = { text = "value", same = { "linear" } },
}

local function beginning_of(model, layout)
  if model.kind == "operation" and layout:origin() == "composition" then
    -- B's coordinate is R's, A's index is R's
    return { text = "offset", same = { "offset", "linear" } }
  end
  return beginnings[model.kind] or beginnings.layout
end

local function colors_of(list)
  return lists.map(list, function(color) return color.fill end)
end

local function legend_data(legend)
  return lists.map(legend or {}, function(entry) return { entry.color, entry.text } end)
end

-- What colours mean, by the name of a colouring.
local function legends_of(model)
  local n = model.n_threads
  return { picture = legend_data(model.legend),
           thread = legend_data(n and picture.thread_legend(n)) }
end

local function element_bits(x, options)
  local bits = options and options.bits
  if bits == nil and type_name(x) == "tensor" and x.dtype then bits = x.dtype.bits end
  return bits or 32
end

local function page_data(x, options, text)
  options = picture.options(options, x)
  local model = picture.of(x, options, "html")
  model.facts = atom_facts.of(x)
  local layout, title = model.facts and layout(1) or model.drawn, text or model.title
  local begin, origin = beginning_of(model, layout), { layout:origin() }
  local panels = {}
  for i, panel in ipairs(model.panels) do panels[i] = panel_data(panel, model, origin) end
  return {
    title = title, derived = derived_rows(model, layout, title),
    text_mode = begin.text, colour = "picture", same = begin.same,
    bytes = element_bits(x, options) / 8, palette = colors_of(palette), color_by = model.color_by,
    legends = legends_of(model), n_threads = model.n_threads or 0, thread = model.thread,
    panels = panels,
  }
end

-- The page as a text. `text`: what the picture is of as the user wrote it, or nil.
function M.page(x, options, text)
  local data = page_data(x, options, text)
  return pages.make("picture", data.title, data)
end

return M
