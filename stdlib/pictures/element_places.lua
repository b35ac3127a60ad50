-- element_places.lua: of an element's offset in a tensor its coordinate, and the row and column of
-- its cell in a picture of the tensor.
local lists = require "cuttle.lists"
local M = {}

-- {====== Coordinates ======

local function leaf(x) -- of a tuple of one number
  return type(x) == "number" and x or leaf(x[1])
end

-- The modes of a layout that have a stride, from the largest stride down.
local function modes_of(layout)
  local flat = flatten(layout)
  local modes = {}
  for i = 0, rank(flat) - 1 do
    local mode = get_mode(flat, i)
    modes[#modes + 1] = { at = i + 1, size = size(mode), stride = leaf(mode.stride) }
  end
  table.sort(modes, lists.by("-stride", "-size"))
  return modes
end

-- offset -> flat coordinate, as a list, by division.
local function by_division(layout)
  local modes = modes_of(layout)
  return function(offset)
    local crd = {}
    for _, mode in ipairs(modes) do
      local at = (mode.size > 1 and mode.stride > 0) and offset // mode.stride or 0
      crd[mode.at] = math.min(at, mode.size - 1)
      offset = offset - crd[mode.at] * mode.stride
    end
    return offset == 0 and crd or nil
  end
end

local function flat_coordinate(layout, index)
  local crd, flat = {}, flatten(layout)
  for i = 1, rank(flat) do
    local size = size(get_mode(flat, i - 1))
    crd[i], index = index % size, index // size
  end
  return crd
end

-- The same by looking at all elements: strides of some layouts do not divide each other.
local function by_search(layout)
  local index_of
  return function(offset)
    if not index_of then
      index_of = {}
      for i = size(layout) - 1, 0, -1 do index_of[layout(i)] = i end
    end
    return index_of[offset] and flat_coordinate(layout, index_of[offset])
  end
end

-- offset -> flat coordinate. Behind the last element, where a tensor has gaps, the offset itself.
function M.coordinates(layout)
  local swizzle = layout.swizzle
  local plain = swizzle and layout.layout or layout
  local divide, search = by_division(plain), by_search(plain)
  return function(offset)
    local at = swizzle and swizzle(offset) or offset
    return divide(at) or search(at) or { offset }
  end
end

-- {====== Cells ======

local function sizes_of(x)
  local flat, sizes = flatten(x), {}
  for i = 1, rank(flat) do sizes[i] = size(get_mode(flat, i - 1)) end
  return sizes
end

-- Rows are mode 0, columns all others; what has one mode is a row.
local function axes_of(layout)
  local plain = layout.swizzle and layout.layout or layout
  local first = rank(plain) > 1 and sizes_of(get_mode(plain, 0)) or {}
  local all = sizes_of(plain)
  local rows = 1
  for i = 1, #first do rows = rows * all[i] end
  return { n_first = #first, sizes = all, rows = rows, cols = size(plain) // rows }
end

local function linear(crd, sizes, from, to)
  local index, step = 0, 1
  for i = from, to do
    index, step = index + crd[i] * step, step * sizes[i]
  end
  return index
end

--- A function from an offset in a tensor {layout =, crd_of =} to its row and column, and {rows =,
--- cols =}: how many there are.
function M.place_of(tensor)
  local axes = axes_of(tensor.layout)
  return function(offset)
    local crd = tensor.crd_of(offset)
    if #crd ~= #axes.sizes then return 0, offset end
    return linear(crd, axes.sizes, 1, axes.n_first),
      linear(crd, axes.sizes, axes.n_first + 1, #axes.sizes)
  end, axes
end

return M
