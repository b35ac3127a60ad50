-- picture_atom.lua: pictures of atoms, tiled MMAs and tiled copies: who owns what, one panel for
-- each operand or side. As CuTe draws them: of an MMA A stands left of C, whose rows are its rows,
-- and B above C: it is laid with K along the rows, so that its columns are those of C.
--   { kind "atom", panels {role = "result", title = "A (M,K)", place = {2, 1}, ...}, ... }
local color = require "cuttle.picture_color"
local M = {}

local each_cell = color.each_cell

-- The values of one thread, where all threads have the same: operands in shared memory.
local function same_for_all(tv)
  local n = size(tv, 0)
  local is_same = n > 1 and tv(n - 1, 0) == tv(0, 0) and cosize(slice({ _, 0 }, tv)) == 1
  return is_same and slice({ 0, _ }, tv) or nil
end

local function own_by_all(panels, tv, how)
  local value_of = {}
  for i, at in ipairs(tv:values()) do value_of[at] = i - 1 end
  each_cell(panels, function(cell)
    cell.by_all, cell.mine = value_of[cell.linear], how.thread and true
    cell.lines, cell.color = { "all", ("V%d"):format(cell.by_all) }, 0
  end)
end

-- Adds the panel of one thread-value layout. `part`: {title, tv, shape, names (of its modes) or
-- nil, place (of the panel) or nil, rows (the mode along them), may_repeat (several threads have
-- the same element), first_only (of those the first counts)}.
local function add_part(tools, picture, part, how)
  local tile = layout(part.shape)
  if part.names then tile = tile:named(table.unpack(part.names)) end
  local rows, place = part.rows or 0, part.place
  local axes = setmetatable({ rows = rows, cols = 1 - rows }, { __index = how })
  if how.rows ~= nil or how.cols ~= nil then
    axes.rows, axes.cols, place = how.rows, how.cols, nil -- they no longer meet
  end
  local panels, all = tools.add_panels(picture, tile, "result", axes), same_for_all(part.tv)
  for _, panel in ipairs(panels) do panel.title, panel.place = part.title, place end
  each_cell(panels, function(cell) cell.offset = nil end) -- the tile is in no memory
  if all then
    own_by_all(panels, all, how)
    return
  end
  local owners, outside = tools.owners_of(part.tv, size(tile), how)
  each_cell(panels, function(cell)
    tools.own(cell, owners[cell.linear], how, part.first_only)
    if part.may_repeat and cell.mark == "doubled" then cell.mark = nil end
    cell.color = cell.owners[1] and cell.owners[1].thread
  end)
  if not part.may_repeat then
    tools.note_coverage(picture, owners, size(tile), outside)
  end
end

local function draw(tools, title, layout, parts, how)
  local picture = tools.new_picture("atom", title, layout)
  local n_threads = size(parts[1].tv, 0)
  for _, part in ipairs(parts) do add_part(tools, picture, part, how) end
  picture.color_by, picture.n_threads = "thread", n_threads
  if how.color ~= nil then color.colorize(picture, how) end
  picture.legend = picture.color_by == "thread" and tools.thread_legend(n_threads) or nil
  return picture
end

local function mma_parts(a, b, c, mnk, may_repeat)
  local m, n, k = mnk[1], mnk[2], mnk[3]
  return {
    { title = "A (M,K)", tv = a, shape = { m, k }, names = { "M", "K" }, place = { 2, 1 },
      may_repeat = may_repeat },
    { title = "B (N,K)", tv = b, shape = { n, k }, names = { "N", "K" }, place = { 1, 2 }, rows = 1,
      may_repeat = may_repeat },
    { title = "C (M,N)", tv = c, shape = { m, n }, names = { "M", "N" }, place = { 2, 2 },
      may_repeat = size(c) > m * n },
  }
end

-- The scales of A in its rows, those of B in its columns, and the operands moved to make room.
local function add_scales(parts, sfa, sfb, mnk, vec, may_repeat)
  for _, part in ipairs(parts) do part.place = { part.place[1] + 1, part.place[2] + 1 } end
  local blocks = mnk[3] // vec
  parts[#parts + 1] = { title = ("SFA (M,K/%d)"):format(vec), tv = sfa, shape = { mnk[1], blocks },
    names = { "M", "K" }, place = { 3, 1 }, may_repeat = may_repeat, first_only = true }
  parts[#parts + 1] = { title = ("SFB (N,K/%d)"):format(vec), tv = sfb, shape = { mnk[2], blocks },
    names = { "N", "K" }, place = { 1, 3 }, rows = 1, may_repeat = may_repeat, first_only = true }
  return parts
end

-- Elements of 16 bits where the type is not said; 8 elements are a row of a matrix.
local function copy_parts(a)
  local bits = a.dtype and a.dtype.bits or math.min(a.bits, 16)
  local n = a.bits // bits
  local row = a.threads > 1 and math.min(n, 128 // bits) or n
  local parts = {}
  for _, side in ipairs { "src", "dst" } do
    local tv = recast(a[side], 1, bits) -- numbers of elements, row by row
    local by_rows = layout({ row, n // row }, { n // row, 1 }) -- in a column-major tile
    parts[#parts + 1] = { title = side == "src" and "source" or "destination",
      tv = composition(by_rows, tv), shape = { n // row, row }, may_repeat = true,
      first_only = true }
  end
  return parts
end

function M.of_atom(tools, a, how)
  if a.kind == "copy" then
    local title = a.name .. (a.dtype and " of " .. tostring(a.dtype) or "")
    return draw(tools, title, a.ref, copy_parts(a), how)
  end
  local parts = mma_parts(a.layout_a, a.layout_b, a.layout_c, a.shape)
  if a.sf_vec_size then
    add_scales(parts, a.layout_sfa, a.layout_sfb, a.shape, a.sf_vec_size, true)
  end
  return draw(tools, a.name, a.layout_c, parts, how)
end

function M.of_tiled_mma(tools, mma, how)
  local title = ("tiled MMA of %s, tile %s"):format(mma.atom.name, mma:tile_shape())
  local a, b, c = mma:tv_layout_A(), mma:tv_layout_B(), mma:tv_layout_C()
  local parts = mma_parts(a, b, c, mma:tile_shape(), true)
  if mma.atom.sf_vec_size then
    add_scales(parts, mma:tv_layout_SFA(), mma:tv_layout_SFB(), mma:tile_shape(),
      mma.atom.sf_vec_size, true)
  end
  return draw(tools, title, mma.thr_layout_vmnk, parts, how)
end

function M.of_tiled_copy(tools, copy, how)
  local shape, parts = copy:tile_shape(), {}
  for _, side in ipairs { "S", "D" } do
    parts[#parts + 1] = { title = side, tv = copy["tv_layout_" .. side](copy),
      shape = #shape == 1 and { shape[1], 1 } or shape, may_repeat = true,
      first_only = size(copy.atom[side == "S" and "src" or "dst"]) > copy.atom.bits }
  end
  local title = ("tiled copy of %s, tile %s"):format(copy.atom.name, shape)
  return draw(tools, title, copy.layout_tv, parts, how)
end

return M
