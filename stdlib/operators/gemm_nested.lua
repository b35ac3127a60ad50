-- gemm_nested.lua: matrices of matmul whose rows, columns or batches are modes of modes with more
-- than one stride, as those of a tensor contraction and of the windows of a convolution. No tile of
-- such a matrix has strides of its own, so threads gather it: the place in memory of a row plus
-- that of a column, which are computed for each row once in a kernel and for each column once in a
-- tile. From shared memory on, the tile is like any other.
--
-- Where the modes of K divide evenly into tiles, all tiles lie alike in memory, and a column is
-- that of the first tile plus the tile's own place: then no tile divides.
--
-- A template that takes them (takes_nested) has variant.nested_A, nested_B and nested_C, which are
-- nil, or how many adjacent elements lie adjacent in memory wherever a tile is cut into as many:
-- the most that are read at once. variant.even_A and even_B say whether K divides evenly.
local internal = ...
local indexed = require "cuttle.gemm_indexed"
local M = {}

local WIDE_BITS <const> = 128
local OUTSIDE <const> = 1 -- of one vector, a number that reads as 0 and is not written

-- {====== On the host ======

-- Does n divide all extents or strides of a mode but those of its first part?
local function divides_rest(n, steps, first)
  if type(steps) ~= "table" then return first or steps % n == 0 end
  for i, step in ipairs(steps) do
    if not (i == 1 and first) and step % n ~= 0 then return false end
  end
  return true
end

local function first_of(x) return type(x) == "table" and x[1] or x end

--- How many elements of a matrix, contiguous along its mode `along`, are read at once: `modes` has
--- {shape, stride} of each, an integer or a table of integers.
function M.vector(tensor, modes, along)
  local n = WIDE_BITS // tensor.dtype.bits
  local address = internal.launch.address(tensor)
  local inner = modes[along]
  if first_of(inner[2]) ~= 1 then return 1 end
  local function fits()
    if address % (n * tensor.dtype.bytes) ~= 0 or first_of(inner[1]) % n ~= 0 then return false end
    for i, m in ipairs(modes) do
      if not divides_rest(n, m[2], i == along) then return false end
    end
    return true
  end
  while n > 1 and not fits() do n = n // 2 end
  return n
end

--- Do tiles of n along a mode of this shape, an integer or a table, lie alike? Each has whole parts
--- of the mode, and an equal part of one more.
function M.is_even(extents, n)
  if type(extents) ~= "table" then return extents % n == 0 end
  for _, extent in ipairs(extents) do
    if extent % n == 0 then return true end
    if extent == 0 or n % extent ~= 0 then return false end
    n = n // extent
  end
  return n == 1
end

-- {====== In a kernel ======

--- The coordinates of the elements of a matrix, in place of its elements.
function M.places(matrix) return identity_tensor(indexed.extents(matrix)) end

--- What reads and writes a nested matrix in vectors of n adjacent elements. Parts of it come as
--- coordinates (V,X,Y): rows depend on mode `ways[1]` of these and columns on `ways[2]`; V are
--- adjacent rows (mode 0 of the matrix) or columns (1), by `along`.
function M.gather(variant, matrix, n, along, ways)
  local of = indexed.is(matrix) and matrix or nil
  local tensor = of and of.tensor or matrix
  return { matrix = tensor, n = n, along = along, ways = ways, ragged = variant.ragged,
           extent = indexed.extents(matrix), source = matrix,
           indexed = of and of.index and of.mode + 1, adds = of and variant.scatter == "add",
           offsets = {get_mode(tensor.layout, 0), get_mode(tensor.layout, 1)} }
end

-- Where a row (which = 1) or column (2) begins, in vectors, and whether there is such a one.
-- Columns of even tiles are all there.
local function begin(gather, which, i)
  if which == gather.indexed then
    local place, is_there = indexed.place(gather.source, i)
    return { offset = gather.offsets[which](place) // gather.n, is_inside = is_there }
  end
  local at = { offset = gather.offsets[which](i) // gather.n }
  if gather.ragged and not (which == 2 and gather.even) then
    at.is_inside = i < gather.extent[which]
  end
  return at
end

local function is_inside(row, column)
  if column.is_inside == nil then return row.is_inside end
  return row.is_inside and column.is_inside
end

-- Writes registers to a vector of the matrix.
local function put(gather, part, vector)
  if gather.adds then atomic_add(vector, 0, part[0]) else copy(part, vector) end
end

-- Where a tile overhangs, the vector is one of a guarded tensor that has no other.
local function vector_at(gather, row, column)
  local n, first = gather.n, (row.offset + column.offset) * gather.n
  if not gather.ragged then return view(gather.matrix, layout{n}, first) end
  local alone = guard(view(gather.matrix, layout({n, 1}, {1, n}), first))
  return alone(_, where(is_inside(row, column), 0, OUTSIDE))
end

-- The rows or columns of places (V,X,Y), computed when they are asked for: by the number of the
-- vector along V, and of what varies.
local function begins(gather, places, which)
  local list, way, has_vectors = {}, gather.ways[which], which == gather.along + 1
  return function(v, i)
    local first = has_vectors and v * gather.n or 0
    local id = first * size(places, way) + i
    if list[id] == nil then
      local at = {first, 0, 0}
      at[way + 1] = i
      list[id] = begin(gather, which, places[at][which])
    end
    return list[id]
  end
end

-- The same, computed now.
local function all_begins(gather, places, which)
  local get = begins(gather, places, which)
  for v = 0, size(places, 0) // gather.n - 1 do
    for i = 0, size(places, gather.ways[which]) - 1 do get(v, i) end
  end
  return get
end

--- The rows of places (V,X,Y), for fetch and store.
function M.rows(gather, places) return all_begins(gather, places, 1) end

-- Calls f(vector of the matrix, the same of `like`) for places (V,X,Y) number first to last,
-- counted along X and Y. `column` gives their columns.
local function each(gather, row, column, places, like, first, last, f)
  local n, ways = gather.n, gather.ways
  for v = 0, size(places, 0) // n - 1 do
    for i = first, last do
      local at = { i % size(places, 1), i // size(places, 1) }
      local part = like(_, at[1], at[2])
      if size(part) > n then part = tile(part, {n}, {v}) end
      f(vector_at(gather, row(v, at[ways[1]]), column(v, at[ways[2]])), part)
    end
  end
end

local function last_of(places) return size(places, 1) * size(places, 2) - 1 end

--- Copies what is at `places` to a tensor shaped so, whose rows M.rows gave.
function M.fetch(gather, rows, places, to)
  each(gather, rows, begins(gather, places, 2), places, to, 0, last_of(places), copy)
end

--- The other way round.
function M.store(gather, rows, places, from)
  each(gather, rows, begins(gather, places, 2), places, from, 0, last_of(places),
    function(vector, part) put(gather, part, vector) end)
end

-- {====== Tiles on their way to shared memory ======

--- The tiles of an operand, of `extent`, that lie at number `at` of its rows: of a nested one their
--- places.
function M.tiles(variant, name, matrix, extent, at)
  if variant["nested_" .. name] then return tile(M.places(matrix), extent, {at, _}) end
  return tile(matrix, extent, {at, _})
end

-- The columns of an even tile that begins at column `first`, of those of tile 0.
local function columns_of_tile(gather, columns, first)
  local offset = gather.offsets[2](first) // gather.n
  return function(v, i) return { offset = columns(v, i).offset + offset } end
end

local majors <const> = { A = "a_major", B = "b_major" }

--- What brings a thread's parts (V,M,K,k) of a nested operand's places, of V adjacent elements:
--- f(k, to) copies tile k to a tensor (V,M,K), and f(k, to, i) part i of its M and K. nil of an
--- operand that is not nested.
function M.bringer(variant, name, matrix, places)
  if not variant["nested_" .. name] then return nil end
  local n = math.min(variant["nested_" .. name], size(places, 0))
  local along = variant[majors[name]] == "k" and 1 or 0
  local gather = M.gather(variant, matrix, n, along, {1, 2})
  gather.even = variant["even_" .. name]
  local first = places(_, _, _, 0)
  local rows, columns = M.rows(gather, first), gather.even and all_begins(gather, first, 2)
  return function(k, to, i)
    local of_tile = places(_, _, _, k)
    local column = columns and columns_of_tile(gather, columns, k * variant.tile[3])
      or begins(gather, of_tile, 2)
    each(gather, rows, column, of_tile, to, i or 0, i or last_of(of_tile), copy)
  end
end

-- {====== Single elements ======

--- A nested matrix whose elements are read and written one by one.
function M.elements(variant, matrix) return M.gather(variant, matrix, 1, 0, {1, 2}) end

local function element(gather, place)
  return vector_at(gather, begin(gather, 1, place[1]), begin(gather, 2, place[2]))
end

--- A thread's part (V,M,N) of a tile of C, number `at`, as gemm_epilogue.store takes it.
function M.part_of_C(variant, thr, matrix, at)
  if variant.nested_C then return M.elements(variant, matrix) end
  return thr:partition_C(tile(matrix, {variant.tile[1], variant.tile[2]}, at))
end

--- A tile of C, number `at`, seen as (columns,rows), as gemm_epilogue.staged takes it.
function M.tile_of_C(variant, matrix, at)
  if not variant.nested_C then
    return select(tile(matrix, {variant.tile[1], variant.tile[2]}, at), 1, 0)
  end
  local n = math.min(variant.nested_C, WIDE_BITS // variant.c_dtype.bits)
  return M.gather(variant, matrix, n, 0, {2, 1})
end

--- Writes one element.
function M.write_at(gather, place, value)
  if gather.adds then
    atomic_add(element(gather, place), 0, value)
  else
    element(gather, place)[0] = value
  end
end

--- Reads the elements at `places` into registers.
function M.read(gather, places, to)
  for i in range(size(to)) do to[i] = element(gather, places[i])[0] end
end

--- Writes registers to the elements at `places`.
function M.write(gather, places, from)
  for i in range(size(from)) do M.write_at(gather, places[i], from[i]) end
end

return M
