-- device_copy.lua: copies between tensors of one device whose layouts differ, by kernels: what the
-- loops of bind_move.c do, without the host. Elements move as they are: as words, where the layouts
-- allow it. If each tensor is contiguous along a mode of its own, tiles turn in shared memory.
local tiles = require "cuttle.tiles"
local M = {}

-- Fewer elements go through the host: that takes less time than to compile a kernel once.
M.least = 1 << 16

local THREADS <const>, EACH <const>, SIDE <const>, MOST_BLOCKS <const> = 256, 4, 32, 65535
local WORD_BITS <const> = 64
local words <const> = { [8] = u8, [16] = u16, [32] = u32, [64] = u64 }

-- {====== Kernels ======

-- wide: numbers of elements need 64 bits.
local in_order = kernel("copy_elements", function(from, to, wide)
  local block = wide and cast(blockIdx.x, i64) or blockIdx.x
  local first = block * (THREADS * EACH) + threadIdx.x
  for k in unroll(EACH) do
    local i = first + k * THREADS
    if i < size(to) then to[i] = from[i] end
  end
end)

-- Modes: contiguous in `to`, contiguous in `from`, all others.
local turned = kernel("copy_turned", function(from, to)
  local s = shared(to.dtype, layout({ SIDE, SIDE }, { 1, SIDE + 1 }))
  local i, j, tiler = threadIdx.x, threadIdx.y, { SIDE, SIDE }
  for rest in range(blockIdx.z, size(to, 2), gridDim.z) do
    local source = tile(guard(from(_, _, rest)), tiler, { blockIdx.x, blockIdx.y })
    local target = tile(guard(to(_, _, rest)), tiler, { blockIdx.x, blockIdx.y })
    for k in unroll(0, SIDE, SIDE // EACH) do s[{ j + k, i }] = source[{ j + k, i }] end
    sync_threads()
    for k in unroll(0, SIDE, SIDE // EACH) do target[{ i, j + k }] = s[{ i, j + k }] end
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

-- How many elements move as one word.
local function per_word(modes, bits)
  local n = modes[1][2] == 1 and modes[1][3] == 1 and WORD_BITS // bits or 1
  while n > 1 do
    local fits = modes[1][1] % n == 0
    for i = 2, #modes do fits = fits and modes[i][2] % n == 0 and modes[i][3] % n == 0 end
    if fits then break end
    n = n // 2
  end
  return n
end

-- A tensor by entry `which` of the modes, as words of n elements. Those after mode `last` are one.
local function seen(t, modes, which, n, last)
  local extents, strides = {}, {}
  for i, mode in ipairs(modes) do extents[i], strides[i] = mode[1], mode[which] end
  local by = layout(extents, strides)
  if last then by = group_modes(append(by, "1:0"), last, #modes + 1) end
  local x, word = view(t, by), words[t.dtype.bits * n]
  return word and t.dtype ~= bool and recast(x, word) or x
end

-- Elements that begin within a word move one by one.
local function operands(from, to, modes, last)
  local n = per_word(modes, to.dtype.bits)
  local ok, x = pcall(seen, from, modes, 3, n, last)
  local fits, y = pcall(seen, to, modes, 2, n, last)
  if ok and fits then return x, y end
  return seen(from, modes, 3, 1, last), seen(to, modes, 2, 1, last)
end

local function copy_in_order(from, to, modes)
  local x, y = operands(from, to, modes)
  local n = size(y)
  in_order{ grid = cdiv(n, THREADS * EACH), block = THREADS }(x, y, n >= 1 << 30 and "wide" or nil)
end

-- The mode along which `from` is contiguous, if `to` is along another one, and both are long.
local function other_mode(modes)
  if modes[1][2] ~= 1 or modes[1][1] < SIDE // EACH then return nil end
  for i = 2, #modes do
    if modes[i][3] == 1 and modes[i][1] >= SIDE // EACH then return i end
  end
end

local function copy_turned(from, to, modes, other)
  local order = { modes[1], modes[other] }
  for i = 2, #modes do
    if i ~= other then order[#order + 1] = modes[i] end
  end
  local x, y = operands(from, to, order, 2)
  local blocks = cdiv({ order[1][1], order[2][1] }, { SIDE, SIDE })
  turned{ grid = { blocks[1], blocks[2], math.min(size(y, 2), MOST_BLOCKS) },
          block = { SIDE, SIDE // EACH } }(x, y)
end

--- Copies; false: these layouts are left to the host. Such are swizzled ones, and modes that cut
--- each other unevenly.
function M.move(from, to)
  if tiles.type_name(from.layout) ~= "layout" or tiles.type_name(to.layout) ~= "layout" then
    return false
  end
  local is_even, modes = pcall(paired, to.layout, from.layout)
  if not is_even or #modes == 0 or not is_injective(modes) then return false end
  local other = other_mode(modes)
  if other and cdiv(modes[other][1], SIDE) <= MOST_BLOCKS then
    copy_turned(from, to, modes, other)
  else
    copy_in_order(from, to, modes)
  end
  return true
end

--- The same, of many elements; false also if kernels cannot be compiled.
function M.on_device(from, to)
  if size(to) < M.least then return false end
  local ok, is_done = pcall(M.move, from, to)
  return ok and is_done
end

--- Sets all elements to a number or boolean.
function M.fill_on_device(t, value)
  if size(t) < M.least then return false end
  local one = from_table(t.dtype, { value }):to(t.device)
  return M.on_device(view(one, layout(size(t), 0)), t)
end

function M.clear_on_device(t) return M.fill_on_device(t, t.dtype ~= bool and 0) end

return M
