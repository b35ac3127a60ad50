-- pieces.lua: which elements of one rank's part under one sharding lie in another rank's part under
-- another, and copies of them between rows of memory.
--   spread  a sharding with strides: {mesh =, shape =, modes =}; each mode is a list of factors,
--           fastest first: {extent =, axis =} or {extent =, stride =}
--   atom    a piece of a factor of both spreads: {extent =, from =, to =}; each side is
--           {axis =, weight =}, a digit of the coordinate on an axis, or {stride =}
--   box     {src =, dst =, dims =}: first elements, and {extent, stride of src, stride of dst}
local internal = ...
local shardings = require "cuttle.sharding"
local M = {}

-- {====== Spreads ======

--- A sharding with the strides of its parts.
function M.spread(s)
  local strides, modes = shardings.strides(s), {}
  for i, factors in ipairs(s.modes) do
    modes[i] = {}
    for j, f in ipairs(factors) do
      modes[i][j] = { extent = f.extent, axis = f.axis, stride = not f.axis and strides[f] or nil }
    end
  end
  return { mesh = s.mesh, shape = s.shape, modes = modes }
end

--- A whole tensor in one memory, one stride for each mode.
function M.whole(shape, strides)
  local modes = {}
  for i, n in ipairs(shape) do modes[i] = { { extent = n, stride = strides[i] } } end
  return { shape = shape, modes = modes }
end

-- {====== Atoms ======

local function side(factor, weight)
  if factor.axis then return { axis = factor.axis, weight = weight } end
  return { stride = factor.stride * weight }
end

-- The atoms of one mode; nil if the factors of the two do not divide each other.
local function mode_atoms(from, to)
  local atoms, i, j, a, b = {}, 1, 1, from[1].extent, to[1].extent
  local wa, wb = 1, 1
  while true do
    while a == 1 and from[i + 1] do i, wa, a = i + 1, 1, from[i + 1].extent end
    while b == 1 and to[j + 1] do j, wb, b = j + 1, 1, to[j + 1].extent end
    local n = math.min(a, b)
    if n == 1 then return a == b and atoms or nil end
    if a % n ~= 0 or b % n ~= 0 then return nil end
    atoms[#atoms + 1] = { extent = n, from = side(from[i], wa), to = side(to[j], wb) }
    a, wa, b, wb = a // n, wa * n, b // n, wb * n
  end
end

--- The atoms of all modes in one list; nil if there are none for some mode.
function M.atoms(from, to)
  local all = {}
  for i, factors in ipairs(from.modes) do
    local atoms = mode_atoms(factors, to.modes[i])
    if not atoms then return nil end
    table.move(atoms, 1, #atoms, #all + 1, all)
  end
  return all
end

--- The digit of an atom's side at a rank.
function M.digit(spread, rank, at, extent)
  return spread.mesh:digit(rank, at.axis) // at.weight % extent
end

-- The one box of a mode that has atoms; none if the ranks have no element in common.
local function atom_boxes(atoms, from, q, to, r)
  local box = { src = 0, dst = 0, dims = {} }
  for _, atom in ipairs(atoms) do
    local a = atom.from.axis and M.digit(from, q, atom.from, atom.extent)
    local b = atom.to.axis and M.digit(to, r, atom.to, atom.extent)
    if a and b then
      if a ~= b then return {} end
    elseif a then
      box.dst = box.dst + a * atom.to.stride
    elseif b then
      box.src = box.src + b * atom.from.stride
    else
      table.insert(box.dims, { atom.extent, atom.from.stride, atom.to.stride })
    end
  end
  return { box }
end

-- {====== Runs: modes whose factors do not divide each other ======

-- Adds to `runs` those of the factors from k on, for the elements from g on, at `at` in memory.
local function add_runs(runs, factors, digits, k, weights, g, at, n)
  local f = factors[k]
  if k == 0 then
    if g < n then runs[#runs + 1] = { g = g, n = 1, at = at, step = 0 } end
  elseif f.axis then
    add_runs(runs, factors, digits, k - 1, weights, g + digits[k] * weights[k], at, n)
  elseif k == 1 then
    local size = math.min(f.extent, n - g)
    if size > 0 then runs[#runs + 1] = { g = g, n = size, at = at, step = f.stride } end
  else
    for i = 0, f.extent - 1 do
      add_runs(runs, factors, digits, k - 1, weights, g + i * weights[k], at + i * f.stride, n)
    end
  end
end

-- Elements of a mode that follow one another in the tensor and are one stride apart in the part of
-- a rank: {g = first in the tensor, n =, at = in memory, step =}, ascending. Padding is left out.
local function runs_of(spread, i, rank)
  local factors, digits, weights, weight = spread.modes[i], {}, {}, 1
  for k, f in ipairs(factors) do
    digits[k] = f.axis and spread.mesh:digit(rank, f.axis) or false
    weights[k], weight = weight, weight * f.extent
  end
  local runs = {}
  add_runs(runs, factors, digits, #factors, weights, 0, 0, spread.shape[i])
  return runs
end

-- What two lists of runs have in common: {src, dst, n, step of src, step of dst}.
local function common_runs(a, b)
  local out, i, j = {}, 1, 1
  while a[i] and b[j] do
    local x, y = a[i], b[j]
    local lo, x_end, y_end = math.max(x.g, y.g), x.g + x.n, y.g + y.n
    local n = math.min(x_end, y_end) - lo
    if n > 0 then
      out[#out + 1] = { x.at + (lo - x.g) * x.step, y.at + (lo - y.g) * y.step, n, x.step, y.step }
    end
    if x_end <= y_end then i = i + 1 end
    if y_end <= x_end then j = j + 1 end
  end
  return out
end

local function is_like(a, b)
  return b and a[3] == b[3] and a[4] == b[4] and a[5] == b[5]
end

-- The last of the runs from i on that are equal and at equal distances in both memories, upwards.
local function last_alike(common, i)
  local a, b, last = common[i], common[i + 1], i
  if not is_like(a, b) or b[1] < a[1] or b[2] < a[2] then return i end
  while is_like(a, common[last + 1]) and common[last + 1][1] - common[last][1] == b[1] - a[1]
    and common[last + 1][2] - common[last][2] == b[2] - a[2] do
    last = last + 1
  end
  return last
end

-- Runs at equal distances are one box.
local function boxes_of(common)
  local boxes, i = {}, 1
  while common[i] do
    local a, b, last = common[i], common[i + 1], last_alike(common, i)
    local dims = { { a[3], a[4], a[5] } }
    if last > i then dims[2] = { last - i + 1, b[1] - a[1], b[2] - a[2] } end
    boxes[#boxes + 1] = { src = a[1], dst = a[2], dims = dims }
    i = last + 1
  end
  return boxes
end

-- {====== Boxes ======

-- Neighbours in both memories become one, in the order of the destination's memory.
local function coalesce(box)
  local dims = {}
  for _, d in ipairs(box.dims) do
    if d[1] ~= 1 then dims[#dims + 1] = d end
  end
  table.sort(dims, function(a, b) return a[3] < b[3] end)
  box.dims = {}
  for _, d in ipairs(dims) do
    local last = box.dims[#box.dims]
    if last and d[2] == last[2] * last[1] and d[3] == last[3] * last[1] then
      last[1] = last[1] * d[1]
    else
      table.insert(box.dims, { d[1], d[2], d[3] })
    end
  end
  return box
end

local function product(lists, i)
  if i > #lists then return { { src = 0, dst = 0, dims = {} } } end
  local rest, out = product(lists, i + 1), {}
  for _, a in ipairs(lists[i]) do
    for _, b in ipairs(rest) do
      local dims = table.move(a.dims, 1, #a.dims, 1, {})
      table.move(b.dims, 1, #b.dims, #dims + 1, dims)
      out[#out + 1] = { src = a.src + b.src, dst = a.dst + b.dst, dims = dims }
    end
  end
  return out
end

--- The boxes of elements that the part of q under `from` and the part of r under `to` share.
function M.boxes(from, q, to, r)
  local lists = {}
  for i, factors in ipairs(from.modes) do
    local atoms = mode_atoms(factors, to.modes[i])
    lists[i] = atoms and atom_boxes(atoms, from, q, to, r)
      or boxes_of(common_runs(runs_of(from, i, q), runs_of(to, i, r)))
    if #lists[i] == 0 then return {} end
  end
  local boxes = product(lists, 1)
  for _, box in ipairs(boxes) do coalesce(box) end
  return boxes
end

--- A box of dims alone.
function M.box(dims) return coalesce { src = 0, dst = 0, dims = dims } end

function M.size(box)
  local n = 1
  for _, d in ipairs(box.dims) do n = n * d[1] end
  return n
end

--- Do the elements lie in one row, in the same order, in both memories?
function M.is_row(box)
  local d = box.dims[1]
  return #box.dims == 0 or (#box.dims == 1 and d[2] == 1 and d[3] == 1)
end

--- Is nothing moved at all?
function M.is_identity(box) return M.is_row(box) and box.src == box.dst end

-- {====== Copies ======

local pack = kernel("mesh_copy", function(src, dst)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(dst) then dst[i] = src[i] end
end)

local THREADS <const> = 256
local WORD <const> = 8 -- bytes of a u64

-- The same box in words, if all its elements lie in whole ones; else nil.
local function in_words(box, bytes)
  local n, first = WORD // bytes, box.dims[1]
  if n == 1 or first[2] ~= 1 or first[3] ~= 1 or first[1] % n ~= 0 or box.src % n ~= 0
    or box.dst % n ~= 0 then
    return nil
  end
  local dims = { { first[1] // n, 1, 1 } }
  for i = 2, #box.dims do
    local d = box.dims[i]
    if d[2] % n ~= 0 or d[3] % n ~= 0 then return nil end
    dims[i] = { d[1], d[2] // n, d[3] // n }
  end
  return { src = box.src // n, dst = box.dst // n, dims = dims }
end

-- What copies of a box as elements of a type have in common: both layouts, and the launch.
local function new_way(box, dtype)
  local extents, from, to = {}, {}, {}
  for i, d in ipairs(box.dims) do extents[i], from[i], to[i] = d[1], d[2], d[3] end
  return { dtype = dtype, src = box.src, dst = box.dst, from = layout(extents, from),
    to = layout(extents, to),
    launch = pack { grid = (M.size(box) + THREADS - 1) // THREADS, block = THREADS } }
end

-- The ways to copy a box of elements of a type, the best first: as words, as they are.
local function ways_of(box, dtype)
  box.ways = box.ways or {}
  local ways = box.ways[dtype]
  if not ways then
    local words, plain = in_words(box, dtype.bytes), new_way(box, dtype)
    ways = words and { new_way(words, u64), plain } or { plain }
    box.ways[dtype] = ways
  end
  return ways
end

-- false: a row does not begin at such an element.
local function copy_as(way, src, dst)
  local a = internal.mesh.view(src, way.src, way.from, way.dtype)
  local b = internal.mesh.view(dst, way.dst, way.to, way.dtype)
  if not (a and b) then return false end
  local is_on_host = dst.device == "cpu" and not internal.launch.graph_recording()
  if is_on_host or src.device ~= dst.device then
    copy(a, b)
  else
    way.launch(a, b)
  end
  a:close() -- else they would hold the memory of rows that are closed
  b:close()
  return true
end

--- Copies a box from one row to another; they lie on one device. The box keeps how to do it: it
--- does not change any more.
function M.copy(box, src, dst)
  if not box.n then box.n, box.row = M.size(box), M.is_row(box) end
  if box.n == 0 then return end
  if box.row then return internal.mesh.copy(dst, box.dst, src, box.src, box.n) end
  for _, way in ipairs(ways_of(box, src.dtype)) do
    if copy_as(way, src, dst) then return end
  end
end

return M
