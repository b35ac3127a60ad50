-- gemm_scales.lua: what the operands of matmul are to be multiplied by, in a kernel. A scale that
-- is the same for all K is a factor of the sum, in the epilogue. One of blocks of K is a factor of
-- each block's sum: a template multiplies a block into fragments of its own (Promoter.part), which
-- are scaled and added to the others on CUDA cores.
--   variant.scales   {A = {rows =, deep =}, B = ...}, or nil; rows: "number", a number and no
--                    tensor; "one", for all rows; "each", for every row; "block", for BLOCK rows;
--                    deep: of blocks of K
-- A kernel takes A's and B's, before the bias: a number or a tensor (rows, blocks of K, batches).
local owners = require "cuttle.gemm_owners"
local tiles = require "cuttle.tiles"
local M = { BLOCK = 128 }

local BLOCK <const> = M.BLOCK
local modes <const> = { A = "m", B = "n" }

--- The two at the front of a kernel's operands, removed from these; nil: the variant has none.
function M.take(variant, operands)
  if not variant.scales then return nil end
  return { A = table.remove(operands, 1), B = table.remove(operands, 1) }
end

-- The scale of row i of an operand, in block kb of K.
local function value(variant, scales, name, i, kb, l)
  local of, x = variant.scales[name], scales[name]
  if of.rows == "number" then return x end
  local row = of.rows == "one" and 0 or of.rows == "each" and i or i // BLOCK
  local inside = variant.ragged and guard(x) or x
  return inside[{row, of.deep and kb or 0, l}]
end

--- v times the scales that are the same for all K, at (m,n) of the kernel's C.
function M.scaled(variant, scales, v, m, n, l)
  local at = { A = m, B = n }
  for _, name in ipairs { "A", "B" } do
    if not variant.scales[name].deep then
      v = v * cast(value(variant, scales, name, at[name], 0, l), variant.work)
    end
  end
  return v
end

-- {====== Blocks of K ======

--- Does the problem or variant have scales of blocks of K?
function M.is_deep(p) return p.scales ~= nil and (p.scales.A.deep or p.scales.B.deep) end

-- Why tiles do not fit the blocks.
local function tile_trouble(config)
  local bM, bN, bK = table.unpack(config.tile)
  if BLOCK % bK ~= 0 or BLOCK % bM ~= 0 and bM % BLOCK ~= 0
    or BLOCK % bN ~= 0 and bN % BLOCK ~= 0 then
    return ("its tiles of %dx%dx%d do not fit blocks of %d"):format(bM, bN, bK, BLOCK)
  elseif config.cluster then
    return "its blocks are in clusters"
  end
end

--- Why a configuration cannot scale a problem's blocks of K; nil: it can.
function M.trouble(config, p)
  if not M.is_deep(p) then return nil end
  if not (config.scaled or require(config.template).scales_blocks) then
    return "it has no registers for the sums of a block of K"
  end
  return tile_trouble(config)
end

-- Elements with equal keys have the same scale.
local function key_of(of, place)
  if of.rows == "each" then return place end
  return of.rows == "block" and place // BLOCK or 0
end

-- Of one operand: each element's key, and the first element of every key, in order.
local function keys_of(of, name, values)
  local keys, firsts, seen = {}, {}, {}
  for i = 0, #values do
    local key = key_of(of, values[i][modes[name]])
    keys[i] = key
    if not seen[key] then firsts[#firsts + 1], seen[key] = { key = key, i = i }, true end
  end
  return { name = name, keys = keys, firsts = firsts }
end

--- Before the trace: see gemm_reduce.plan.
function M.plan(variant, tiled, is_flipped)
  if not M.is_deep(variant) then return end
  local why = tile_trouble(variant)
  if why then tiles.fail("matmul", "a scale is of blocks of K, but %s", why) end
  local values = owners.of(variant, tiled, 0, is_flipped)
  variant.promotes = {}
  for _, name in ipairs { "A", "B" } do
    local of = variant.scales[name]
    if of.deep then
      table.insert(variant.promotes, keys_of(of, name, values))
    end
  end
end

local Promoter = {}
Promoter.__index = Promoter

--- In a kernel, for a tile of batch l: `sums` are a thread's, and places() their coordinates in C.
--- nil: no scale is of blocks of K, and products are added to the sums at once.
function M.begin(variant, scales, sums, l, places)
  if not variant.promotes then return nil end
  return setmetatable({ variant = variant, scales = scales, places = places(), l = l,
                        part = fragment(variant.sum, shape(sums)) }, Promoter)
end

--- The scales of block kb of K, for add.
function Promoter:load(kb)
  local factors = {}
  for i, side in ipairs(self.variant.promotes) do
    local found, mode = {}, side.name == "A" and 1 or 2
    for _, first in ipairs(side.firsts) do
      local at = self.places[first.i]
      found[first.key] = value(self.variant, self.scales, side.name, at[mode], kb, self.l)
    end
    factors[i] = found
  end
  return factors
end

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

--- Adds the sums of a block with these scales to all.
function Promoter:add(sums, factors)
  local product = product_of(self.variant.promotes, factors)
  for i in unroll(0, size(sums)) do sums[i] = sums[i] + self.part[i] * product(i) end
end

return M
