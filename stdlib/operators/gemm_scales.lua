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
local BUFFERS <const> = 2 -- of staged scales: one is read while the next is written

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

-- Of one operand: each element's key, and the first element of every key, in order; of those that
-- go through shared memory none.
local function keys_of(of, name, values, staged)
  local keys, firsts, seen = {}, {}, {}
  for i = 0, #values do
    local key = key_of(of, values[i][modes[name]])
    keys[i] = key
    if not (staged or seen[key]) then
      firsts[#firsts + 1], seen[key] = { key = key, i = i }, true
    end
  end
  return { name = name, keys = keys, firsts = firsts, staged = staged }
end

--- Before the trace: see gemm_reduce.plan. stages: the template hands M.begin memory for scales of
--- A's rows, of which a thread has many.
function M.plan(variant, tiled, is_flipped, stages)
  if not M.is_deep(variant) then return end
  local why = tile_trouble(variant)
  if why then tiles.fail("matmul", "a scale is of blocks of K, but %s", why) end
  local values = owners.of(variant, tiled, 0, is_flipped)
  variant.promotes = {}
  for _, name in ipairs { "A", "B" } do
    local of = variant.scales[name]
    if of.deep then
      local staged = stages and name == "A" and of.rows == "each"
      table.insert(variant.promotes, keys_of(of, name, values, staged))
    end
  end
end

local Promoter = {}
Promoter.__index = Promoter

-- Are scales of A's rows staged in shared memory?
local function stages_rows(variant)
  for _, side in ipairs(variant.promotes or {}) do
    if side.staged then return true end
  end
  return false
end

--- In a kernel: what groups that multiply stage scales in, (bM,2,groups); nil: they do not.
function M.memory(variant, n_groups)
  return stages_rows(variant) and shared(f32, { variant.tile[1], BUFFERS, n_groups }) or nil
end

--- Its bytes, if a problem has scales of all kinds.
function M.bytes(config, n_groups)
  return config.scaled and config.tile[1] * BUFFERS * n_groups * f32.bits // 8 or 0
end

--- In a kernel, for a tile of batch l: `sums` are a thread's, and places() their coordinates in C.
--- The products of a block of K are those of `waves` parts of the sums' rows, one after the other.
--- stage: {memory = (bM,2), first = the tile's first row of A, own =, threads = a thread's number
--- and how many there are, at = the thread's first row in the tile, together = their barrier}.
--- nil: no scale is of blocks of K, and products are added to the sums at once.
function M.begin(variant, scales, sums, l, places, waves, stage)
  if not variant.promotes then return nil end
  waves = waves or 1
  local extents, rows = shape(sums), size(sums, 1) // waves
  if waves > 1 then extents = { size(sums, 0), rows, size(sums, 2) } end
  return setmetatable({ variant = variant, scales = scales, places = places(), l = l,
                        n_values = size(sums, 0), n_rows = size(sums, 1), rows = rows,
                        stage = stages_rows(variant) and stage or nil,
                        part = fragment(variant.sum, extents) }, Promoter)
end

-- Calls f(side, key, scale) for each scale of block kb of K that the thread's elements have.
local function each_scale(self, kb, f)
  for i, side in ipairs(self.variant.promotes) do
    local mode = side.name == "A" and 1 or 2
    for _, first in ipairs(side.firsts) do
      local at = self.places[first.i]
      f(i, first.key, value(self.variant, self.scales, side.name, at[mode], kb, self.l))
    end
  end
end

--- The scales of block kb of K, for add.
function Promoter:load(kb)
  local factors = {}
  for i in ipairs(self.variant.promotes) do factors[i] = {} end
  each_scale(self, kb, function(i, key, scale) factors[i][key] = scale end)
  return factors
end

-- {====== Scales ahead ======

-- Calls f(i, row) for the rows of A in a tile whose scales the thread stages, if it has some.
local function each_staged(stage, rows, f)
  if rows < stage.threads then
    if stage.own < rows then f(0, stage.own) end
    return
  end
  for i = 0, rows // stage.threads - 1 do f(i, stage.own + i * stage.threads) end
end

-- The scales of block kb of K, into registers: side by side and in order, then the staged ones.
local function read_ahead(self, kb)
  local n, stage = 0, self.stage
  each_scale(self, kb, function(_, _, scale)
    self.ahead[n] = scale
    n = n + 1
  end)
  if not stage then return end
  each_staged(stage, self.variant.tile[1], function(i, row)
    self.own[i] = value(self.variant, self.scales, "A", stage.first + row, kb, self.l)
  end)
end

--- Before the tile's n blocks of K, whose scales are read a block ahead.
function Promoter:start(n)
  local count, stage = 0, self.stage
  for _, side in ipairs(self.variant.promotes) do count = count + #side.firsts end
  self.n, self.now, self.ahead = n, fragment(f32, max(count, 1)), fragment(f32, max(count, 1))
  self.own = stage and fragment(f32, cdiv(self.variant.tile[1], stage.threads))
  read_ahead(self, 0)
end

-- The staged scales of block kb, by key: two rows are read at once.
local function staged(stage, rows, kb)
  local first = kb % BUFFERS * rows + stage.at
  local pairs_of = {}
  return setmetatable({}, { __index = function(_, key)
    local pair = key // 2
    if not pairs_of[pair] then
      pairs_of[pair] = fragment(f32, 2)
      copy(view(stage.memory, layout{2}, first + 2 * pair), pairs_of[pair])
    end
    return pairs_of[pair][key % 2]
  end })
end

--- A function that returns the scales of block kb, which comes after kb - 1, for add; those of the
--- next one are asked for.
function Promoter:next(kb)
  local rows, stage = self.variant.tile[1], self.stage
  if stage then
    each_staged(stage, rows, function(i, row) stage.memory[{row, kb % BUFFERS}] = self.own[i] end)
    stage.together:sync()
  end
  copy(self.ahead, self.now)
  read_ahead(self, min(kb + 1, self.n - 1))
  return function()
    local factors, n = {}, 0
    for i, side in ipairs(self.variant.promotes) do
      factors[i] = side.staged and staged(stage, rows, kb) or {}
      for _, first in ipairs(side.firsts) do
        factors[i][first.key], n = self.now[n], n + 1
      end
    end
    return factors
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

--- Adds the sums of a block with these scales to all: those of a wave.
function Promoter:add(sums, factors, wave)
  local product = product_of(self.variant.promotes, factors)
  for i in unroll(0, size(self.part)) do
    local v, rest = i % self.n_values, i // self.n_values
    local row, column = rest % self.rows + (wave or 0) * self.rows, rest // self.rows
    local at = v + self.n_values * (row + self.n_rows * column)
    sums[at] = sums[at] + self.part[i] * product(at)
  end
end

return M
