-- attention_mma.lua: attention by the tensor cores of GPUs from sm_75 on, as FlashAttention-2 does
-- it. A block has one tile of queries, a warp 16 or 32 of its rows. Q stays in shared memory, which
-- has room for one block of keys and one of values: values come, by cp.async, while scores are
-- computed, and the next keys during softmax and the product with the values. The last block of
-- keys, of which rows may be missing, comes first. P, which is S packed, is an operand in the
-- registers where it is. Each block has one tile, in the order of attention_schedule.lua.
-- Fields of its configurations:
--   rows, keys  the queries of a tile, and the keys of a block
--   warps       of a block; each has rows / warps queries
--   depth       of a head, at most; the kernel's is the next multiple of 32 or 64, filled up with
--               zeros
--   atoms       of the MMA, by type, where they are not those of sm_80
local blocks = require "cuttle.attention_blocks"
local decode_tiles = require "cuttle.attention_decode_tiles"
local paged = require "cuttle.attention_pages"
local scores = require "cuttle.attention_score"
local softmax = require "cuttle.attention_softmax"
local tables = require "cuttle.attention_tiles"
local M = {}

local WARP <const>, ATOM_ROWS <const>, WIDE <const> = 32, 16, 8 -- WIDE: elements of 16 bytes
local AHEAD <const> = 1 -- pieces of an operand in registers before they are multiplied
local LINE <const> = 64 -- elements of a line of shared memory, which has all banks once

local atoms <const> = decode_tiles.atoms

local function atom_of(config, dtype) return (config.atoms or atoms)[dtype.name] end

local function n_threads(config) return WARP * config.warps end

--- The depths of the kernel for a problem, of queries and of values: whole lines, or half lines,
--- which come 32 rows at a time.
function M.depth_of(config, p)
  local step = config.keys % 32 == 0 and LINE // 2 or LINE
  return cdiv(p.depth, step) * step, cdiv(p.depth_v, step) * step
end

--- Of a block's tiles of Q, K and V.
function M.shared_bytes(config, p)
  local depth, depth_v = M.depth_of(config, p)
  return ((config.rows + config.keys) * depth + config.keys * depth_v) * p.dtype.bits // 8
end

--- See attention.lua.
function M.heads_trouble(config, p)
  if not atom_of(config, p.dtype) then
    return "its kernel computes " .. (config.atoms and "f16" or "bf16 and f16")
  end
  if math.max(p.depth, p.depth_v) > config.depth then
    return ("its kernel computes D up to %d"):format(config.depth)
  end
  if p.n_k == 0 then return "there are no keys" end
end

--- See attention.lua.
function M.trouble(config, p)
  local depth, depth_v = M.depth_of(config, p)
  local why = M.heads_trouble(config, p) or tables.trouble(p, config.rows)
  if why or not p.page_size then return why end
  if depth ~= p.depth or depth_v ~= p.depth_v then
    return ("its kernel takes pages of rows of %d and %d columns"):format(depth, depth_v)
  end
  return decode_tiles.trouble(p)
end

--- See attention.lua.
function M.order(config, p)
  return { { "scores", ("mma of k = %d over a depth of %d"):format(config.atoms and 8 or 16,
             M.depth_of(config, p)) },
           { "blocks", ("%d keys each, the last block first"):format(config.keys) } }
end

-- {====== What is known before the trace ======

-- Rows in shared memory, from which ldmatrix reads 8 without conflicts.
local function swizzled(rows, depth)
  local line = depth % LINE == 0 and LINE or LINE // 2
  local bits = line == LINE and 3 or 2
  return tile_to_shape(composition(swizzle(bits, 3, 3), row_major{8, line}),
    {rows, depth}), line
end

-- Copies of rows in lines of so many elements, as wide as strides allow.
local function mover_of(variant, line)
  local across = line // WIDE
  return tiled_copy(atom("UniversalCopy<u16>", variant.dtype),
    row_major{n_threads(variant) // across, across}, row_major{1, WIDE})
end

local function plan_of(variant)
  local dtype, rows, keys, depth = variant.dtype, variant.rows, variant.keys, variant.depth
  local mma = tiled_mma(atom_of(variant, dtype), layout{variant.warps, 1, 1},
    {ATOM_ROWS * variant.warps, 16, 16})
  local by_16, transposed = atom("SM75_U32x4_LDSM_N", dtype), atom("SM75_U16x8_LDSM_T", dtype)
  local Q, line = swizzled(rows, depth)
  local V, line_v = swizzled(keys, variant.depth_v)
  local has_room = line_v == line and variant.depth_v <= depth
  return {
    mma = mma, Q = Q, K = swizzled(keys, depth), V = V,
    -- O in Q's memory, whose swizzle it keeps.
    O = has_room and tile_to_shape(row_major{8, line}, {rows, variant.depth_v}),
    has_room = has_room,
    places = mma:get_slice(0):partition_C(identity_tensor{rows, keys}), -- of thread 0
    read_Q = tiled_copy_A(by_16, mma), read_K = tiled_copy_B(by_16, mma),
    read_V = tiled_copy_B(transposed, mma),
    move = mover_of(variant, line), move_v = mover_of(variant, line_v),
  }
end

-- {====== Tiles in global memory ======

-- Rows from `first` on, nil: 0, of a head of t (S,D,H,B).
local function head_of(t, first, head, batch)
  local matrix = t(_, _, head, batch)
  if first == nil then return matrix end
  return view(matrix(first, _), layout({size(t, 0), size(t, 1)}, {stride(t, 0), stride(t, 1)}))
end

-- The same as tiles (rows, depth, tile) of n rows in all, of which the last one may overhang. `of`
-- has the kernel's depth, and whether it is the matrix's, is_whole.
local function overhanging(of, matrix, n, rows)
  local d = of.is_whole and of.depth or size(matrix, 1)
  local all = view(matrix, layout({n, d}, {stride(matrix, 0), stride(matrix, 1)}))
  return tile(guard(all), {rows, of.depth}, {_, 0})
end

-- The same of tiles that do not, but in depth.
local function whole(of, matrix, n, rows)
  local d = of.is_whole and of.depth or size(matrix, 1)
  local row, column = stride(matrix, 0), stride(matrix, 1)
  local all = view(matrix, layout({rows, d, n // rows}, {row, column, rows * row}))
  if not of.is_whole then all = guard(all) end
  return tile(all, {rows, of.depth}, {0, 0})
end

-- The variant, of values and results.
local function values_of(variant)
  return { depth = variant.depth_v, is_whole = variant.is_whole_v }
end

-- {====== A block's threads ======

-- What the table says of the block's only tile.
local function tile_of(variant, args)
  local numbers = {}
  for j = 0, tables.n_fields(variant) - 1 do numbers[j] = args.tiles[{j, 1, blockIdx.x}] end
  return tables.read(variant, args, numbers)
end

local Block = {}
Block.__index = Block

local function new_block(variant, plan, args, smem)
  local at = tile_of(variant, args)
  local thr, mover = plan.mma:get_slice(threadIdx.x), plan.move:get_slice(threadIdx.x)
  local mover_v = plan.move_v:get_slice(threadIdx.x)
  local read_Q, read_K = plan.read_Q:get_slice(threadIdx.x), plan.read_K:get_slice(threadIdx.x)
  local read_V, sV = plan.read_V:get_slice(threadIdx.x), select(smem.V, 1, 0) -- (depth, keys)
  local kv_head = at.head // args.group
  local Q = head_of(args.Q, at.q, at.head, at.batch)
  local function sources(of, by, t)
    if variant.page_size then return t end
    local matrix = head_of(t, at.k, kv_head, at.batch)
    return { last = by:partition_S(overhanging(of, matrix, at.n_k, variant.keys)),
             other = by:partition_S(whole(of, matrix, at.n_k, variant.keys)) }
  end
  local self = { variant = variant, plan = plan, args = args, at = at, smem = smem, thr = thr,
    mover_v = mover_v,
    gQ = mover:partition_S(overhanging(variant, Q, at.n_q, variant.rows)),
    gK = sources(variant, mover, args.K), gV = sources(values_of(variant), mover_v, args.V),
    to_Q = mover:partition_D(smem.Q), to_K = mover:partition_D(smem.K),
    to_V = mover_v:partition_D(smem.V),
    Q = thr:partition_fragment_A(smem.Q), K = thr:partition_fragment_B(smem.K),
    V = thr:partition_fragment_B(sV),
    from_Q = read_Q:partition_S(smem.Q), from_K = read_K:partition_S(smem.K),
    from_V = read_V:partition_S(sV),
    S = fragment(f32, plan.mma:partition_shape_C{variant.rows, variant.keys}),
    O = fragment(f32, plan.mma:partition_shape_C{variant.rows, variant.depth_v}),
    place = thr:partition_C(identity_tensor{variant.rows, variant.keys}) }
  self.P = fragment(variant.dtype, plan.mma:partition_shape_C{variant.rows, variant.keys})
  self.words_Q, self.words_K = read_Q:retile_D(self.Q), read_K:retile_D(self.K)
  self.words_V = read_V:retile_D(self.V)
  self.rows = softmax.new_rows(self.S)
  return setmetatable(self, Block)
end

-- Rows of block n of t, K or V, by their pages; those beyond the last one are zeros.
function Block:copy_pages(t, s, n)
  local at, keys, zeros = self.at, self.variant.keys, fragment(s.dtype, WIDE)
  clear(zeros)
  decode_tiles.each_part(keys, size(s, 1), WIDE, threadIdx.x, n_threads(self.variant),
    function(row, j)
      local k, to = n * keys + row, tile(s(row, _), {WIDE}, {j})
      if k < at.n_k then
        local from = paged.row(self.variant, self.args, at, t, at.head // self.args.group, k)
        copy(tile(from, {WIDE}, {j}), to)
      else
        copy(zeros, to)
      end
    end)
end

-- "K" or "V", keys or values, of block n are on their way.
function Block:fetch(name, n, is_last)
  local from = self["g" .. name]
  if self.variant.page_size then
    self:copy_pages(from, self.smem[name], n)
  else
    local tiles = is_last and from.last or from.other
    copy(tiles(_, _, _, n), self["to_" .. name])
  end
  cp_async_commit()
end

-- What was on its way is there, and all threads are done with what it replaces next.
local function arrive()
  cp_async_wait(0)
  sync_threads()
end

-- C += A B' by pieces of B, 16 columns at a step of K, which an ldmatrix brings to registers, AHEAD
-- of their product. `read_A(k)` brings a step of A, one step ahead; nil: A is there.
local function product(plan, A, B, C, from, words, atom, read_A)
  local n, n_steps = size(words, 1), size(words, 2)
  local n_k = size(B, 2) // n_steps -- K of atoms in a step
  local function read(i)
    if i < n * n_steps then copy(atom, from(_, i % n, i // n), words(_, i % n, i // n)) end
  end
  if read_A then read_A(0) end
  for i = 0, AHEAD - 1 do read(i) end
  for k = 0, n_steps - 1 do
    if read_A and k + 1 < n_steps then read_A(k + 1) end
    for j = 0, n - 1 do
      read(k * n + j + AHEAD)
      gemm(plan.mma, tile(A, {size(A, 0), size(A, 1), n_k}, {0, 0, k}),
        tile(B, {size(B, 0), 2, n_k}, {0, j, k}), tile(C, {size(C, 0), size(C, 1), 2}, {0, 0, j}))
    end
  end
end

--- For the gradients, whose kernels are built of the same pieces.
M.atoms, M.swizzled, M.head_of, M.overhanging, M.product = atoms, swizzled, head_of, overhanging,
  product

function Block:multiply_QK()
  local plan = self.plan
  clear(self.S)
  product(plan, self.Q, self.K, self.S, self.from_K, self.words_K, plan.read_K, function(k)
    copy(plan.read_Q, self.from_Q(_, _, k), self.words_Q(_, _, k))
  end)
end

function Block:multiply_PV()
  local plan = self.plan
  copy(cast(self.S, self.variant.dtype), self.P)
  product(plan, plan.mma:retile_A(self.P), self.V, self.O, self.from_V, self.words_V, plan.read_V)
end

-- Row r of the thread's, of the sequence's queries.
function Block:row(r)
  return self.at.m * self.variant.rows + softmax.row_of(self.place, r)[{0, 0}][1]
end

-- Some of the block's probabilities are dropped, if the variant says so.
function Block:drop(n)
  scores.drop(self.variant, self.args.operands, self.S, self.place,
    function(r) return self:row(r) end, n * self.variant.keys, self.at)
end

-- What the block's scores become by masks and scores.
function Block:score(n, masked)
  local variant, at = self.variant, self.at
  variant.score:block(self.args.operands, self.S, self.place, self.plan.places,
    function(r) return self:row(r) end, n * variant.keys, at, self.args.c, masked)
end

-- Of the block n the columns that each row sees, counted from the thread's first one, so that its
-- columns are thread 0's: constants.
function Block:mask(n)
  local variant, at, limits = self.variant, self.at, fragment(i32, self.rows.n)
  local first = n * variant.keys + self.place(0, 0, 0)[2]
  for r = 0, self.rows.n - 1 do
    local limit = at.n_k
    if variant.causal then limit = min(limit, self:row(r) + at.n_k - at.n_q + 1) end
    limits[r] = limit - first
  end
  softmax.mask(self.S, self.plan.places, limits)
end

-- The block behind block n, the i-th one of a list, if there is one, is on its way.
function Block:fetch_next(n, i)
  local at = self.at
  if at.list == nil then
    if n > (at.first or 0) then self:fetch("K", n - 1, false) end
  else
    if i + 1 < tables.count(at) then self:fetch("K", tables.block(at, i + 1), false) end
  end
end

-- Block n of keys, the i-th one of a list, which is on its way; the next one is when this ends.
function Block:step(n, masked, is_first, i)
  local rows = self.rows
  arrive()
  self:fetch("V", n, is_first)
  self:multiply_QK()
  local c = self.args.c
  if self.variant.score then
    self:score(n, masked)
    c = self.variant.score:factor(c)
  elseif masked then
    self:mask(n)
  end
  arrive()
  self:fetch_next(n, i)
  local grows = softmax.softmax(self.S, rows, c, masked, is_first, self.variant.lazy)
  if is_first then
    clear(self.O)
  elseif grows then
    softmax.scale_rows(self.O, rows.shrink)
  end
  self:drop(n)
  self:multiply_PV()
end

-- The blocks below the last one, where there are masks or scores.
function Block:each_scored_step()
  local variant, at = self.variant, self.at
  if at.list ~= nil then
    for i in range(1, at.n_parts) do self:step(tables.block(at, i), true, false, i) end
    for i in range(max(at.n_parts, 1), tables.count(at)) do
      self:step(tables.block(at, i), false, false, i)
    end
    return
  end
  local first = at.m * variant.rows
  for _, span in ipairs(variant.score:spans(self.args.operands, first,
    min(first + variant.rows, at.n_q), at, variant.keys, at.first, at.n_blocks)) do
    for i in range(span.to - span.from) do self:step(span.to - 1 - i, span.masked, false) end
  end
end

-- The tile's blocks of keys from the last to the first.
function Block:each_step()
  local variant, at = self.variant, self.at
  local last = tables.block(at, 0)
  local n_plain = last -- blocks 0 to n_plain - 1 are seen whole
  copy(self.gQ(_, _, _, at.m), self.to_Q)
  self:fetch("K", last, true)
  if variant.causal then
    local seen = at.m * variant.rows + at.n_k - at.n_q + 1 -- by the tile's first row
    n_plain = min(max(seen, 0) // variant.keys, last)
  end
  self:step(last, true, true, 0)
  if variant.score then
    self:each_scored_step()
    return
  end
  if variant.causal then
    for i in range(last - n_plain) do self:step(last - 1 - i, true, false) end
  end
  for i in range(n_plain) do self:step(n_plain - 1 - i, false, false) end
end

-- O (rows,depth) in Q's shared memory.
function Block:memory_of_O()
  if self.variant.depth_v == self.variant.depth then return self.smem.Q end
  return view(self.smem.Q, self.plan.O)
end

-- O by way of Q's shared memory, in wide stores; of another type, or without room, from registers.
function Block:store()
  local variant, at, O = self.variant, self.at, self.args.O
  local matrix = head_of(O, at.q, at.head, at.batch)
  local gO = overhanging(values_of(variant), matrix, at.n_q, variant.rows)(_, _, at.m)
  if O.dtype ~= variant.dtype or not self.plan.has_room then
    copy(cast(self.O, O.dtype), self.thr:partition_C(gO))
    return
  end
  copy(cast(self.O, variant.dtype), self.thr:partition_C(self:memory_of_O()))
  sync_threads()
  copy(self.mover_v:partition_S(self:memory_of_O()), self.mover_v:partition_D(gO))
end

function Block:finish()
  self.at = tile_of(self.variant, self.args) -- once more, as the loop has no registers for it
  local at, args, rows = self.at, self.args, self.rows
  softmax.scale_rows(self.O, scores.finish(self.variant, rows, args.operands, at))
  if self.variant.lse then
    softmax.store_lse(rows, args.LSE, at, threadIdx.x, function(r) return self:row(r) end)
  end
  self:store()
end

-- {====== The kernel ======

function M.make(variant)
  local plan, dtype = plan_of(variant), variant.dtype

  return kernel(variant.name, function(Q, K, V, O, LSE, tiles, heads, group, c, ...)
    local args = { Q = Q, K = K, V = V, O = O, LSE = LSE, tiles = tiles, heads = heads,
                   group = group, c = c, n_q = size(Q, 0), n_k = size(K, 0) }
    local rest
    args.table, rest = paged.split(variant, ...)
    args.list, args.operands = blocks.split(variant, table.unpack(rest, 1, rest.n))
    local smem = { Q = shared(dtype, plan.Q), K = shared(dtype, plan.K),
                   V = shared(dtype, plan.V) }
    local block = new_block(variant, plan, args, smem)
    block:each_step()
    block:finish()
  end, {min_blocks = variant.min_blocks, emission = variant.emission})
end

function M.plan(p, kernel, variant)
  local shape = { rows = variant.rows, keys = variant.keys, group_rows = variant.rows }
  local tiles = tables.table_of(p, shape)
  local none = zeros(f32, {1, 1, 1}):to(p.device)
  return { kernel = kernel,
           launch = { grid = size(tiles, 2), block = n_threads(variant), stream = p.stream },
           args = { p.Q, p.K, p.V, p.O, p.LSE or none, tiles, u32(p.heads),
                    p.heads // p.kv_heads, scores.factor(p), blocks.last_operands(p, variant) } }
end

return M
