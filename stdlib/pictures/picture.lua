-- picture.lua: what a picture shows, without saying how it is drawn. `show`, `svg`, `latex` and
-- `html` all draw the model that M.of returns:
--   { kind    "layout", "swizzle", "operation", "tv", "atom", "tensor" or "sharding",
--     title, layout (text), drawn (the layout itself; of atoms and tiles that of their threads),
--     color_by ("offset", "tile", "thread", ...: the meaning of the keys),
--     panels  list, from left to right; see below,
--     notes   list of texts: what was left out, what is wrong with the layout,
--     legend  list of {color, text}, or nil,
--     n_threads  of those that own the cells, thread  whose cells are marked; or nil }
-- A panel is one grid (picture_grid.lua: layout, title, rows, cols, row_axis, col_axis, row_groups,
-- col_groups, note, cells) with a `role`: "result", "operand", "tiler", "together" (an operand and
-- the result in one grid), "before", "after" (the swizzle). Panels with a `place` = {row, col},
-- from 1, stand as in a table, so that rows and columns go on from one to the next. A cell is
--   { row, col, crd (text), linear (the 1-D coordinate),
--     offset  the index that the layout gives: an integer, or the text of a coordinate; nil in
--             pictures of atoms, whose tiles are in no memory,
--     lines   what is written in it: list of texts,
--     color   key into palette.lua, or nil: blank,
--     owners  of a thread-value layout: list of {thread, value},
--     mark    "unowned" or "doubled" (no thread has the element, several have it); "outside": the
--             result's, where the operand has no element,
--     by_all  the value that all threads have there, in place of owners,
--     mine    true of what the marked thread owns,
--     before  of a swizzled layout: the index without the swizzle,
--     value   of a tensor: its element }
-- Options, all of them: rows, cols (mode numbers or names along that axis, or lists of them; 0 and
-- 1), operands (false: the result alone), tile (the shape or layout that a thread-value layout
-- covers), thread (whose part is marked), color (a rule of picture_color.lua, or a function of the
-- cell that returns a key), bits (of an element, for color = "bank"), max_cells (of a panel),
-- max_panels, title.
local atoms = require "cuttle.picture_atom"
local color = require "cuttle.picture_color"
local grid = require "cuttle.picture_grid"
local lists = require "cuttle.lists"
local operations = require "cuttle.picture_operation"
local option_names = require "cuttle.option_names"
local owning = require "cuttle.owners"
local type_name = require "cuttle.type_name"
local palette = require "cuttle.palette"
local panels = require "cuttle.picture_panels"
local parts = require "cuttle.picture_part"
local shardings = require "cuttle.picture_sharding"
local M = {}

local each_cell, colorize = color.each_cell, color.colorize
local add_panels, new_picture = panels.add_panels, panels.new_picture
local check_static = panels.check_static

-- Raises an error that blames the script's line.
M.fail = require "cuttle.fail".fail

local MAX_CELLS <const> = 4096
local MAX_PANELS <const> = 16
local MAX_OWNERS <const> = 1 << 20 -- elements of a thread-value layout

-- {====== Layouts and swizzled layouts ======

local function of_layout(layout, how)
  local picture = new_picture("layout", tostring(layout), layout)
  add_panels(picture, layout, "result", how)
  colorize(picture, how, "offset")
  return picture
end

-- The indices of a swizzled layout without the swizzle.
local function before_swizzle(layout)
  local plain_at = grid.offset_at(layout.layout)
  return function(linear)
    local at = plain_at(linear)
    return math.type(at) == "integer" and at + layout.offset or at
  end
end

local function of_swizzle(layout, how)
  local picture = new_picture("swizzle", tostring(layout), layout)
  local unit, at = 1 << layout.swizzle.base, before_swizzle(layout) -- a unit stays together
  local before = how.operands and add_panels(picture, layout, "before", how) or {}
  each_cell(before, function(cell)
    cell.offset = at(cell.linear)
    cell.lines = { tostring(cell.offset) }
  end)
  for _, panel in ipairs(before) do panel.layout = tostring(layout.layout) end
  each_cell(add_panels(picture, layout, "after", how), function(cell)
    cell.before = at(cell.linear)
  end)
  if how.color == nil then
    each_cell(picture.panels, function(cell) cell.color = color.offset_key(cell) // unit end)
    picture.color_by = "offset"
  else
    colorize(picture, how)
  end
  return picture
end

-- What a swizzle Sw<B,M,S> does to 2^B rows of 2^|S| units, the bits that it reads and changes.
local function swizzle_grid(swizzle)
  local shift = math.abs(swizzle.shift)
  return composition(swizzle, layout({ 1 << swizzle.bits, 1 << shift },
    { 1 << (swizzle.base + shift), 1 << swizzle.base }))
end

-- {====== Thread-value layouts ======

local function check_count(layout, how)
  local n = size(layout)
  if n > MAX_OWNERS then
    M.fail(how.op, "the thread-value layout %s has %d elements; at most %d are drawn", layout, n,
      MAX_OWNERS)
  end
end

-- 1-D coordinate in the tile -> list of {thread, value}, and the number of elements outside of the
-- tile.
local function owners_of(tv, n_cells, how)
  local n_threads, n, owners, outside = size(tv, 0), size(tv), {}, 0
  check_count(tv, how)
  for linear = 0, n - 1 do
    local at = tv(linear)
    if math.type(at) ~= "integer" then
      M.fail(how.op, "%s has coordinates as results; the results of a thread-value layout number "
        .. "the elements",
        tv)
    elseif at < 0 or at >= n_cells then
      outside = outside + 1
    else
      owners[at] = owners[at] or {}
      table.insert(owners[at], { thread = linear % n_threads, value = linear // n_threads })
    end
  end
  return owners, outside
end

-- Says who owns the cell; with `first_only` of several owners the first.
local function own(cell, owners, how, first_only)
  owners = owners or {}
  cell.owners = first_only and { owners[1] } or owners
  cell.mine = parts.has(owners, how.thread)
  cell.lines = owning.lines(cell.owners)
  cell.mark = #cell.owners == 0 and "unowned" or #cell.owners > 1 and "doubled" or nil
end

local function note_coverage(picture, owners, size, outside)
  local unowned, doubled = size, 0
  for _, list in pairs(owners) do
    unowned, doubled = unowned - 1, doubled + (#list > 1 and 1 or 0)
  end
  for text, n in pairs {
    ["%d of %d elements have no owner"] = unowned,
    ["%d of %d elements have more than one owner"] = doubled,
    ["%d (thread, value) pairs fall outside of the %d elements of the tile"] = outside,
  } do
    if n > 0 then table.insert(picture.notes, text:format(n, size)) end
  end
  table.sort(picture.notes)
end

-- Which threads have which colour, of the colours that are there.
function M.thread_legend(n_threads)
  local legend, most = {}, 4
  for key = 0, math.min(n_threads, #palette) - 1 do
    local texts = {}
    for thread = key, n_threads - 1, #palette do
      texts[#texts + 1] = #texts < most and "T" .. thread or nil
    end
    local more = (n_threads - 1 - key) // #palette + 1 > most and ", ..." or ""
    legend[#legend + 1] = { color = key, text = table.concat(texts, ", ") .. more }
  end
  return legend
end

local function color_threads(picture, n_threads, how)
  colorize(picture, how, "thread")
  picture.n_threads = n_threads
  picture.legend = picture.color_by == "thread" and M.thread_legend(n_threads) or nil
end

-- The tile that the layout covers, as a layout: the option, else from what made it.
local function tile_of(tv, how)
  if how.tile then
    local tile = layout(how.tile)
    check_static(tile, how)
    return tile
  end
  local op = operations.origin_of(tv)
  local _, shape = tv_layout(op.operands[1], op.operands[2])
  return layout(shape)
end

local function of_tv(tv, how)
  if rank(tv) ~= 2 then
    M.fail(how.op, "the layout %s has rank %d; a thread-value layout has two modes, (thread,value)",
      tv, rank(tv))
  end
  local tile = tile_of(tv, how)
  local title = ("%s, tile %s"):format(tv, shape(tile))
  local picture, n_cells = new_picture("tv", title, tv), size(tile)
  local owners, outside = owners_of(tv, n_cells, how)
  each_cell(add_panels(picture, tile, "result", how), function(cell)
    own(cell, owners[cell.linear], how)
  end)
  for _, panel in ipairs(picture.panels) do
    if #panel.row_groups + #panel.col_groups == 0 then
      color.group_by(panel, function(cell) return cell.owners[1] and cell.owners[1].thread end)
    end
  end
  note_coverage(picture, owners, n_cells, outside)
  color_threads(picture, size(tv, 0), how)
  return picture
end

local function is_tv(layout, how)
  if how.tile ~= nil then return true end
  local op = how.operands and operations.origin_of(layout)
  return op and op.name == "tv_layout" and #op.operands == 2 and operations.all_static(op.operands)
end

-- {====== Tensors of the host ======

local function value_text(value)
  return math.type(value) == "float" and ("%.4g"):format(value) or tostring(value)
end

local function of_tensor(tensor, how)
  local layout = tensor.layout
  check_static(layout, how)
  local title = ("%s tensor %s"):format(tensor.dtype, layout)
  local picture = new_picture("tensor", title, layout)
  each_cell(add_panels(picture, layout, "result", how), function(cell)
    local ok, value = pcall(tensor, cell.linear)
    cell.value, cell.lines = ok and value or nil, { ok and value_text(value) or "-" }
    cell.mark = not ok and "outside" or nil -- of a division that rounds up
  end)
  colorize(picture, how, "offset")
  return picture
end

-- {====== Which picture it is ======

-- What pictures of atoms and parts are made with.
local tools = { new_picture = new_picture, add_panels = add_panels, owners_of = owners_of,
                own = own, note_coverage = note_coverage, thread_legend = M.thread_legend,
                check_count = check_count, color_threads = color_threads }

local function is_partition(layout, how)
  local op = how.operands and operations.origin_of(layout)
  return op and op.name == "parallelize" and operations.all_static{ op.operands[1], op.operands[2] }
end

local function of_partition(layout, how)
  return parts.of_partition(tools, layout, operations.origin_of(layout), how)
end

-- Which picture of a layout; the first whose test holds.
M.kinds = {
  { name = "tv", test = is_tv, of = of_tv },
  { name = "partition", test = is_partition, of = of_partition },
  { name = "swizzle", test = function(layout) return layout.swizzle ~= nil end, of = of_swizzle },
  { name = "operation", test = operations.test, of = operations.of },
  { name = "layout", test = function() return true end, of = of_layout },
}

local function of_any_layout(layout, how)
  check_static(layout, how)
  for _, kind in ipairs(M.kinds) do
    if kind.test(layout, how) then return kind.of(layout, how) end
  end
end

-- What draws an object of the language, by the name of its type: of(x, how) -> picture. Anything
-- else is taken for a layout.
M.types = {
  layout = of_any_layout, -- as it is: it knows what made it
  swizzle = function(swizzle, how) return of_any_layout(swizzle_grid(swizzle), how) end,
  tensor = of_tensor,
}

for _, name in ipairs { "atom", "tiled_mma", "tiled_copy" } do
  M.types[name] = function(x, how) return atoms["of_" .. name](tools, x, how) end
end

M.types.sharding = function(s, how) return shardings.of_sharding(tools, s, how) end
M.types["sharded tensor"] = function(x, how)
  return shardings.of_sharding(tools, x.sharding, how)
end
M.types.mesh = function(m, how) return shardings.of_mesh(tools, m, how) end

-- A thread's slice has the picture of the whole, in which its part is marked.
local function of_slice(kind, whole)
  return function(x, how)
    how.thread = how.thread or math.tointeger(x.thread)
    return M.types[kind](x[whole], how)
  end
end
M.types.thr_mma, M.types.thr_copy = of_slice("tiled_mma", "mma"), of_slice("tiled_copy", "copy")

local any <const>, positive <const> = option_names.any, option_names.whole(1)
local known <const> = { rows = any, cols = any, operands = option_names.flag, tile = any,
                        color = any, bits = positive, thread = option_names.whole(0),
                        max_cells = positive, max_panels = positive, title = any }

local stands_for_layout = { string = true, number = true, table = true }

-- The options with their defaults. `own`: readers of those that the caller knows.
local function read_options(options, op, own_options)
  options = option_names.check(op, options, lists.with(known, own_options), "{rows = 0}")
  local how = lists.with(options, { op = op, operands = options.operands ~= false })
  how.max_cells, how.max_panels = how.max_cells or MAX_CELLS, how.max_panels or MAX_PANELS
  how.bits = how.bits or 32
  return how
end

-- What an operation returns beside a layout may stand in place of the options: of tv_layout the
-- tile, a tuple, so that show(tv_layout(thr, val)) draws it; of tile and parallelize the offset, a
-- number or a coordinate, which says nothing about the layout.
function M.options(options, x)
  local is_tuple = type(options) == "table" and #options > 0
  if math.type(options) == "integer" then
    return nil
  elseif is_tuple and type_name(x) == "layout" then
    local op = x:origin()
    if op == "tile" or op == "parallelize" then return nil end
  end
  return is_tuple and { tile = options } or options
end

-- The model of x: a layout, whatever stands for one, a swizzle, or a tensor of the host. `op` is
-- the name of the running function, for errors; `own_options` readers of those that it takes
-- itself.
function M.of(x, options, op, own_options)
  op = op or "picture"
  local how = read_options(M.options(options, x), op, own_options)
  local draw = M.types[type_name(x)]
  if not draw and not stands_for_layout[type(x)] then
    local kind = x == nil and "nil" or "a " .. type_name(x)
    M.fail(op, "argument 1 is %s; a layout, a string like \"(4,8):(8,1)\" or a tensor was expected",
      kind)
  end
  local picture = draw and draw(x, how) or of_any_layout(layout(x), how)
  if how.thread then parts.mark(picture, how, M.fail) end
  picture.title = how.title ~= nil and tostring(how.title) or picture.title
  return picture
end

return M
