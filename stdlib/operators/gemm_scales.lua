-- gemm_scales.lua: what the operands of matmul are to be multiplied by, in a kernel. A scale that
-- is the same for all K is a factor of the sum, in the epilogue. One of blocks of K is a factor of
-- each block's sum: a template multiplies a block into fragments of its own (Promoter:part), which
-- are scaled and added to the others on CUDA cores.
--   variant.scales   {A = {rows =, deep =}, B = ...}, or nil; rows: "number", a number and no
--                    tensor; "one", for all rows; "each", for every row; "block", for BLOCK rows;
--                    deep: of blocks of K; block: how many of K, BLOCK or less (MXFP8, NVFP4)
-- A kernel takes A's and B's, before the bias: a number or a tensor (rows, blocks of K, batches).
local owners = require "cuttle.gemm_owners"
local tiles = require "cuttle.tiles"
local M = { BLOCK = 128 }

local BLOCK <const> = M.BLOCK
local modes <const> = { A = "m", B = "n" }
local FEW <const>, EVEN <const> = 8, 4 -- scales that a thread holds; of a wide read

--- The two at the front of a kernel's operands, removed from these; nil: the variant has none.
function M.take(variant, operands)
  if not variant.scales then return nil end
  return { A = table.remove(operands, 1), B = table.remove(operands, 1) }
end

-- The number of a row's scale, in memory or in a tile.
local function index_of(of, row)
  if of.rows == "each" then return row end
  return of.rows == "block" and row // BLOCK or 0
end

-- The scale of row i of an operand, in block kb of K.
local function value(variant, scales, name, i, kb, l)
  local of, x = variant.scales[name], scales[name]
  if of.rows == "number" then return x end
  local row = index_of(of, i)
  local inside = variant.ragged and guard(x) or x
  return inside[{row, of.deep and kb or 0, l}]
end

--- The sum v at (m,n) of the kernel's C, times alpha and the scales that are the same for all K.
--- What few elements of a thread differ in is multiplied first: alpha, scales of all rows, B's.
function M.scaled(variant, scales, v, alpha, m, n, l)
  local at, factor = { A = m, B = n }, alpha
  local function of(name)
    return cast(value(variant, scales, name, at[name], 0, l), variant.work)
  end
  local function has(name, each)
    local side = variant.scales[name]
    return not side.deep and (side.rows == "each" or side.rows == "block") == each
  end
  if has("A", false) then factor = factor * of "A" end
  if not variant.scales.B.deep then factor = factor * of "B" end
  v = v * factor
  return has("A", true) and v * of "A" or v
end

-- {====== Blocks of K ======

--- Does the problem or variant have scales of blocks of K?
function M.is_deep(p) return p.scales ~= nil and (p.scales.A.deep or p.scales.B.deep) end

--- Has each row of A scales of blocks of K of its own? Such a thread of gemm_hopper.lua reads many.
function M.has_many(p) return p.scales ~= nil and p.scales.A.deep and p.scales.A.rows == "each" end

--- Have the rows of both operands such scales of their own?
function M.is_each(p)
  return M.has_many(p) and p.scales.B.deep and p.scales.B.rows == "each"
end

--- How many elements of K have a scale.
function M.block_of(p) return p.scales and (p.scales.A.block or p.scales.B.block) or BLOCK end

--- Are these so few that tensor cores have instructions for it, with scales of 8 bits?
function M.is_fine(p) return M.block_of(p) < BLOCK end

-- Why tiles do not fit the blocks.
local function tile_trouble(config, block)
  local bM, bN, bK = table.unpack(config.tile)
  if block < BLOCK then
    return block % bK ~= 0 and ("its tiles of %d of K do not fit blocks of %d"):format(bK, block)
      or nil
  elseif BLOCK % bK ~= 0 or BLOCK % bM ~= 0 and bM % BLOCK ~= 0
    or BLOCK % bN ~= 0 and bN % BLOCK ~= 0 then
    return ("its tiles of %dx%dx%d do not fit blocks of %d"):format(bM, bN, bK, BLOCK)
  end
end

--- Why a configuration cannot scale a problem's blocks of K; nil: it can.
function M.trouble(config, p)
  if not M.is_deep(p) or config.scale_warps then return nil end
  local scales_all = require(config.template).scales_blocks
  if M.is_fine(p) and not scales_all then
    return ("it has no scales of %d of K"):format(M.block_of(p))
  elseif not (config.scaled or scales_all) then
    return "it has no registers for the sums of a block of K"
  end
  return tile_trouble(config, M.block_of(p))
end

-- Of one operand: each element's key, the number of its scale in a tile, of thread 0; the first
-- element of every key, in order; and how many scales a tile has.
local function side_of(of, name, values, extent)
  local keys, firsts, seen = {}, {}, {}
  for i = 0, #values do
    local key = index_of(of, values[i][modes[name]])
    keys[i] = key
    if not seen[key] then firsts[#firsts + 1], seen[key] = { key = key, i = i }, true end
  end
  return { name = name, of = of, keys = keys, firsts = firsts,
           count = index_of(of, extent - 1) + 1 }
end

--- Before the trace: see gemm_reduce.plan.
function M.plan(variant, tiled, is_flipped)
  if not M.is_deep(variant) then return end
  local why = tile_trouble(variant, M.block_of(variant))
  if why then tiles.fail("matmul", "a scale is of blocks of K, but %s", why) end
  local values, n = owners.of(variant, tiled, 0, is_flipped), 0
  variant.promotes = {}
  for i, name in ipairs { "A", "B" } do
    local of = variant.scales[name]
    if of.deep then
      local side = side_of(of, name, values, variant.tile[i])
      side.first, n = n, n + side.count
      table.insert(variant.promotes, side)
    end
  end
  variant.promotes.count = cdiv(n, EVEN) * EVEN -- each stage's begin where wide reads may
end

--- Does a thread hold all of its scales of a block, as they are few?
function M.holds_all(variant)
  for _, side in ipairs(variant.promotes) do
    if #side.firsts > FEW then return false end
  end
  return true
end

local Promoter = {}
Promoter.__index = Promoter

--- In a kernel, for a tile of batch l: `sums` are a thread's, and places() their coordinates in C,
--- which load wants. The products of a block of K are those of `parts` of the sums, if that is not
--- nil, in turns in one of two fragments. A part has the rows of one instruction, and parts of the
--- same columns follow each other. nil: no scale is of blocks of K, and products are added to the
--- sums at once.
function M.begin(variant, scales, sums, l, places, parts)
  if not variant.promotes then return nil end
  parts = parts or 1
  local rows = parts > 1 and size(sums, 1) or 1
  local extents = { size(sums, 0) * rows // parts, size(sums, 1) // rows, size(sums, 2) }
  local fragments = {}
  for i = 1, math.min(parts, 2) do fragments[i] = fragment(variant.sum, extents) end
  return setmetatable({ variant = variant, scales = scales, places = places and places(), l = l,
                        fragments = fragments, n_values = size(sums, 0), rows = rows }, Promoter)
end

--- Part i: its number among those of one column, and that of its column.
function Promoter:place(i) return i % self.rows, i // self.rows end

-- Calls for the numbers of part i's elements, among all sums and in the part.
function Promoter:places_of(i)
  local n, size = size(self:part(i), 0), size(self:part(i))
  local row, column = self:place(i)
  local first = column * n + row * self.n_values
  local v = -1
  return function()
    v = v + 1
    if v < size then return first + v % n + v // n * self.n_values, v end
  end
end

--- The fragment of part i, from 0 on.
function Promoter:part(i) return self.fragments[(i or 0) % #self.fragments + 1] end

--- The scales of block kb of K, for add.
function Promoter:load(kb)
  local factors, places = {}, self.places
  for i, side in ipairs(self.variant.promotes) do
    local mode = side.name == "A" and 1 or 2
    factors[i] = {}
    for _, first in ipairs(side.firsts) do
      factors[i][first.key] = cast(value(self.variant, self.scales, side.name,
        places[first.i][mode], kb, self.l), f32)
    end
  end
  return factors
end

-- {====== Scales in shared memory ======

--- In a kernel: the scales of a tile and a block of K in each of the stages, (scales,stage).
function M.ring(variant)
  if not variant.promotes then return nil end
  return shared(f32, { variant.promotes.count, variant.stages })
end

--- Its bytes, if a problem has scales of all kinds.
function M.bytes(config)
  if not config.scaled then return 0 end
  return (config.tile[1] + config.tile[2]) * config.stages * f32.bits // 8
end

--- What brings a tile's scales to the ring, of which thread `own` of n has a part: ask(kb) reads
--- those of block kb of K into registers, put(slot) writes them. first: {A =, B =}, the first rows
--- of the tile; l: its batch.
function M.bringer(variant, scales, first, l, own, n)
  local held = {}
  for i, side in ipairs(variant.promotes) do held[i] = fragment(f32, cdiv(side.count, n)) end
  local function each(f)
    for i, side in ipairs(variant.promotes) do
      for j = 0, cdiv(side.count, n) - 1 do
        local at = own + j * n
        if at < side.count then f(held[i], j, side, at) end
      end
    end
  end
  local function ask(kb)
    each(function(to, j, side, at)
      local step = side.of.rows == "block" and BLOCK or 1
      to[j] = value(variant, scales, side.name, first[side.name] + at * step, kb, l)
    end)
  end
  return ask, function(slot)
    each(function(from, j, side, at) slot[side.first + at] = from[j] end)
  end
end

-- Reads those of one side's scales in a slot that part i of the sums needs, by key, two at once.
-- What an earlier part needed is in `factors` already.
local function read_pairs(side, slot, first, promoter, i, factors)
  local pairs_of = {}
  for v in promoter:places_of(i) do
    local key = side.keys[v]
    local pair = key // 2
    if factors[key] == nil and not pairs_of[pair] then
      pairs_of[pair] = fragment(f32, 2)
      copy(view(slot, layout{2}, first + 2 * pair), pairs_of[pair])
    end
    if factors[key] == nil then factors[key] = pairs_of[pair][key % 2] end
  end
end

--- A function of the number of a part, that returns the scales of a slot of the ring for add: few
--- are read now, and more when it is called. at: the thread's first row of A and of B in the tile.
function Promoter:read(ring, slot, at)
  local known, late = {}, {}
  for i, side in ipairs(self.variant.promotes) do
    local first = side.first + index_of(side.of, at[side.name])
    known[i] = {}
    if #side.firsts > FEW then
      late[i] = first
    else
      for _, one in ipairs(side.firsts) do known[i][one.key] = ring[{first + one.key, slot}] end
    end
  end
  return function(part)
    for i, side in ipairs(self.variant.promotes) do
      if late[i] ~= nil then read_pairs(side, ring(_, slot), late[i], self, part, known[i]) end
    end
    return known
  end
end

-- {====== Promotion ======

-- A function of an element's number: the product of its scales, computed once for equal keys.
local function product_of(sides, factors)
  local first, second = table.unpack(sides)
  local known = {}
  return function(i)
    local key = first.keys[i]
    if not second then return factors[1][key] end
    local other = second.keys[i]
    local id = key .. " " .. other
    known[id] = known[id] or factors[1][key] * factors[2][other]
    return known[id]
  end
end

--- Adds the sums of part i of a block with these scales to all.
function Promoter:add(sums, factors, i)
  local product, part = product_of(self.variant.promotes, factors), self:part(i)
  for at, v in self:places_of(i or 0) do
    sums[at] = sums[at] + part[v] * product(at)
  end
end

return M
