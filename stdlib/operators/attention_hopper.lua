-- attention_hopper.lua: attention on Hopper. A warp group loads by TMA, the others have 64 queries
-- each of a tile: S = Q K' and O += P V by wgmma, softmax in registers, where P, which is S packed,
-- is an operand again. A group exponentiates while its product of the last P and V is under way
-- (overlap), and the groups may take turns in issuing products (the ring), so that one's products
-- run under another's softmax. Blocks stay for many tiles, in the order that attention_schedule.lua
-- makes. Fields of its configurations:
--   rows, keys  the queries of a tile, 64 for each group that multiplies, and the keys of a block
--   depth       of a head, at most: TMA loads zeros for what is missing and does not store it
--   depth_v     of a value, at most, where that is another
--   stages      blocks of keys, and of values, in shared memory
--   registers   of a thread, {of the group that loads, of those that multiply}
--   ring        false: the groups take no turns; "full": only where not causal
--   narrow      operands are f8e4m3: see attention_hopper_narrow.lua
--   raw_stages  blocks of values that are not yet transposed, if not `stages`
--   passes      causal: a group only passes the barriers of blocks of which it sees nothing: 1 %
--               faster with 80 keys, 2 % slower with 128
local blocks = require "cuttle.attention_blocks"
local load = require "cuttle.attention_hopper_load"
local narrow = require "cuttle.attention_hopper_narrow"
local paged = require "cuttle.attention_pages"
local scales = require "cuttle.attention_scales"
local scores = require "cuttle.attention_score"
local softmax = require "cuttle.attention_softmax"
local stores = require "cuttle.attention_hopper_store"
local tables = require "cuttle.attention_tiles"
local devices = require "cuttle.profile_device"
local tma = require "cuttle.tma_rules"
local M = {}

local GROUP <const>, ROWS <const>, PANEL <const> = 128, 64, 64
local CPU_BLOCKS <const> = 2 -- of the grid on the CPU engine

local names <const> = { f16 = "F16", bf16 = "BF16" }

function M.n_threads(config) return GROUP + config.rows // ROWS * GROUP end

local modes <const> = { "S", "D", "H", "B" } -- of p.Q, p.K, p.V and p.O

local function trouble_with(t, name) return tma.trouble(t, name, modes, 2, 0) end

-- See attention.lua.
M.row_bytes = 16

--- See attention.lua.
function M.heads_trouble(config, p)
  if config.narrow and p.dtype ~= f8e4m3 then return "its kernel computes f8e4m3" end
  if not (config.narrow or names[p.dtype.name]) then return "its kernel computes bf16 and f16" end
  if p.depth > config.depth then return ("its kernel computes D up to %d"):format(config.depth) end
  local depth_v = config.depth_v or config.depth
  if p.depth_v > depth_v then return ("its kernel computes values up to D = %d"):format(depth_v) end
  if p.n_k == 0 then return "there are no keys" end
  if config.narrow and not names[p.O.dtype.name] then
    return ("out is %s, and its kernel writes bf16 and f16"):format(p.O.dtype)
  elseif not config.narrow and p.O.dtype ~= p.dtype then
    return ("out is %s, and its kernel writes Q's type"):format(p.O.dtype)
  end
end

--- See attention.lua.
function M.trouble(config, p)
  if p.scales and p.scales.kind == "blocks" and config.keys ~= scales.BLOCK then
    return ("there are scales of blocks of %d, and its blocks have %d keys"):format(scales.BLOCK,
      config.keys)
  end
  return M.heads_trouble(config, p) or tables.trouble(p, config.rows)
    or paged.trouble(p, config.keys)
    or trouble_with(p.Q, "Q") or trouble_with(p.K, "K") or trouble_with(p.V, "V")
    or trouble_with(p.O, "out")
end

--- See attention.lua.
function M.order(config)
  return { { "scores", ("wgmma of k = %d over a depth of %d"):format(
             config.narrow and narrow.depth or 16, config.depth) },
           { "blocks", ("%d keys each, the last block first"):format(config.keys) } }
end

-- {====== What is known before the trace ======

local function kind_of(dtype) return ("F32%s%s"):format(names[dtype.name], names[dtype.name]) end

-- The tiled MMA with n columns, of operands in shared memory, "SS", or one in registers, "RS".
local function mma_of(variant, n, operands)
  if variant.narrow then
    return tiled_mma(("SM90_64x%dx%d_%s_%s%s"):format(n, narrow.depth, narrow.kind, operands,
      narrow.tail))
  end
  return tiled_mma(("SM90_64x%dx16_%s_%s"):format(n, kind_of(variant.dtype), operands))
end

-- Values in shared memory: as they are loaded, `raw`, if they have to be transposed; as operands.
local function values_of(variant)
  local dtype, depth_v, keys = variant.dtype, variant.depth_v, variant.keys
  if variant.narrow then
    local raw = gmma_layout(dtype, "K", narrow.line(depth_v))
    local turned = gmma_layout(dtype, "K", narrow.line(keys))
    return tile_to_shape(turned, {depth_v, keys, variant.stages}),
      tile_to_shape(raw, {keys, depth_v, narrow.raw_stages(variant)})
  end
  return tile_to_shape(tile_to_shape(gmma_layout(dtype, "MN", 128), {PANEL, keys}),
    {depth_v, keys, variant.stages})
end

local function plan_of(variant)
  local dtype, depth, depth_v, keys = variant.dtype, variant.depth, variant.depth_v, variant.keys
  local groups, stages = variant.rows // ROWS, variant.stages
  local k_major = gmma_layout(dtype, "K", variant.narrow and narrow.line(depth) or 128)
  local bytes = dtype.bits // 8
  local like_O = tiled_mma(("SM90_64x%dx16_%s_SS"):format(PANEL, kind_of(variant.out)))
  local QK = mma_of(variant, keys, "SS")
  local V, raw = values_of(variant)
  return {
    groups = groups, QK = QK,
    places = QK:get_slice(0):partition_C(identity_tensor{ROWS, keys}), -- of thread 0
    PV = mma_of(variant, depth_v, "RS"),
    Q = tile_to_shape(k_major, {ROWS, depth, groups}),
    K = tile_to_shape(k_major, {keys, depth, stages}),
    V = V, raw = raw,
    O = tile_to_shape(gmma_layout(variant.out, "K", 128), {ROWS, PANEL, groups}),
    like_O = like_O,
    store_O = tiled_copy_C(atom("SM90_U32x4_STSM_N", variant.out), like_O),
    Q_bytes = ROWS * depth * bytes, K_bytes = keys * depth * bytes,
    V_bytes = keys * depth_v * bytes,
  }
end

-- {====== A group that multiplies ======

local function of_first_lane(x) return shfl_idx(x, 0) end

local Group = {}
Group.__index = Group

local function new_group(variant, plan, args, smem, bars)
  local number, thread = of_first_lane(threadIdx.x // GROUP) - 1, threadIdx.x % GROUP
  local qk, pv = plan.QK:get_slice(thread), plan.PV:get_slice(thread)
  local self = { variant = variant, plan = plan, args = args, bars = bars, number = number,
    thread = thread, is_first = thread == 0,
    sQ = qk:partition_A(smem.Q(_, _, number)), sK = qk:partition_B(smem.K),
    sV = pv:partition_B(smem.V),
    S = fragment(f32, plan.QK:partition_shape_C{ROWS, variant.keys}),
    O = fragment(f32, plan.PV:partition_shape_C{ROWS, variant.depth_v}),
    P = not variant.narrow and fragment(variant.dtype,
      plan.QK:partition_shape_C{ROWS, variant.keys}) or nil,
    places = qk:partition_C(identity_tensor{ROWS, variant.keys}),
    places_O = pv:partition_C(identity_tensor{ROWS, variant.depth_v}),
    q = pipeline_state(1), k = pipeline_state(variant.stages), v = pipeline_state(variant.stages),
    mine = named_barrier(1 + number, 2 * GROUP),
    next = named_barrier(1 + (number + 1) % plan.groups, 2 * GROUP),
    together = named_barrier(1 + plan.groups + number, GROUP),
    sO = smem.O(_, _, number) }
  self.rows = softmax.new_rows(self.S)
  self.rows.threes = true
  self.takes_turns = variant.ring ~= false and not (variant.ring == "full" and variant.causal)
  if variant.narrow then
    self.P = narrow.new_P(plan.PV, ROWS, variant.keys)
    self.is_plain = not variant.score and variant.scaled ~= "blocks"
  end
  return setmetatable(self, Group)
end

function Group:release(empty, state)
  if self.is_first then empty[state.slot]:arrive() end
  state:advance()
end

-- Waits for the group's turn to issue products, and hands it on, if the groups take turns.
function Group:enter()
  if self.takes_turns then self.mine:sync() end
end

function Group:leave()
  if self.takes_turns then self.next:arrive() end
end

function Group:multiply_QK()
  wgmma_fence()
  gemm(self.plan.QK, self.sQ, self.sK(_, _, _, self.k.slot), self.S, {accumulate = false})
  wgmma_commit()
end

function Group:multiply_PV()
  local plan = self.plan
  wgmma_fence()
  gemm(plan.PV, self.variant.narrow and self.P or plan.PV:retile_A(self.P, plan.QK),
    self.sV(_, _, _, self.v.slot), self.O)
  wgmma_commit()
end

function Group:pack_P()
  if self.variant.narrow then
    narrow.pack(self.S, self.P)
  else
    copy(cast(self.S, self.variant.dtype), self.P)
  end
end

-- S becomes probabilities; returns whether O must be rescaled.
function Group:softmax(c, masked, is_first, of_values)
  local variant = self.variant
  return softmax.softmax(self.S, self.rows, c, masked, is_first, variant.lazy,
    variant.narrow and narrow.lift(variant) or nil, of_values)
end

-- Row r of the thread's two, of the sequence's queries.
function Group:row(at, r) return at.row + softmax.row_of(self.places, r)[{0, 0}][1] end

-- Some of the block's probabilities are dropped, if the variant says so.
function Group:drop(at, n)
  scores.drop(self.variant, self.args.operands, self.S, self.places,
    function(r) return self:row(at, r) end, n * self.variant.keys, at)
end

-- What multiplies the block's products of queries and keys, and its values if those have scales of
-- blocks.
function Group:factors(at, n)
  local c, args = at.c or self.args.c, self.args
  if self.variant.scaled ~= "blocks" then return c end
  local of_scores, of_values = scales.of_block(args.scales, at, at.head // args.group, n)
  return c * of_scores, of_values
end

-- What the block's scores become by masks and scores; returns what softmax multiplies them by.
function Group:score(at, n, masked, c)
  local variant = self.variant
  if variant.score then
    variant.score:block(self.args.operands, self.S, self.places, self.plan.places,
      function(r) return self:row(at, r) end, n * variant.keys, at, c, masked)
    return variant.score:factor(c)
  end
  if masked then self:mask(at, n) end
  return c
end

-- Of the block n the columns that the thread's two rows see.
function Group:mask(at, n)
  local limits = fragment(i32, 2)
  for r = 0, 1 do
    local limit = at.n_k
    if self.variant.causal then limit = min(limit, self:row(at, r) + at.n_k - at.n_q + 1) end
    limits[r] = limit - n * self.variant.keys
  end
  softmax.mask(self.S, self.places, limits)
end

-- The last block of keys that the group sees, which comes first.
function Group:begin(at, n)
  local bars = self.bars
  local c, of_values = self:factors(at, n)
  bars.K_full[self.k.slot]:wait(self.k.parity)
  self:enter()
  self:multiply_QK()
  self:leave()
  wgmma_wait(0)
  self:release(bars.K_empty, self.k)
  self:softmax(self:score(at, n, true, c), true, true, of_values)
  self:drop(at, n)
  self:pack_P()
  clear(self.O)
end

-- Block n: its scores, and the values of the block before.
function Group:step(at, n, masked)
  local bars, rows = self.bars, self.rows
  local c, of_values = self:factors(at, n)
  bars.K_full[self.k.slot]:wait(self.k.parity)
  self:enter()
  self:multiply_QK()
  bars.V_full[self.v.slot]:wait(self.v.parity)
  self:multiply_PV()
  self:leave()
  wgmma_wait(1)
  self:release(bars.K_empty, self.k)
  if self.is_plain and not masked then
    narrow.softmax(self, c, function()
      wgmma_wait(0)
      self:release(bars.V_empty, self.v)
    end)
    return
  end
  local grows = self:softmax(self:score(at, n, masked, c), masked, false, of_values)
  self:drop(at, n)
  wgmma_wait(0)
  self:release(bars.V_empty, self.v)
  self:pack_P()
  if grows then softmax.scale_rows(self.O, rows.shrink) end
end

-- The values of the last block; then O is divided by the sums.
function Group:finish(at)
  local bars, rows, args = self.bars, self.rows, self.args
  if self.is_first then bars.Q_empty[self.number]:arrive() end
  bars.V_full[self.v.slot]:wait(self.v.parity)
  self:multiply_PV()
  local factors = scores.finish(self.variant, rows, args.operands, at)
  if self.variant.lse then
    softmax.store_lse(rows, args.LSE, at, self.thread, function(r) return self:row(at, r) end)
  end
  wgmma_wait(0)
  self:release(bars.V_empty, self.v)
  local by = scales.of_result(args.scales, at, at.head // args.group)
  if by ~= nil then
    for r = 0, rows.n - 1 do factors[r] = factors[r] * by end
  end
  softmax.scale_rows(self.O, factors)
end

-- Blocks of which the group sees nothing: it passes the barriers, so that the others go on.
function Group:pass(n_blocks)
  local bars = self.bars
  for _ in range(n_blocks) do
    bars.K_full[self.k.slot]:wait(self.k.parity)
    self:enter()
    self:leave()
    self:release(bars.K_empty, self.k)
    bars.V_full[self.v.slot]:wait(self.v.parity)
    self.together:sync() -- else the slot may be filled again while a warp of the group waits for it
    self:release(bars.V_empty, self.v)
  end
end

-- The same where there are masks or scores.
function Group:each_scored_block(at)
  local variant = self.variant
  self:begin(at, tables.block(at, 0))
  if at.list ~= nil then
    for i in range(1, at.n_parts) do self:step(at, tables.block(at, i), true) end
    for i in range(max(at.n_parts, 1), tables.count(at)) do
      self:step(at, tables.block(at, i), false)
    end
    return
  end
  for _, span in ipairs(variant.score:spans(self.args.operands, at.row, min(at.row + ROWS, at.n_q),
    at, variant.keys, at.first, at.n_blocks)) do
    for i in range(span.to - span.from) do self:step(at, span.to - 1 - i, span.masked) end
  end
end

-- The tile's blocks of keys from the last to the first.
function Group:each_block(at)
  local variant = self.variant
  if variant.score then
    self:each_scored_block(at)
    return
  end
  local last, n_plain = at.n_blocks - 1, at.n_blocks - 1 -- blocks 0 to n_plain - 1 are seen whole
  if variant.causal then
    local seen = at.row + at.n_k - at.n_q + 1 -- by the group's first row
    if variant.passes then
      last = min(last, max((seen + ROWS - 2) // variant.keys, 0))
      self:pass(at.n_blocks - 1 - last)
    end
    n_plain = min(max(seen, 0) // variant.keys, last)
  end
  self:begin(at, last)
  if variant.causal then
    for i in range(last - n_plain) do self:step(at, last - 1 - i, true) end
  end
  for i in range(n_plain) do self:step(at, n_plain - 1 - i, false) end
end

function Group:tile(at)
  self.bars.Q_full[self.number]:wait(self.q.parity)
  if at.row < at.n_q then
    self:each_block(at)
    self:finish(at)
    stores.store(self, at)
  else -- no rows in the tile
    self:pass(tables.count(at))
    if self.is_first then self.bars.Q_empty[self.number]:arrive() end -- all warps have seen Q_full
  end
  self.q:advance()
end

local function multiply_all(variant, plan, args, smem, bars)
  local group = new_group(variant, plan, args, smem, bars)
  if group.takes_turns then
    if group.number == plan.groups - 1 then group.next:arrive() end
  end
  load.each_tile(variant, args, of_first_lane, function(at)
    at.row = at.m * variant.rows + group.number * ROWS
    if args.scales then
      at.c = args.c * scales.of_queries(args.scales, at, at.head // args.group, at.row)
    end
    group:tile(at)
  end)
  if group.is_first then tma_store_wait(0) end
end

-- {====== The kernel ======

function M.make(variant)
  local plan = plan_of(variant)
  local dtype, stages, groups = variant.dtype, variant.stages, plan.groups

  return kernel(variant.name, function(Q, K, V, O, LSE, tiles, heads, group, c, ...)
    local args = { Q = Q, K = K, V = V, O = O, LSE = LSE, tiles = tiles, heads = heads,
                   group = group, c = c, n_q = size(Q, 0), n_k = size(K, 0) }
    local rest
    args.table, rest = paged.split(variant, ...)
    args.scales, rest = scales.split(variant, table.unpack(rest, 1, rest.n))
    args.list, args.operands = blocks.split(variant, table.unpack(rest, 1, rest.n))
    local smem = { Q = shared(dtype, plan.Q), K = shared(dtype, plan.K), V = shared(dtype, plan.V),
                   O = shared(variant.out, plan.O) }
    local bars = { Q_full = mbarrier(groups, 1), Q_empty = mbarrier(groups, 1),
                   K_full = mbarrier(stages, 1), K_empty = mbarrier(stages, groups),
                   V_full = mbarrier(stages, variant.narrow and narrow.n_turners or 1),
                   V_empty = mbarrier(stages, groups) }
    if load.clears(variant) then bars.V_part = mbarrier(1, 1) end
    if variant.narrow then
      smem.raw = shared(dtype, plan.raw)
      local n = narrow.raw_stages(variant)
      bars.raw_full, bars.raw_empty = mbarrier(n, 1), mbarrier(n, narrow.n_turners)
    end
    sync_threads()
    if threadIdx.x < GROUP then
      setmaxnreg(variant.registers[1])
      load.all(variant, plan, args, smem, bars)
    else
      setmaxnreg(variant.registers[2])
      multiply_all(variant, plan, args, smem, bars)
    end
  end, {min_blocks = 1, emission = variant.emission})
end

-- {====== The launch ======

-- A prediction is of the device's grid.
local function n_blocks_of(p)
  if p.device == "cpu" and not devices.predicted then return CPU_BLOCKS end
  return devices.n_sms(device())
end

function M.plan(p, kernel, variant)
  local n = n_blocks_of(p)
  local shape = { rows = variant.rows, keys = variant.keys, group_rows = ROWS }
  local none = zeros(f32, {1, 1, 1}):to(p.device)
  return { kernel = kernel,
           launch = { grid = n, block = M.n_threads(variant), stream = p.stream },
           args = { tma.mapped(p.Q, 2), tma.mapped(p.K, 2), tma.mapped(p.V, 2),
                    tma.mapped(p.O, 2), p.LSE or none,
                    tables.table_of(p, shape, n), u32(p.heads), p.heads // p.kv_heads,
                    scores.factor(p), blocks.last_operands(p, variant) } }
end

return M
