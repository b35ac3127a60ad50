-- tensor_memory.lua: tensors in tensor memory (Blackwell), and tiled copies to and from registers.
--   tmem_layout(dtype, shape)  where rows and columns of a shape are: lanes and words
--   tmem(dtype, shape)         a tensor there, in a kernel; or of a layout
--   pair_tile(tensor)          rows of both blocks of a pair, as an atom of two blocks takes them
--   tmem_copy(atom, tensor)    a tiled copy of four warps, as CuTe's make_tmem_copy
--
-- Elements of tensor memory are counted down the 128 lanes of a column, then the columns; narrow
-- elements of a row share a word of 32 bits (CtSpace in runtime/ir/ir_data.h).
local tiles = require "cuttle.tiles"
local tiled_copy = require "cuttle.tiled_copy"
local internal = ...
local M = {}

local WORD <const>, LANES <const>, HALF <const> = 32, 128, 64
local WARPS <const>, OF_WARP <const> = 4, 32
local SCALES <const> = 4                            -- in a word

local function to_dtype(x, op)
  if tiles.type_name(x) ~= "dtype" then
    tiles.fail(op, "argument 1 is of type %s; an element type such as f32 was expected",
      tiles.type_name(x))
  elseif x.bits ~= 8 and x.bits ~= 16 and x.bits ~= 32 or x == bool then
    tiles.fail(op, "elements of %s cannot be in tensor memory; 8, 16 or 32 bits were expected", x)
  end
  return x
end

-- The extents of a shape of two or more plain modes.
local function extents_of(x, op, is_scale)
  local whole = layout(x)
  local list = {}
  for i = 1, rank(whole) do list[i] = size(whole, i - 1) end
  if #list < 2 or not is_scale and list[1] ~= LANES and list[1] ~= HALF then
    tiles.fail(op, "the shape is %s; {128, columns} or {64, columns} was expected, perhaps with "
      .. "more modes, as rows are lanes", shape(whole))
  end
  return list
end

-- The layout of these modes, after which further ones of the list follow by that step.
local function with_further(list, shapes, strides, step)
  for i = 3, #list do
    shapes[i], strides[i] = list[i], step
    step = step * list[i]
  end
  return layout(shapes, strides)
end

-- Scales lie in words of four: row i in lane i % 32 of column i // 32, and scales 4 to 7 in the
-- next columns. The lanes of the other three warps have copies, which are not counted.
local function scale_layout(list, op)
  local rows, scales, column = list[1], list[2], LANES * SCALES
  if rows % OF_WARP ~= 0 or scales % SCALES ~= 0 then
    tiles.fail(op, "%d rows of %d scales were asked for; a multiple of 32 rows and of 4 scales was "
      .. "expected, as a column has 32 rows and a word 4 scales", rows, scales)
  end
  local columns = rows // OF_WARP
  local shapes = { { OF_WARP, columns }, { SCALES, scales // SCALES } }
  local strides = { { SCALES, column }, { 1, column * columns } }
  return with_further(list, shapes, strides, column * columns * (scales // SCALES))
end

--- Rows are lanes: row i of 128 is lane i, row i of 64 lane i % 16 + 32 * (i // 16).
function M.tmem_layout(dtype, extents)
  local bits = to_dtype(dtype, "tmem_layout").bits
  local is_scale = dtype == f8ue8m0 or dtype == f8ue4m3
  local list, per = extents_of(extents, "tmem_layout", is_scale), WORD // bits
  if is_scale then return scale_layout(list, "tmem_layout") end
  if list[2] % per ~= 0 then
    tiles.fail("tmem_layout", "%d columns of %s do not fill words of 32 bits; a multiple of %d was "
      .. "expected", list[2], dtype, per)
  end
  local shapes, strides = { LANES, { per, list[2] // per } }, { per, { 1, LANES * per } }
  if list[1] == HALF then
    shapes[1], strides[1] = { 16, WARPS }, { per, OF_WARP * per }
  end
  if per == 1 then shapes[2], strides[2] = list[2], LANES end
  return with_further(list, shapes, strides, LANES * list[2])
end

--- A tensor in tensor memory, which the block's first warp allocates.
function M.tmem(dtype, x)
  to_dtype(dtype, "tmem")
  if x == nil then
    tiles.fail("tmem", "argument 2 is missing; a shape was expected, as in tmem(f32, {128, 256})")
  end
  local is_layout = tiles.type_name(x) == "layout" or type(x) == "string"
  return internal.kernel.tmem(dtype, is_layout and x or M.tmem_layout(dtype, x))
end

--- The tile of a pair of blocks that have a tensor at the same place each: rows of the even block,
--- then those of the odd one. A product of two blocks takes its own half of each from there.
function M.pair_tile(tensor)
  if tiles.type_name(tensor) ~= "tensor" then
    tiles.fail("pair_tile", "argument 1 is of type %s; a tensor in shared or tensor memory was "
      .. "expected", tiles.type_name(tensor))
  elseif rank(tensor) < 2 then
    tiles.fail("pair_tile", "the tensor has the shape %s; (rows, columns) was expected, perhaps "
      .. "with more modes", shape(tensor))
  end
  local by_mode = { layout({ size(tensor, 0), 2 }, { 1, 0 }) }
  for i = 1, rank(tensor) - 1 do by_mode[i + 1] = _ end
  return composition(tensor, by_mode)
end

-- (thread, value) of four warps -> row + rows * column.
local function tv_of(copier, rows)
  local bits = copier.dtype.bits
  local own = recast(copier.dst, 1, bits)           -- (thread, value) of a warp -> (column, lane)
  local lanes = copier.name:match "_32dp" and 32 or 16
  local columns = cosize(own) // lanes
  local tv = composition(layout({ columns, lanes }, { rows, 1 }), own)
  local per_warp = rows // WARPS                    -- 32 rows, or 16 in every second half
  local threads = concat(get_mode(tv, 0), layout(WARPS, per_warp))
  local values = get_mode(tv, 1)
  if lanes < per_warp then values = concat(values, layout(per_warp // lanes, lanes)) end
  return concat(threads, values), columns
end

--- A tiled copy of 128 threads over the rows of a tensor in tensor memory, by an atom such as
--- SM100_TMEM_LOAD_32dp32b32x.
function M.tmem_copy(name, tensor)
  if tiles.type_name(tensor) ~= "tensor" then
    tiles.fail("tmem_copy", "argument 2 is of type %s; a tensor in tensor memory was expected",
      tiles.type_name(tensor))
  end
  local copier = tiles.to_atom(type(name) == "string" and atom(name, tensor.dtype) or name, "copy",
    "tmem_copy")
  if copier.family == "tcgen05.cp" then
    return tiled_copy.of_tv(copier, layout({ 1, { SCALES, SCALES, OF_WARP } },
      { 0, { LANES, OF_WARP, 1 } }), shape { LANES, SCALES }, "tmem_copy")
  end
  local rows = size(tensor, 0)
  if not copier.name:match "^SM100_TMEM_" then
    tiles.fail("tmem_copy", "%s does not copy tensor memory; one of atoms{family = \"tcgen05.ld\"} "
      .. "or \"tcgen05.st\" was expected", copier.name)
  elseif rows ~= LANES and rows ~= HALF then
    tiles.fail("tmem_copy", "mode 0 of the tensor has %s rows; 128 or 64 were expected", rows)
  elseif rows == HALF and copier.name:match "_32dp" then
    tiles.fail("tmem_copy", "%s takes 32 lanes of each warp, but 64 rows are in 16 lanes of each; "
      .. "take an atom whose name has 16dp", copier.name)
  end
  local tv, columns = tv_of(copier, rows)
  return tiled_copy.of_tv(copier, tv, shape { rows, columns }, "tmem_copy")
end

return M
