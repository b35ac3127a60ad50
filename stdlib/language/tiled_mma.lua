-- tiled_mma.lua: an MMA atom repeated over threads and values, as CuTe's TiledMMA
-- (include/cute/atom/mma_atom.hpp). thr_layout_vmnk counts the threads: (V,M,N,K), V in an atom.
-- thrfrg_A takes (M,K,...) to ((ThrV,(ThrM,ThrK)),(FrgV,(RestM,RestK,...))); a thread's part of
-- that is (FrgV,RestM,RestK,...).
local internal = ...
local plural = require "cuttle.plural"
local tiles = require "cuttle.tiles"
local M = {}

local ANY <const> = _

local TiledMMA, ThrMMA = {}, {} -- their methods

local tiled_type = tiles.new_type("tiled_mma", TiledMMA,
  { "atom", "atom_layout", "perm", "threads", "thr_layout_vmnk" })
local thr_type = tiles.new_type("thr_mma", ThrMMA, { "mma", "thr_vmnk" })
tiled_type.__constant, thr_type.__constant = true, true -- as an argument of a launch

-- Of each operand: its modes among M, N, K and the threads' modes among V, M, N, K, by number.
-- SFA and SFB are the scales of A and of B: one for each of a row's blocks along K.
local operands = {
  A = { modes = { 1, 3 }, layout = "layout_a", dtype = "a" },
  B = { modes = { 2, 3 }, layout = "layout_b", dtype = "b" },
  C = { modes = { 1, 2 }, layout = "layout_c", dtype = "c" },
  SFA = { modes = { 1, 3 }, layout = "layout_sfa", dtype = "sfa", is_scale = true },
  SFB = { modes = { 2, 3 }, layout = "layout_sfb", dtype = "sfb", is_scale = true },
}

-- {====== Making ======

local letters <const> = { "M", "N", "K" }

-- The layout of atoms with three modes.
local function to_atom_layout(x, op)
  local l = layout(x == nil and { 1, 1, 1 } or x)
  if rank(l) > 3 then
    tiles.fail(op, "the layout of atoms %s has rank %d; at most 3 modes (M,N,K) were expected", l,
      rank(l))
  end
  if rank(l) == 1 and type(shape(l)) ~= "table" then l = concat(l) end
  while rank(l) < 3 do l = append(l, L"1:0") end
  if size(l) == 0 then
    tiles.fail(op, "the layout of atoms %s has none; expected at least one", l)
  end
  if size(filter(l)) ~= cosize(l) or size(l) ~= cosize(l) then
    tiles.fail(op, "the layout of atoms %s does not number its %d atoms 0 to %d, each once", l,
      size(l), size(l) - 1)
  end
  return l
end

-- What mode i is permuted and tiled by: as given, or the atoms side by side.
local function to_permutation(perm, i, mma, op)
  local least = mma.atom.shape[i] * size(mma.thr_layout_vmnk, i)
  local given = perm[i]
  if given == nil or given == ANY then return least end
  local tiler = type(given) == "number" and given or layout(given)
  local n = size(tiler)
  if n % least ~= 0 then
    tiles.fail(op, "the permutation %s makes the tile's %s %d; expected a multiple of %d, which is "
      .. "%d times the atom's %d", tiler, letters[i], n, least, least // mma.atom.shape[i],
      mma.atom.shape[i])
  end
  return tiler
end

-- Why they are no permutations, or nil.
local function permutations_trouble(perm)
  if type(perm) ~= "table" then return "a " .. type(perm) end
  for key in pairs(perm) do
    if math.type(key) ~= "integer" then return ("a table with the key '%s'"):format(key) end
  end
  return #perm > 3 and #perm .. " tilers" or nil
end

-- tiled_mma(atom[, atom_layout[, permutations]])
function M.tiled_mma(atom, atom_layout, perm)
  local op <const> = "tiled_mma"
  local a = tiles.to_atom(atom, "mma", op)
  local mma = setmetatable({ atom = a, atom_layout = to_atom_layout(atom_layout, op) }, tiled_type)
  mma.thr_layout_vmnk = tiled_product(a.thr_id, mma.atom_layout)
  local trouble = perm ~= nil and permutations_trouble(perm)
  if trouble then
    tiles.fail(op, "the permutations are %s; a table of at most 3 tilers, of M, N and K, was "
      .. "expected", trouble)
  end
  mma.perm = {}
  for i = 1, 3 do mma.perm[i] = to_permutation(perm or {}, i, mma, op) end
  mma.threads = size(mma.thr_layout_vmnk)
  return mma
end

-- {====== Sizes ======

-- The tile of one step: (M,N,K).
function TiledMMA:tile_shape()
  return shape { size(self.perm[1]), size(self.perm[2]), size(self.perm[3]) }
end

function TiledMMA:tile_size_mnk(i)
  local tiler = self.perm[math.tointeger(i) and i + 1]
  if tiler == nil then
    tiles.fail("tile_size_mnk", "there is no mode %s; 0 (M), 1 (N) and 2 (K) were expected", i)
  end
  return size(tiler)
end

TiledMMA.tile_size = TiledMMA.tile_size_mnk

function TiledMMA:permutation_mnk(i)
  return self.perm[i + 1]
end

function TiledMMA:get_thr_layout_vmnk()
  return self.thr_layout_vmnk
end

function TiledMMA:size()
  return self.threads
end

-- {====== From tensors to threads and fragments ======

-- The tile's sizes of an operand.
local function tile_of(mma, row)
  return { size(mma.perm[row.modes[1]]), size(mma.perm[row.modes[2]]) }
end

-- Does an instruction take the operand as words of several elements: i4, u1, and f4e2m1 that is
-- not in bytes?
local function is_in_words(mma, row)
  return mma.atom.bits[row.dtype] < 8
end

-- Elements of the operand in one of the tensor: more than one of 4 bits and of 1, of which a tensor
-- of u32 has 8 or 32, consecutive in k, and of scales. A layout counts the atom's own elements.
local function per_element(mma, row, x, op)
  if row.is_scale then return mma.atom.sf_vec_size end
  local dtype = mma.atom.dtypes[row.dtype]
  local has_type = type(dtype) ~= "string" and not is_in_words(mma, row)
  if has_type or x.dtype == nil then return 1 end
  local bits = mma.atom.bits[row.dtype]
  if bits >= 8 then
    tiles.fail(op, "%s of %s has elements of type %s, which no tensor has here", row.dtype:upper(),
      mma.atom.name, dtype)
  elseif x.dtype ~= u32 and x.dtype ~= i32 then
    tiles.fail(op, "%s of %s has elements of type %s, %d in each u32 of a tensor; %s is a tensor "
      .. "of %s", row.dtype:upper(), mma.atom.name, dtype, 32 // bits, x.layout, x.dtype)
  end
  return 32 // bits
end

-- (thread, value) -> element of an atom's rows x k, `per` of which along k are one word. The values
-- of a tile in shared memory stay (rows, words); blocks that share it have their rows each.
local function in_words(l, rows, k, per, is_tile)
  local to_word = layout({ rows, per, k // per }, { 1, 0, rows })
  local words = composition(to_word, l)
  if is_tile then
    local blocks = get_mode(words, 0)
    return concat(blocks, layout({ rows // size(blocks), k // per }, { 1, rows }))
  end
  return concat(get_mode(words, 0), filter(get_mode(words, 1)))
end

local function check_has_scales(mma, row, op)
  if row.is_scale and not mma.atom.sf_vec_size then
    tiles.fail(op, "%s multiplies without scales; atoms whose names have _VS have them",
      mma.atom.name)
  end
end

-- A tensor of f4e2m1 as words, where the instruction takes words.
local function as_words(mma, row, x)
  local is = x.dtype == f4e2m1 and mma.atom.dtypes[row.dtype] == f4e2m1 and is_in_words(mma, row)
  return is and recast(x, u32) or x
end

-- The atom's layout of an operand, and what divides the tensor's modes: the permutations of the
-- tile, and the sizes of the atom.
local function shares_of(mma, row, per, op)
  local i, k = row.modes[1], row.modes[2]
  local shape, perm = mma.atom.shape, mma.perm
  local l = mma.atom[row.layout]
  if per == 1 then
    return l, { perm[i], perm[k] }, { layout(shape[i]), layout(shape[k]) }
  end
  if type(perm[k]) ~= "number" then
    tiles.fail(op, "the permutation of K is %s; of words or blocks of %d elements it must be a "
      .. "number", perm[k], per)
  end
  local is_tile = mma.atom.spaces[row.dtype] == "shared"
  local of = row.is_scale and l or in_words(l, shape[i], shape[k], per, is_tile)
  return of, { perm[i], perm[k] // per },
    { layout(shape[i]), layout(shape[k] // per) }
end

-- `per` elements of the operand in one of x; nil: as many as x's type has.
local function thrfrg(mma, name, x, op, per)
  local row = operands[name]
  local i, k = row.modes[1], row.modes[2]
  local threads = mma.thr_layout_vmnk
  check_has_scales(mma, row, op)
  if tiles.stands_for_layout(x) then x = layout(x) end -- a tensor keeps its name
  x = as_words(mma, row, x)
  per = per or per_element(mma, row, x, op)
  local tile = tile_of(mma, row)
  tile[2] = tile[2] // per
  tiles.check_divides(x, tile, op, ("the tile of the MMA's %s"):format(name))
  local l, perm, sizes = shares_of(mma, row, per, op)
  local permuted = logical_divide(x, perm)
  local by_atom = zipped_divide(permuted, sizes)
  local tv = composition(by_atom, { l, ANY }) -- ((ThrV,FrgV),(Rest...))
  return zipped_divide(tv, { ANY, { layout(size(threads, i)),
    layout(size(threads, k)) } })
end

function TiledMMA:thrfrg_A(x) return thrfrg(self, "A", x, "thrfrg_A") end
function TiledMMA:thrfrg_B(x) return thrfrg(self, "B", x, "thrfrg_B") end
function TiledMMA:thrfrg_C(x) return thrfrg(self, "C", x, "thrfrg_C") end
function TiledMMA:thrfrg_SFA(x) return thrfrg(self, "SFA", x, "thrfrg_SFA") end
function TiledMMA:thrfrg_SFB(x) return thrfrg(self, "SFB", x, "thrfrg_SFB") end

-- From a thread's number to its place in (V,M,N,K), counted.
local function thread_places(mma)
  local threads = mma.thr_layout_vmnk
  local all = concat(threads, complement(threads)) -- with those that take no part between
  return composition(layout({ size(threads), 1 }, { 1, 0 }), right_inverse(all))
end

-- Elements of the operand in a word; 1 if it is not taken in words.
local function per_word(mma, row)
  return is_in_words(mma, row) and 32 // mma.atom.bits[row.dtype] or 1
end

-- From (thread, value) to the tile of an operand, or to its words. A does not depend on the
-- thread's N, B not on M.
local function layout_tv(mma, name, by_word)
  local threads, places = mma.thr_layout_vmnk, { thread_places(mma), ANY }
  local row, op = operands[name], "tv_layout_" .. name
  check_has_scales(mma, row, op)
  local tile = tile_of(mma, row)
  local per = row.is_scale and mma.atom.sf_vec_size or by_word and per_word(mma, row) or 1
  tile[2] = tile[2] // per
  local tv = thrfrg(mma, name, layout(tile), op, per)
  if name ~= "C" then
    local mn = { size(threads, 1), size(threads, 2) }
    local one = layout(mn, row.modes[1] == 1 and { 1, 0 } or { 0, 1 })
    tv = composition(tv, { { ANY, { one, ANY } }, ANY })
  end
  return composition(tv, places)
end

function TiledMMA:tv_layout_A(by_word) return layout_tv(self, "A", by_word) end
function TiledMMA:tv_layout_B(by_word) return layout_tv(self, "B", by_word) end
function TiledMMA:tv_layout_C() return layout_tv(self, "C") end
function TiledMMA:tv_layout_SFA() return layout_tv(self, "SFA") end
function TiledMMA:tv_layout_SFB() return layout_tv(self, "SFB") end

-- A thread's part of ((ThrV,(Thr,Thr)),(FrgV,(Rest...))).
local function part_of(mma, name, x, vmnk, op)
  local row, all = operands[name], thrfrg(mma, name, x, op)
  local crd = { vmnk[1], { vmnk[row.modes[1] + 1], vmnk[row.modes[2] + 1] } }
  local n_rests = rank(get_mode(all.layout or all, { 1, 1 }))
  return tiles.cut(all, { crd, { ANY, tiles.wildcards(n_rests) } })
end

local function partition_shape(mma, name, of, op)
  return shape((part_of(mma, name, layout(of), { 0, 0, 0, 0 }, op)))
end

for letter in pairs(operands) do
  local name = "partition_shape_" .. letter
  TiledMMA[name] = function(self, shape) return partition_shape(self, letter, shape, name) end
end

-- {====== Fragments ======

-- In the order of the part's strides; but an instruction wants a place for each element, also of
-- those that are one in memory.
local function layout_like(mma, l)
  local like = fragment_layout_like(l.layout) -- without a swizzle
  if mma.atom.family ~= "fma" and size(like) ~= cosize(like) then
    return layout(shape(l))
  end
  return like
end

-- Registers for a thread's part: of A and B in the order of the part's strides, of C compact. What
-- an atom reads from shared memory is no copy but the part itself.
local function fragment_of(mma, name, part, op)
  local row = operands[name]
  if mma.atom.spaces[row.dtype] == "shared" then return part end
  local dtype = mma.atom.dtypes[row.dtype]
  if dtype == tf32 and part.dtype == f32 then dtype = f32 end -- its upper bits are read
  if is_in_words(mma, row) and part.dtype ~= nil then
    dtype = u32
  elseif type(dtype) == "string" then
    tiles.fail(op, "%s of %s has elements of type %s, which no tensor has here", name,
      mma.atom.name, dtype)
  end
  local l = part.dtype ~= nil and part.layout or part
  if not internal.kernel.is_static(size(l)) then
    tiles.fail(op, "the thread's part %s of %s has a dynamic shape; tile it first, or trace the "
      .. "kernel with {static_shapes = true}", l, name)
  end
  local is_compact = name == "C" or row.is_scale -- the scales of an atom side by side
  return tiles.registers(part, dtype, is_compact and layout(shape(l)) or layout_like(mma, l))
end

for letter in pairs(operands) do
  local name = "fragment_" .. letter
  TiledMMA[name] = function(self, part) return fragment_of(self, letter, part, name) end
  ThrMMA[name] = function(self, part) return fragment_of(self.mma, letter, part, name) end
end

-- {====== Sums as the next product's A ======

-- A thread holds of C what it holds of A where both atoms have the same rows and the same threads
-- have the columns: from (value, atom of K) to (value, atom of N).
local function values_of_A(mma, from, n_atoms, op)
  local a, c = mma.atom, from.atom
  local columns = c.shape[2] * n_atoms
  local like = "so the sums of one cannot be an operand of the other"
  if a.spaces.a == "shared" then
    tiles.fail(op, "%s reads A from shared memory; use the atom that reads A from registers",
      a.name)
  elseif a.shape[1] ~= c.shape[1] or size(mma.thr_layout_vmnk, 1)
    ~= size(from.thr_layout_vmnk, 1) then
    tiles.fail(op, "%s and %s differ in rows, %s", a.name, c.name, like)
  elseif size(from.thr_layout_vmnk, 2) > 1 or columns % a.shape[3] ~= 0 then
    tiles.fail(op, "a thread's %d columns of C are not whole atoms of %s, whose K is %d, %s",
      columns, a.name, a.shape[3], like)
  end
  local in_c = concat(get_mode(c.layout_c, 1), layout(n_atoms, c.shape[1] * c.shape[2]))
  local in_a = concat(get_mode(a.layout_a, 1),
    layout(columns // a.shape[3], a.shape[1] * a.shape[3]))
  local values = composition(left_inverse(in_c), in_a)
  for i = 0, size(in_a) - 1 do
    if values(i) >= size(in_c) or in_c(values(i)) ~= in_a(i) then
      tiles.fail(op, "a thread of %s holds other columns than one of %s, %s", c.name, a.name, like)
    end
  end
  return values
end

-- (V,M,N) of C as (V,M,K) of A: a view of the same registers. `from` made C; the MMA itself if nil.
local function retile_A(mma, x, from)
  local op <const> = "retile_A"
  from = from == nil and mma or from.mma or from
  if x.layout == nil or rank(x) ~= 3 then
    tiles.fail(op, "%s is not a part (V,M,N), as partition_fragment_C makes them", tostring(x))
  end
  local l = x.layout
  local values = values_of_A(mma, from, size(l, 2), op)
  local by_value = composition(concat(get_mode(l, 0), get_mode(l, 2)), values)
  return view(x, concat(get_mode(by_value, 0), get_mode(l, 1), get_mode(by_value, 1)))
end

function TiledMMA:retile_A(x, from) return retile_A(self, x, from) end
function ThrMMA:retile_A(x, from) return retile_A(self.mma, x, from) end

-- {====== The view of one thread ======

function TiledMMA:get_slice(i)
  tiles.check_thread(i, cosize(self.thr_layout_vmnk), "get_slice")
  local crd = idx2crd(i, self.thr_layout_vmnk)
  local vmnk = {}
  for mode = 1, 4 do -- each as one number
    local c = crd[mode]
    vmnk[mode] = type(c) == "table" and crd2idx(c, shape(self.thr_layout_vmnk, mode - 1)) or c
  end
  return setmetatable({ mma = self, thread = i, thr_vmnk = vmnk }, thr_type)
end

for letter in pairs(operands) do
  local partition, fragment = "partition_" .. letter, "partition_fragment_" .. letter
  ThrMMA[partition] = function(self, x)
    tiles.check_part(x, partition)
    return tiles.of_thread(self.thread, cosize(self.mma.thr_layout_vmnk),
      part_of(self.mma, letter, x, self.thr_vmnk, partition))
  end
  ThrMMA[fragment] = function(self, x)
    tiles.check_part(x, fragment)
    local part = part_of(self.mma, letter, x, self.thr_vmnk, fragment)
    return fragment_of(self.mma, letter, part, fragment)
  end
end

-- {====== Text and pictures ======

function tiled_type:__tostring()
  local perm = {}
  for i = 1, 3 do perm[i] = tostring(self.perm[i]) end
  local atom_text = tostring(self.atom):gsub("\n", "\n  ")
  return ("tiled MMA, %s, tile %s\n  thr_vmnk %s\n  perm <%s>\n  %s"):format(
    plural(self.threads, "thread"), self:tile_shape(), self.thr_layout_vmnk,
    table.concat(perm, ","), atom_text)
end

function thr_type:__tostring()
  local crd = {}
  for i = 1, 4 do crd[i] = tostring(self.thr_vmnk[i]) end
  return ("thread (V,M,N,K) = (%s) of %s"):format(table.concat(crd, ","), self.mma)
end

tiles.add_pictures(TiledMMA)

return M
