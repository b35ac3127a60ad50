-- gemm_reduce.lua: sums and maxima of what an epilogue of matmul assigns, of rows of C, of columns
-- or of all. A thread adds up what it has of a row in a tile, lanes that share the row by shuffles,
-- and one lane of each warp stores the result as a part of its own. A second kernel adds the parts.
-- The order depends on tiles only, so every run gives the same bits.
--
-- Which lanes and warps share a row is known before the trace (gemm_owners.lua).
local memo = require "cuttle.memo"
local on_device = require "cuttle.operator_device"
local owners = require "cuttle.gemm_owners"
local tiles = require "cuttle.tiles"
local M = {}

local WARP <const>, LANE_BITS <const> = 32, 5

--- What an output may be: which of the script's modes stays, and how numbers are joined.
M.ops = {
  row_sum = { kept = "m", join = "sum" }, row_max = { kept = "m", join = "max" },
  column_sum = { kept = "n", join = "sum" }, column_max = { kept = "n", join = "max" },
  sum = { join = "sum" }, max = { join = "max" },
}

local joins <const> = {
  sum = { absent = 0.0, of = function(x, y) return x + y end },
  max = { absent = -math.huge, of = function(x, y) return max(x, y) end },
}

--- Does an epilogue reduce any of its outputs?
function M.has_reduced(named)
  for _, of in ipairs(named or {}) do
    if M.ops[of.op] then return true end
  end
  return false
end

-- {====== Before the trace ======

-- The bits of a thread's number along which elements have the same place in mode `kept`, or all if
-- it is nil: distances of lanes, and bits that count warps.
local function sharing(places, kept)
  local lanes, warps = {}, {}
  for bit, place in ipairs(places) do
    if kept == nil or place[kept] == places.first[kept] then
      if bit <= LANE_BITS then lanes[#lanes + 1] = 1 << bit - 1 else warps[#warps + 1] = bit - 1 end
    end
  end
  return { lanes = lanes, warps = warps, n = 1 << #warps }
end

-- Of glu: adjacent columns of the script, which are adjacent rows here, are a thread's values 2i
-- and 2i + 1.
local function check_pairs(variant, values)
  for i = 0, #values, 2 do
    local v, w = values[i], values[i + 1]
    if w == nil or v.m % 2 ~= 0 or w.m ~= v.m + 1 or w.n ~= v.n then
      tiles.fail("matmul", "in tiles of %dx%d a thread has no two columns side by side, which glu "
        .. "needs; take another configuration", variant.tile[1], variant.tile[2])
    end
  end
end

--- Finds out who shares what in a block's tile: of a template's tiled MMA or copy for n threads,
--- whose coordinates are (n,m) if is_flipped. Nothing, if the variant reduces nothing.
function M.plan(variant, tiled, n_threads, is_flipped)
  if not (variant.glu or M.has_reduced(variant.named)) then return end
  local values = owners.of(variant, tiled, 0, is_flipped)
  if variant.glu then check_pairs(variant, values) end
  if not M.has_reduced(variant.named) then return end
  if variant.cluster then
    tiles.fail("matmul", "an output is a sum or maximum, for which blocks of clusters have no "
      .. "parts; take another configuration")
  end
  local places, bit = { first = values[0] }, 1
  while bit < n_threads do
    places[#places + 1] = owners.of(variant, tiled, bit, is_flipped)[0]
    bit = 2 * bit
  end
  variant.owners = { values = values, n_threads = n_threads, m = sharing(places, "m"),
                     n = sharing(places, "n"), all = sharing(places) }
end

-- The kernel's mode that stays: nil of all.
local function kept_of(variant, op)
  local kept = M.ops[op].kept
  if variant.swapped and kept then return kept == "m" and "n" or "m" end
  return kept
end

-- {====== In a kernel ======

local Reducer = {}
Reducer.__index = Reducer

--- Of a tile, as gemm_epilogue.begin takes it, `at.thread` being the number of the thread if it is
--- not that in the block; nil if the variant reduces nothing.
function M.begin(variant, at)
  if not variant.owners then return nil end
  return setmetatable({ variant = variant, at = at, outputs = {},
                        thread = at.thread or threadIdx.x % variant.owners.n_threads }, Reducer)
end

-- Is there an element of C at the script's (m,n)?
local function is_inside(self, m, n)
  local variant, extent = self.variant, self.at.extent
  local rows, columns = extent[1], extent[2]
  if variant.swapped then rows, columns = columns, rows end
  if variant.glu then columns = columns // 2 end
  return m < rows and n < columns
end

--- Takes x, which an epilogue assigned to an output {op =, number =, tensor = of parts} at (m,n) of
--- the script. `id` are the element's coordinates in the thread's registers (V,M,N).
function Reducer:add(output, x, m, n, id)
  local variant, op = self.variant, M.ops[output.op]
  local join, kept = joins[op.join], kept_of(variant, output.op)
  x = cast(x, f32)
  if variant.ragged then x = where(is_inside(self, m, n), x, join.absent) end
  local of = self.outputs[output.number] or { output = output, kept = kept, join = join, keys = {} }
  self.outputs[output.number] = of
  local values = variant.owners.values
  local key = kept and values[owners.number(values, id)][kept] or 0
  if of[key] then
    of[key].x = join.of(of[key].x, x)
  else
    of.keys[#of.keys + 1] = key
    of[key] = { x = x, at = op.kept and (op.kept == "m" and m or n) or 0 }
  end
end

-- The number of the warp among those that share, and of the tile among those along what is reduced.
local function part_of(self, kept, share)
  local at, number = self.at, 0
  for i, bit in ipairs(share.warps) do
    number = number + ((self.thread >> bit & 1) << i - 1)
  end
  local tile = kept == "m" and at.n or at.m
  if kept == nil then tile = at.n * cdiv(at.extent[1], self.variant.tile[1]) + at.m end
  return tile * share.n + number
end

-- Stores what the thread has of one output.
local function finish(self, of)
  local share = self.variant.owners[of.kept or "all"]
  local part, mask = part_of(self, of.kept, share), 0
  for _, distance in ipairs(share.lanes) do mask = mask | distance end
  for _, key in ipairs(of.keys) do
    local x = of[key].x
    for _, distance in ipairs(share.lanes) do x = of.join.of(x, shfl_xor(x, distance)) end
    if self.thread & mask == 0 then of.output.tensor[{part, of[key].at, self.at.l}] = x end
  end
end

--- After all elements of the tile.
function Reducer:finish()
  for number = 1, #self.variant.named do
    if self.outputs[number] then finish(self, self.outputs[number]) end
  end
end

-- {====== The parts, on the host ======

--- Memory for the parts of an output of a problem: (parts, rows or columns, batches).
function M.parts(variant, p, op)
  local kept, tile = kept_of(variant, op), variant.tile
  local n_tiles = { m = cdiv(p.m, tile[1]), n = cdiv(p.n, tile[2]) }
  local n, extent = n_tiles.m * n_tiles.n, 1
  if kept == "m" then n, extent = n_tiles.n, n_tiles.m * tile[1] end
  if kept == "n" then n, extent = n_tiles.m, n_tiles.n * tile[2] end
  return on_device.scratch(p.device, f32,
    layout{ n * variant.owners[kept or "all"].n, extent, p.l })
end

local kernel_of = memo.by_arguments(function(name)
  return kernel("join_parts", function(parts, out)
    local join, x, l = joins[name], blockIdx.x, blockIdx.y
    local all = f32(join.absent)
    for i in range(threadIdx.x, size(parts, 0), WARP) do all = join.of(all, parts[{i, x, l}]) end
    for bit = LANE_BITS - 1, 0, -1 do all = join.of(all, shfl_xor(all, 1 << bit)) end
    if threadIdx.x == 0 then out[{x, l}] = all end
  end)
end)

--- The step that joins parts to an output (rows or columns, batches).
function M.step(parts, out, op, stream)
  return { kernel = kernel_of(M.ops[op].join), args = { parts, out },
           launch = { grid = { size(out, 0), size(out, 1) }, block = WARP, stream = stream } }
end

return M
