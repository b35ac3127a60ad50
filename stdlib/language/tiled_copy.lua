-- tiled_copy.lua: a copy atom repeated over threads and values, as CuTe's TiledCopy
-- (include/cute/atom/copy_atom.hpp). layout_tv takes (thread, value), in the order of the atom's
-- reference, to elements of a tile; tidfrg_S takes a tensor to (Thr,(FrgV,FrgX),(RestM,RestN,...)),
-- FrgV the values of one instruction, in the order of its source. A thread's part is
-- ((FrgV,FrgX),RestM,RestN,...).
local tiles = require "cuttle.tiles"
local M = {}

local ANY <const> = _

local TiledCopy, ThrCopy = {}, {} -- their methods

local tiled_type = tiles.new_type("tiled_copy", TiledCopy,
  { "atom", "layout_tv", "tiler", "threads", "val_src", "val_dst", "val_ref" })
local thr_type = tiles.new_type("thr_copy", ThrCopy, { "copy", "thread" })
tiled_type.__constant, thr_type.__constant = true, true -- as an argument of a launch

-- {====== Making ======

-- The layouts of the atom in elements of its type.
local function add_values(copy, op)
  local a = copy.atom
  if a.dtype == nil then
    tiles.fail(op, "%s does not say which elements it copies; write atom(\"%s\", f16), or what "
      .. "type they have", a.name, a.name)
  end
  local width = tiles.width(a.dtype)
  copy.val_src = recast(a.src, 1, width)
  copy.val_dst = recast(a.dst, 1, width)
  copy.val_ref = recast(a.ref, 1, width)
end

-- The thread-value layout, divided by the threads and values of one atom.
local function by_atom_of(copy)
  return zipped_divide(copy.layout_tv, { size(copy.val_ref, 0), size(copy.val_ref, 1) })
end

-- A divide pads modes inside which tiles end; threads and values cannot be padded.
local function check_whole_atoms(copy, op)
  if size(by_atom_of(copy)) ~= size(copy.layout_tv) then
    tiles.fail(op, "the %d threads or %d values of %s end inside a mode of the thread-value layout "
      .. "%s; use extents that are multiples of them, or divide them", size(copy.val_ref, 0),
      size(copy.val_ref, 1), copy.atom.name, copy.layout_tv)
  end
end

-- A tiled copy of a thread-value layout over a tile of this shape.
local function make(atom, layout_tv, tiler, op)
  local copy = setmetatable({ atom = tiles.to_atom(atom, "copy", op), layout_tv = layout_tv,
                              tiler = tiler }, tiled_type)
  add_values(copy, op)
  copy.threads = size(layout_tv, 0)
  local n_threads, n_values = size(copy.val_ref, 0), size(copy.val_ref, 1)
  if copy.threads % n_threads ~= 0 then
    tiles.fail(op, "%d threads are not a multiple of the %d that %s needs", copy.threads, n_threads,
      copy.atom.name)
  elseif size(layout_tv, 1) % n_values ~= 0 then
    tiles.fail(op, "a thread has %d values of type %s, but %s copies %d at once; give each "
      .. "thread a multiple of that, or use a narrower atom", size(layout_tv, 1),
      copy.atom.dtype, copy.atom.name, n_values)
  end
  check_whole_atoms(copy, op)
  return copy
end

-- For modules that have the thread-value layout.
M.of_tv = make

-- tiled_copy(atom, thr_layout[, val_layout])
function M.tiled_copy(atom, thr_layout, val_layout)
  if thr_layout == nil then
    tiles.fail("tiled_copy", "argument 2 is missing; a layout of threads was expected, as in "
      .. "tiled_copy(atom, layout{8, 4}, layout{4, 1})")
  end
  local layout_tv, tiler = tv_layout(thr_layout, val_layout == nil and 1 or val_layout)
  return make(atom, layout_tv, tiler, "tiled_copy")
end

-- Argument 2, of the type: "tiled_mma" or "tiled_copy".
local function check_second(x, type_name, what, op)
  if tiles.type_name(x) ~= type_name then
    tiles.fail(op, "argument 2 is of type %s; %s was expected", tiles.type_name(x), what)
  end
end

local function check_mma(x, op) check_second(x, "tiled_mma", "a tiled MMA", op) end
local function check_copy(x, op) check_second(x, "tiled_copy", "a tiled copy", op) end

local function sizes_of(mma, i, k)
  return shape { mma:tile_size_mnk(i), mma:tile_size_mnk(k) }
end

-- What an MMA takes in words of several elements is copied in words.
local function copy_of(atom, mma, letter, tv, mode, op)
  local a, bits = tiles.to_atom(atom, "copy", op), mma.atom.bits[letter]
  if bits < 8 and a.dtype and a.dtype.bits ~= 32 then
    tiles.fail(op, "%s takes words of %d elements of %s, but %s copies %s; make the atom of u32",
      mma.atom.name, 32 // bits, mma.atom.dtypes[letter], a.name, a.dtype)
  end
  local columns = mma:tile_size_mnk(2) // (bits < 8 and 32 // bits or 1)
  return make(a, tv, shape { mma:tile_size_mnk(mode), columns }, op)
end

-- For the operands of a tiled MMA: tiled_copy_A(atom, mma).
function M.tiled_copy_A(atom, mma)
  check_mma(mma, "tiled_copy_A")
  return copy_of(atom, mma, "a", mma:tv_layout_A(true), 0, "tiled_copy_A")
end

function M.tiled_copy_B(atom, mma)
  check_mma(mma, "tiled_copy_B")
  return copy_of(atom, mma, "b", mma:tv_layout_B(true), 1, "tiled_copy_B")
end

function M.tiled_copy_C(atom, mma)
  check_mma(mma, "tiled_copy_C")
  return make(atom, mma:tv_layout_C(), sizes_of(mma, 0, 1), "tiled_copy_C")
end

-- Another atom for the source's or the destination's side of a tiled copy.
function M.tiled_copy_S(atom, copy)
  check_copy(copy, "tiled_copy_S")
  return make(atom, copy:tv_layout_S(), copy.tiler, "tiled_copy_S")
end

function M.tiled_copy_D(atom, copy)
  check_copy(copy, "tiled_copy_D")
  return make(atom, copy:tv_layout_D(), copy.tiler, "tiled_copy_D")
end

-- {====== From tensors to threads and fragments ======

function TiledCopy:tile_shape()
  return self.tiler
end

function TiledCopy:size()
  return self.threads
end

-- Of a layout or tensor ((tile),(rest)): to (thread, values, rest), the values in the order of
-- `side`.
local function tile2thrfrg(copy, zipped, side)
  local target = composition(right_inverse(copy.val_ref), side)
  local tv = composition(by_atom_of(copy), { target, ANY }) -- ((thr,val),(rest_thr,rest_val))
  local function pair(i)
    return concat(get_mode(tv, { 0, i }), get_mode(tv, { 1, i }))
  end
  tv = coalesce(concat(pair(0), pair(1)), { 1, { 1, 1 } })
  return tiles.unfold(composition(zipped, { tv, ANY }))
end

local function tidfrg(copy, x, side, op)
  if tiles.stands_for_layout(x) then x = layout(x) end -- a tensor keeps its name
  tiles.check_divides(x, tiles.sizes(copy.tiler), op, "the copy's tile")
  return tile2thrfrg(copy, zipped_divide(x, copy.tiler), side)
end

function TiledCopy:tidfrg_S(x) return tidfrg(self, x, self.val_src, "tidfrg_S") end
function TiledCopy:tidfrg_D(x) return tidfrg(self, x, self.val_dst, "tidfrg_D") end

local function layout_tv_of(copy, side)
  local whole = concat(layout(copy.tiler), L"1:0")
  return slice({ ANY, ANY, 0 }, tile2thrfrg(copy, whole, side))
end

function TiledCopy:tv_layout_S() return layout_tv_of(self, self.val_src) end
function TiledCopy:tv_layout_D() return layout_tv_of(self, self.val_dst) end

-- A thread's fragment (V,M,N,...), made for something else with the same tile, as this copy's part.
local function retile(copy, x)
  local rank, n_values = rank(x), size(x, 0)
  local by_tile = composition(right_inverse(copy.layout_tv), layout(copy.tiler))
  local frg_mn = upcast(by_tile, copy.threads * n_values) -- (m,n) -> which group of values
  local frg_v = zipped_divide(logical_product(layout(n_values), right_inverse(frg_mn)),
    layout(size(copy.val_ref, 1))) -- (values of an atom, rest) -> (v,m,n)
  local tiler = tiles.sizes(frg_mn)
  table.insert(tiler, 1, n_values)
  local parts = composition(zipped_divide(x, tiler), { frg_v, ANY })
  local rest = tiles.wildcards(rank)
  rest[1] = 0
  return tiles.cut(parts, { ANY, rest })
end

-- {====== The view of one thread ======

function TiledCopy:get_slice(i)
  tiles.check_thread(i, self.threads, "get_slice")
  return setmetatable({ copy = self, thread = i }, thr_type)
end

local function partition(thr, x, side, op)
  tiles.check_part(x, op)
  local all = tidfrg(thr.copy, x, thr.copy[side], op)
  local n_rests = rank(get_mode(all.layout or all, 2))
  local rests = n_rests == 1 and ANY or tiles.wildcards(n_rests) -- as CuTe: (V,(RestM)) of one mode
  return tiles.of_thread(thr.thread, thr.copy.threads, tiles.cut(all, { thr.thread, ANY, rests }))
end

local function retile_of(thr, x, op)
  tiles.check_part(x, op)
  return retile(thr.copy, x)
end

function ThrCopy:partition_S(x) return partition(self, x, "val_src", "partition_S") end
function ThrCopy:partition_D(x) return partition(self, x, "val_dst", "partition_D") end
function ThrCopy:retile_S(x) return retile_of(self, x, "retile_S") end
function ThrCopy:retile_D(x) return retile_of(self, x, "retile_D") end
function TiledCopy:retile(x) return retile(self, x) end

-- {====== Text and pictures ======

function tiled_type:__tostring()
  local atom_text = tostring(self.atom):gsub("\n", "\n  ")
  return ("tiled copy, %d threads, tile %s\n  tv %s\n  %s"):format(self.threads, self.tiler,
    self.layout_tv, atom_text)
end

function thr_type:__tostring()
  return ("thread %s of %s"):format(self.thread, self.copy)
end

tiles.add_pictures(TiledCopy)

return M
