-- device_copy.lua: copies between tensors of one device whose layouts differ, by kernels: what the
-- loops of bind_move.c do, without the host. Elements move by 16 bytes, where the layouts allow it.
-- If each tensor is contiguous along a mode of its own, tiles turn in shared memory.
local arguments = require "cuttle.arguments"
local tiles = require "cuttle.tiles"
local M = {}

-- Fewer elements go through the host: that takes less time than to compile a kernel once.
M.least = 1 << 16

local THREADS <const>, EACH <const>, MOST_BLOCKS <const> = 256, 4, 65535
local LEAST_TURNED <const> = 8 -- along both modes
local VECTOR_BITS <const> = 128

-- {====== Kernels ======

-- Modes: a vector, all others. wide: numbers of vectors need 64 bits.
local in_order = kernel("copy_elements", function(from, to, wide)
  local block, vectors = wide and cast(blockIdx.x, i64) or blockIdx.x, {}
  local first = block * (THREADS * EACH) + threadIdx.x
  for k in unroll(EACH) do
    vectors[k] = fragment(to.dtype, size(to, 0))
    local i = first + k * THREADS
    if i < size(to, 1) then copy(from(_, i), vectors[k]) end
  end
  for k in unroll(EACH) do
    local i = first + k * THREADS
    if i < size(to, 1) then copy(vectors[k], to(_, i)) end
  end
end)

-- The same, of one value.
local filled = kernel("fill_elements", function(value, to, wide)
  local block = wide and cast(blockIdx.x, i64) or blockIdx.x
  local vector = fragment(to.dtype, size(to, 0))
  local first = block * (THREADS * EACH) + threadIdx.x
  fill(vector, to.dtype == bool and value or cast(value, to.dtype))
  for k in unroll(EACH) do
    local i = first + k * THREADS
    if i < size(to, 1) then copy(vector, to(_, i)) end
  end
end)

-- Modes: contiguous in `to`, contiguous in `from`, all others.
local turned = kernel("copy_turned", function(from, to, side)
  local s = shared(to.dtype, layout({ side, side }, { 1, side + 1 }))
  local i, j, tiler, step = threadIdx.x, threadIdx.y, { side, side }, THREADS // side
  for rest in range(blockIdx.z, size(to, 2), gridDim.z) do
    local source = tile(guard(from(_, _, rest)), tiler, { blockIdx.x, blockIdx.y })
    local target = tile(guard(to(_, _, rest)), tiler, { blockIdx.x, blockIdx.y })
    for k in unroll(0, side, step) do s[{ j + k, i }] = source[{ j + k, i }] end
    sync_threads()
    for k in unroll(0, side, step) do target[{ i, j + k }] = s[{ i, j + k }] end
    sync_threads()
  end
end)

-- {====== Both layouts as modes {extent, to, from} ======

-- Of layouts with the same extents, in the order of `to`; a mode that continues the one before it
-- in both is a part of that.
local function modes_of(to, from)
  local extents, a, b, modes = shape(from), to.stride, from.stride, {}
  for i = 1, #extents do
    if extents[i] > 1 then table.insert(modes, { extents[i], a[i], b[i] }) end
  end
  table.sort(modes, function(x, y) return x[2] < y[2] end)
  local merged = {}
  for _, mode in ipairs(modes) do
    local last = merged[#merged]
    if last and mode[2] == last[1] * last[2] and mode[3] == last[1] * last[3] then
      last[1] = last[1] * mode[1]
    else
      merged[#merged + 1] = mode
    end
  end
  return merged
end

-- Flat and of two modes or more, so that extents and strides are tables.
local function flat(l) return append(flatten(l), "1:0") end

-- As both layouts lie along the memory of `to`, if it has no gaps; else by the modes of `to`, cut
-- where those of `from` end.
local function paired(to, from)
  local inverse = right_inverse(to)
  if size(inverse) == size(to) then
    from = flat(coalesce(composition(from, inverse)))
    return modes_of(layout(shape(from)), from)
  end
  from = flat(composition(from, layout(shape(flat(to)))))
  return modes_of(composition(to, layout(shape(from))), from)
end

-- Are there no two elements in one place? Of modes in the order of `to`.
local function is_injective(modes)
  local reach = 0
  for _, mode in ipairs(modes) do
    if mode[2] <= reach then return false end
    reach = reach + (mode[1] - 1) * mode[2]
  end
  return true
end

-- {====== Launches ======

-- A tensor by entry `which` of the modes; those after mode `last` are one.
local function seen(t, modes, which, last)
  local extents, strides = {}, {}
  for i, mode in ipairs(modes) do extents[i], strides[i] = mode[1], mode[which] end
  local by = layout(extents, strides)
  if last == #modes then by = append(by, "1:0") end
  return view(t, group_modes(by, last, math.max(#modes, last + 1)))
end

-- The first mode in two: elements that one access may move, and the rest.
local function with_vectors(modes, bits)
  local extent, a, b = table.unpack(modes[1])
  local n = a == 1 and b <= 1 and VECTOR_BITS // bits or 1
  while extent % n ~= 0 do n = n // 2 end
  local vector = { n, a, b }
  if n == extent then return { vector, table.unpack(modes, 2) } end
  return { vector, { extent // n, n * a, n * b }, table.unpack(modes, 2) }
end

-- Launches one of the kernels without shared memory.
local function in_vectors(kernel, from, to, modes)
  local y = seen(to, modes, 2, 1)
  local n = size(y, 1)
  kernel{ grid = cdiv(n, THREADS * EACH), block = THREADS }(from, static_mode(y, 0),
    n >= 1 << 30 and "wide" or nil)
end

local function copy_in_order(from, to, modes)
  modes = with_vectors(modes, to.dtype.bits)
  in_vectors(in_order, static_mode(seen(from, modes, 3, 1), 0), to, modes)
end

-- The mode along which `from` is contiguous, if `to` is along another one, and both are long.
local function other_mode(modes)
  if modes[1][2] ~= 1 or modes[1][1] < LEAST_TURNED then return nil end
  for i = 2, #modes do
    if modes[i][3] == 1 and modes[i][1] >= LEAST_TURNED then return i end
  end
end

local function copy_turned(from, to, modes, other)
  local order = { modes[1], modes[other] }
  for i = 2, #modes do
    if i ~= other then order[#order + 1] = modes[i] end
  end
  local x, y = seen(from, order, 3, 2), seen(to, order, 2, 2)
  local side = to.dtype.bits < 32 and 64 or 32
  local blocks = cdiv({ order[1][1], order[2][1] }, { side, side })
  if blocks[2] > MOST_BLOCKS then return false end
  turned{ grid = { blocks[1], blocks[2], math.min(size(y, 2), MOST_BLOCKS) },
          block = { side, THREADS // side } }(x, y, static(side))
  return true
end

local function is_swizzled(t) return tiles.type_name(t.layout) ~= "layout" end

-- Modes in the order of `to`; nil: these layouts are left to the host. Such are swizzled ones,
-- those with two elements in one place, and modes that cut each other unevenly.
local function modes_between(from, to)
  local is_even, modes = pcall(paired, to.layout, from)
  return not is_swizzled(to) and is_even and #modes > 0 and is_injective(modes) and modes or nil
end

--- Copies; false: it is left to the host.
function M.move(from, to)
  local modes = not is_swizzled(from) and modes_between(from.layout, to)
  if not modes then return false end
  local other = other_mode(modes)
  if not (other and copy_turned(from, to, modes, other)) then copy_in_order(from, to, modes) end
  return true
end

--- Sets all elements to a number or boolean, which their type has; false: as above.
function M.set(value, to)
  local modes = modes_between(layout(size(to), 0), to)
  if modes then in_vectors(filled, value, to, with_vectors(modes, to.dtype.bits)) end
  return modes ~= nil
end

-- Of many elements, and if kernels can be compiled.
local function try(f, from, to)
  return size(to) >= M.least and arguments.by_kernels(f, from, to)
end

--- The same where that takes less time than the host would need.
function M.on_device(from, to) return try(M.move, from, to) end
function M.fill_on_device(t, value) return try(M.set, value, t) end
function M.clear_on_device(t) return try(M.set, t.dtype ~= bool and 0, t) end

return M
