-- block_tiles.lua: tiles of shared memory for tiles of global memory, and copies by a whole block.
--   shared_like(tile[, stages[, dtype]])   the tile in shared memory, swizzled for ldmatrix
--   block_copy(src, dst[, options])        by all threads of the block, as wide as layouts allow
local internal = ...
local bits_for = require "cuttle.integers".bits_for
local tiles = require "cuttle.tiles"
local M = {}

local fail, type_name = tiles.fail, tiles.type_name

local WIDE_BITS <const>, ROW_BITS <const> = 128, 1024 -- of an access, of all banks once

local function check_tile(x, number, op)
  if type_name(x) ~= "tensor" then
    fail(op, "argument %d is of type %s; a tile of two modes was expected", number, type_name(x))
  elseif x.dtype == nil then
    fail(op, "argument %d is a tensor of coordinates; expected one with memory", number)
  end
  for i = 0, 1 do
    if rank(x) < 2 or not internal.kernel.is_static(size(x, i)) then
      fail(op, "%s is not a tile of two modes whose extents are known while tracing; tile it "
        .. "first, as in tile(A, {64, 32}, {blockIdx.x, _})", x.layout)
    end
  end
end

-- The first integer of a mode's stride: 1 where the mode is contiguous.
local function first_stride(x, i)
  local l = x.layout
  local s = stride(get_mode(l.swizzle and l.layout or l, i))
  while type(s) == "table" do s = s[1] end
  return s
end

-- 0 or 1: the mode that is contiguous; 1 (K) where neither is known to be.
local function contiguous(x)
  local s = first_stride(x, 0)
  local is_one = internal.kernel.is_static(s) and s == 1 and size(x, 0) > 1
  return is_one and 0 or 1
end

-- {====== Shared memory ======

-- Eight lines along the contiguous mode, of whose 16 bytes the places are exchanged. `shape`: two
-- extents, and slots if there are any.
local function layout_of(shape, along, bits)
  local vec = WIDE_BITS // bits
  local line = tiles.power_in(shape[along + 1], ROW_BITS // bits)
  if line >= 2 * vec and shape[2 - along] % 8 == 0 then
    local block = along == 1 and row_major { 8, line } or layout { line, 8 }
    local swizzle = swizzle(bits_for(line // vec), bits_for(vec), 3)
    local whole = tile_to_shape(composition(swizzle, block), shape)
    return coalesce(whole, shape) -- mode by mode
  elseif along == 0 then
    return layout(shape)
  end
  return layout(shape, { shape[2], 1, shape[3] and shape[1] * shape[2] })
end

-- {====== Copies ======

-- Threads along and across what is contiguous, each with vec elements; nil: they do not divide it.
local function shares(n, run, other, vec)
  if run % vec ~= 0 then return nil end
  local across = tiles.power_in(run // vec, n)
  if n % across ~= 0 or other % (n // across) ~= 0 then return nil end
  return across, n // across
end

-- A tiled copy by n threads along mode `along`, each with vec elements, or nil.
local function tiled_by(p, vec)
  local atom = atom(("UniversalCopy<u%d>"):format(tiles.width(p.dtype)), p.dtype)
  local across, rest = shares(p.n, p.extents[p.along + 1], p.extents[2 - p.along], vec)
  if across == nil then return nil end
  local copier = p.along == 1
    and tiled_copy(atom, row_major { rest, across }, row_major { 1, vec })
    or tiled_copy(atom, layout { across, rest }, layout { vec, 1 })
  local function divide(l) return zipped_divide(l, copier.tiler) end
  if tiles.keeps_size(p.src, divide) and tiles.keeps_size(p.dst, divide) then return copier end
end

-- The widest that divides the tile and both layouts, or nil.
local tiled = static_fn(function(p)
  local vec = WIDE_BITS // tiles.width(p.dtype)
  while vec >= 1 do
    local copier = tiled_by(p, vec)
    if copier then return copier end
    vec = vec // 2
  end
end)

-- Threads follow the memory whose accesses cost most: global memory.
local function along_of(src, dst)
  return contiguous(internal.kernel.space_of(src) == "global" and src or dst)
end

-- What n threads copy the tile src to dst by; nil: element by element.
local function mover_of(src, dst, n)
  return tiled { n = n, extents = { size(dst, 0), size(dst, 1) }, dtype = dst.dtype,
    along = along_of(src, dst), src = tiles.static_layout(src), dst = tiles.static_layout(dst) }
end

local function one_by_one(src, dst, n)
  local rows = size(dst, 0)
  for i in range(threadIdx.x, size(dst), n) do
    dst[{ i % rows, i // rows }] = cast(src[{ i % rows, i // rows }], dst.dtype)
  end
end

local function check_pair(src, dst)
  check_tile(src, 1, "block_copy")
  check_tile(dst, 2, "block_copy")
  if rank(src) ~= 2 or rank(dst) ~= 2 then
    fail("block_copy", "%s to %s; two tiles of two modes were expected, as t(_, _, k) is",
      src.layout, dst.layout)
  end
  for i = 0, 1 do
    if size(src, i) ~= size(dst, i) then
      fail("block_copy", "%s and %s differ in mode %d: %d and %d", src.layout, dst.layout, i,
        size(src, i), size(dst, i))
    end
  end
end

function M.block_copy(src, dst, options)
  check_pair(src, dst)
  local n, y, z = static(blockDim.x), static(blockDim.y), static(blockDim.z)
  if y > 1 or z > 1 then
    fail("block_copy", "the block is %d x %d x %d; its threads must have one mode, as in "
      .. "block = %d", n, y, z, n * y * z)
  end
  local mover = mover_of(src, dst, n)
  if mover == nil then return one_by_one(src, dst, n) end
  local thr = mover:get_slice(threadIdx.x)
  local from = tiles.part_of_tile(src, function(t) return thr:partition_S(t) end)
  local to = tiles.part_of_tile(dst, function(t) return thr:partition_D(t) end)
  if src.dtype ~= dst.dtype then from = cast(from, dst.dtype) end
  if options == nil then copy(from, to) else copy(from, to, options) end
end

-- {====== Tiles like others ======

-- The thread's part of x, so that its address is computed here: before the loop that copies from
-- x(_, _, k) to dst.
local function address_early(x, dst)
  local n, y, z = static(blockDim.x), static(blockDim.y), static(blockDim.z)
  if not tiles.wants_early(dst) or rank(x) ~= 3 or y > 1 or z > 1 then return dst end
  if internal.kernel.whole_of(x(_, _, 0)) == nil then return dst end
  local mover = mover_of(x, dst, n)
  if mover then mover:get_slice(threadIdx.x):partition_S(x) end
  return dst
end

function M.shared_like(x, stages, dtype)
  check_tile(x, 1, "shared_like")
  if stages ~= nil and (math.type(stages) ~= "integer" or stages < 1) then
    fail("shared_like", "argument 2 is %s; a number of slots from 1 on was expected",
      math.type(stages) and tostring(stages) or "of type " .. type_name(stages))
  elseif dtype ~= nil and type_name(dtype) ~= "dtype" then
    fail("shared_like", "argument 3 is of type %s; an element type was expected", type_name(dtype))
  end
  dtype = dtype or x.dtype
  local shape = { size(x, 0), size(x, 1), stages }
  return address_early(x, shared(dtype, layout_of(shape, contiguous(x), tiles.width(dtype))))
end

return M
