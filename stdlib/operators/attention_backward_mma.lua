-- attention_backward_mma.lua: the gradients of attention by the tensor cores of GPUs from sm_80 on,
-- by two kernels, which compute the scores again: one for dQ, one for dK and dV. All runs have the
-- same bits. A block owns a tile of rows, 16 for each warp: queries, or keys. It goes through tiles
-- of columns, keys or queries, which cp.async brings while the tile before is multiplied. Of each:
--   S = own1 other1', dP = own2 other2'    own: Q and dO, or K and V; other: the others
--   P = exp2(c S - L), dS = P (dP - D)
--   dQ += dS K                             of queries
--   dK += dS Q, dV += P dO                 of keys
-- P and dS, packed, are operands in the registers where they are. Fields of configurations:
--   rows, columns  of a tile
--   warps          of a block; each has rows / warps of the rows
--   depth          of a head, at most; the kernel's, for queries and values, is the next multiple
--                  of 32 or 64
local mma = require "cuttle.attention_mma"
local packed = require "cuttle.attention_backward_packed"
local rows_of = require "cuttle.attention_backward_rows"
local softmax = require "cuttle.attention_softmax"
local M = {}

local WARP <const>, ATOM_ROWS <const>, WIDE <const>, STAGES <const> = 32, 16, 8, 2

function M.trouble(config, p)
  if not mma.atoms[p.dtype.name] then return "its kernel computes bf16 and f16" end
  if math.max(p.depth, p.depth_v) > config.depth then
    return ("its kernel computes D up to %d"):format(config.depth)
  end
  if p.n_q == 0 or p.n_k == 0 or p.heads == 0 then return "there are no queries or no keys" end
  if p.O.dtype ~= p.dtype then
    return ("O is %s, and its kernel takes Q's type"):format(p.O.dtype)
  end
end

function M.variant(p, config)
  local depth = math.max(mma.depth_of({ keys = config.columns }, p))
  return { depth = depth, is_whole = depth == p.depth and depth == p.depth_v }
end

-- {====== What is known before the trace ======

local function plan_of(variant)
  local dtype, rows, columns, depth = variant.dtype, variant.rows, variant.columns, variant.depth
  local product = tiled_mma(mma.atoms[dtype.name], layout{variant.warps, 1, 1},
    {ATOM_ROWS * variant.warps, 16, 16})
  local by_16, transposed = atom("SM75_U32x4_LDSM_N", dtype), atom("SM75_U16x8_LDSM_T", dtype)
  local own, line = mma.swizzled(rows, depth)
  local across = line // WIDE
  return {
    mma = product, own = own,
    other = tile_to_shape(mma.swizzled(columns, depth), {columns, depth, STAGES}),
    read_own = tiled_copy_A(by_16, product), read_other = tiled_copy_B(by_16, product),
    read_across = tiled_copy_B(transposed, product),
    move = tiled_copy(atom("UniversalCopy<u16>", dtype),
      row_major{WARP * variant.warps // across, across}, row_major{1, WIDE}),
  }
end

-- {====== A block ======

local Block = {}
Block.__index = Block

-- An operand of the first products: a tile in shared memory, and a step of it in registers.
local function own_operand(plan, s, thr)
  local reader, fragment_of = plan.read_own:get_slice(threadIdx.x), thr:partition_fragment_A(s)
  return { fragment = fragment_of, from = reader:partition_S(s),
           words = reader:retile_D(fragment_of) }
end

-- Tiles of the others: (rows,depth) for scores, and (depth,rows) for the sums.
local function other_operand(plan, s, thr)
  local one = s(_, _, 0)
  local across = select(s, 1, 0, 2)
  local reader, turned = plan.read_other:get_slice(threadIdx.x),
    plan.read_across:get_slice(threadIdx.x)
  local t = { B = thr:partition_fragment_B(one), Bt = thr:partition_fragment_B(across(_, _, 0)),
              from = reader:partition_S(s), from_t = turned:partition_S(across) }
  t.words, t.words_t = reader:retile_D(t.B), turned:retile_D(t.Bt)
  return t
end

local function new_block(variant, plan, args, smem)
  local thr, mover = plan.mma:get_slice(threadIdx.x), plan.move:get_slice(threadIdx.x)
  local of_scores = plan.mma:partition_shape_C{variant.rows, variant.columns}
  local self = { variant = variant, plan = plan, args = args, smem = smem, thr = thr,
    mover = mover, own = {}, other = {}, to_other = {}, sums = {},
    S = fragment(f32, of_scores), dP = fragment(f32, of_scores),
    P = fragment(variant.dtype, of_scores), dS = fragment(variant.dtype, of_scores),
    place = thr:partition_C(identity_tensor{variant.rows, variant.columns}) }
  for i = 1, 2 do
    self.own[i] = own_operand(plan, smem.own[i], thr)
    self.other[i] = other_operand(plan, smem.other[i], thr)
    self.to_other[i] = mover:partition_D(smem.other[i])
  end
  for i = 1, variant.of_keys and 2 or 1 do
    self.sums[i] = fragment(f32, plan.mma:partition_shape_C{variant.rows, variant.depth})
    clear(self.sums[i])
  end
  return setmetatable(self, Block)
end

-- Tiles (rows,depth,tile) of a head's rows, of packed sequences its sequence's.
function Block:tiles_of(t, first, head, n, rows)
  local matrix = mma.head_of(t, first, head, self.args.batch)
  return self.mover:partition_S(mma.overhanging(self.variant, matrix, n, rows))
end

-- Tile m of the others is on its way; of queries L and D too.
function Block:fetch(from, m, slot, head)
  for i = 1, 2 do copy(from[i](_, _, _, m), self.to_other[i](_, _, _, slot)) end
  cp_async_commit()
  local variant, args, smem = self.variant, self.args, self.smem
  if variant.of_keys then
    local columns = variant.columns
    if threadIdx.x < columns then
      local row = args.first_row + m * columns + threadIdx.x
      smem.L[{threadIdx.x, slot}] = args.L[{row, head, args.batch}]
      smem.D[{threadIdx.x, slot}] = args.D[{row, head, args.batch}]
    end
  end
end

-- C = own other', of operand i.
function Block:multiply(i, C, slot)
  local plan, own, other = self.plan, self.own[i], self.other[i]
  clear(C)
  mma.product(plan, own.fragment, other.B, C, other.from(_, _, _, slot), other.words,
    plan.read_other, function(k) copy(plan.read_own, own.from(_, _, k), own.words(_, _, k)) end)
end

-- sums += packed other.
function Block:add(packed_one, i, sums, slot)
  local plan, other = self.plan, self.other[i]
  mma.product(plan, plan.mma:retile_A(packed_one), other.Bt, sums, other.from_t(_, _, _, slot),
    other.words_t, plan.read_across)
end

-- The query and the key of a place of the tile of columns that begins with `first`.
function Block:pair(own, other, first)
  own, other = self.args.first + own, first + other
  if self.variant.of_keys then return other, own end
  return own, other
end

-- The same as attention_score.lua takes them.
function Block:at(own, other, first)
  local args, query, key = self.args, self:pair(own, other, first)
  return { q = query, k = key, h = self.head, b = args.b, n_q = args.n_q, n_k = args.n_k }
end

-- Does the query see the key? Numbers of the sequence.
function Block:sees(query, key)
  local args = self.args
  local seen = query < args.n_q and key < args.n_k
  if self.variant.causal then seen = seen and key <= query + args.n_k - args.n_q end
  return seen
end

-- The same of the thread's element c of row r; `word`: of its square, if some drop.
function Block:weigh_one(r, c, first, slot, masked, word)
  local variant, smem, place = self.variant, self.smem, softmax.row_of(self.place, r)[c]
  local S, dP = softmax.row_of(self.S, r), softmax.row_of(self.dP, r)
  local own, other = place[1], place[2]
  local l, d
  if variant.of_keys then
    l, d = smem.L[{other, slot}], smem.D[{other, slot}]
  else
    l, d = self.L[r], self.D[r]
  end
  if variant.score then
    S[c], dP[c] = variant.score:weights(self.args.operands, self:at(own, other, first), S[c], dP[c],
      l, d, self.args.c, masked, fast.exp2, word)
  else
    local p = fast.exp2(S[c] * self.args.c - l)
    if masked then p = where(self:sees(self:pair(own, other, first)), p, 0.0) end
    S[c], dP[c] = p, p * (dP[c] - d)
  end
end

-- P and dS of a tile of columns where some are dropped: of a square together.
function Block:weigh_squares(first, slot, masked)
  local kind, of_keys = self.variant.score, self.variant.of_keys
  for r = 0, softmax.n_rows(self.S) - 1, 2 do
    local place = softmax.row_of(self.place, r)
    for j in range(size(place, 1) // 2) do
      for i = 0, 1 do
        local at = place[{i, 2 * j}]
        local words = kind:square(self.args.operands, self:at(at[1], at[2], first))
        for own = 0, 1 do
          for other = 0, 1 do
            local n = of_keys and 2 * other + own or 2 * own + other
            self:weigh_one(r + own, {i, 2 * j + other}, first, slot, masked, words[n + 1])
          end
        end
      end
    end
  end
end

-- P and dS of a tile of columns that begins with `first`.
function Block:weigh(first, slot, masked)
  local variant = self.variant
  if variant.score and variant.score.drops then
    self:weigh_squares(first, slot, masked)
  else
    for r = 0, softmax.n_rows(self.S) - 1 do
      for j in range(size(softmax.row_of(self.S, r), 1)) do
        for c = 0, 1 do self:weigh_one(r, {c, j}, first, slot, masked) end
      end
    end
  end
  copy(cast(self.S, variant.dtype), self.P)
  copy(cast(self.dP, variant.dtype), self.dS)
end

function Block:step(first, slot, masked)
  self:multiply(1, self.S, slot)
  self:multiply(2, self.dP, slot)
  self:weigh(first, slot, masked)
  self:add(self.dS, 1, self.sums[1], slot)
  if self.variant.of_keys then self:add(self.P, 2, self.sums[2], slot) end
end

-- What masks and scores know of the block's rows: columns from, to, whole_from, whole_to, as
-- attention_score.lua has them.
function Block:range()
  local variant, args = self.variant, self.args
  local n = variant.of_keys and args.n_k or args.n_q
  local of = variant.of_keys and variant.score.queries or variant.score.range
  return of(variant.score, args.operands, args.first, min(args.first + variant.rows, n), args)
end

-- The same as is_plain, by them.
function Block:is_plain_by_score(first)
  local variant, args = self.variant, self.args
  local last, _, _, from, to = first + variant.columns - 1, self:range()
  local plain = last < (variant.of_keys and args.n_q or args.n_k)
  if variant.of_keys then plain = plain and args.first + variant.rows <= args.n_k end
  if from ~= nil then plain = plain and first >= from end
  if to ~= nil then plain = plain and last < to end
  return plain
end

-- The tiles of columns of which the block's rows see something, of n columns: the first, and the
-- one behind the last.
function Block:tiles_seen(n)
  local from, to = self:range()
  local columns = self.variant.columns
  return from == nil and 0 or max(from, 0) // columns,
    cdiv(to == nil and n or max(min(to, n), 0), columns)
end

-- Does each of the block's rows see all columns from `first` on, or is there none of them?
function Block:is_plain(first)
  if self.variant.score then return self:is_plain_by_score(first) end
  local variant, args = self.variant, self.args
  local last = first + variant.columns - 1
  if variant.of_keys then
    local plain = args.first + variant.rows <= args.n_k and last < args.n_q
    if variant.causal then
      plain = plain and args.first + variant.rows - 1 <= first + args.n_k - args.n_q
    end
    return plain
  end
  local plain = last < args.n_k
  if variant.causal then plain = plain and last <= args.first + args.n_k - args.n_q end
  return plain
end

-- Tiles [m, last) of the others in a head.
function Block:each_tile(from, m, last, head)
  local columns, kind = self.variant.columns, self.variant.score
  sync_threads()
  if m < last then self:fetch(from, m, 0, head) end
  for i in range(m, last) do
    local slot = (i - m) % STAGES
    cp_async_wait(0)
    sync_threads()
    if i + 1 < last then self:fetch(from, i + 1, (i + 1 - m) % STAGES, head) end
    if kind and kind.is_scattered then
      self:step(i * columns, slot, true)
    elseif self:is_plain(i * columns) then
      self:step(i * columns, slot, false)
    else
      self:step(i * columns, slot, true)
    end
  end
end

-- The sums, multiplied, to rows of t.
function Block:store(sums, t, first, n, head, factor)
  local matrix = mma.head_of(t, first, head, self.args.batch)
  local tiles = mma.overhanging(self.variant, matrix, n, self.variant.rows)
  axpby(factor, sums, 0, sums)
  copy(cast(sums, t.dtype), self.thr:partition_C(tiles(_, _, self.args.n)))
end

-- {====== The kernels ======

local function new_smem(variant, plan)
  local function two(layout_of)
    return { shared(variant.dtype, layout_of), shared(variant.dtype, layout_of) }
  end
  local smem = { own = two(plan.own), other = two(plan.other) }
  if variant.of_keys then
    smem.L, smem.D = shared(f32, layout{variant.columns, STAGES}),
      shared(f32, layout{variant.columns, STAGES})
  end
  return smem
end

-- Where the block's tile is.
local function place_of(variant, args)
  args.batch, args.b, args.first_row = blockIdx.z, blockIdx.z, 0
  if variant.packed then
    local at = packed.read(variant, args.blocks, blockIdx.x, function(x) return x end)
    for key, value in pairs(at) do args[key] = value end
    args.first_row = args.first_tile * variant.rows
  else
    args.n_q, args.n_k, args.n = size(args.Q, 0), size(args.K, 0), blockIdx.x
  end
  args.first = args.n * variant.rows
  return args
end

local function run_queries(variant, plan, args)
  args = place_of(variant, args)
  local block = new_block(variant, plan, args, new_smem(variant, plan))
  local head, kv_head = blockIdx.y, blockIdx.y // args.group
  for i, t in ipairs{args.Q, args.dO} do
    local from = block:tiles_of(t, args.q, head, args.n_q, variant.rows)
    copy(from(_, _, _, args.n), block.mover:partition_D(block.smem.own[i]))
  end
  block.L, block.D = fragment(f32, softmax.n_rows(block.S)), fragment(f32, softmax.n_rows(block.S))
  for r = 0, softmax.n_rows(block.S) - 1 do
    local row = args.first_row + args.first + softmax.row_of(block.place, r)[{0, 0}][1]
    block.L[r], block.D[r] = args.L[{row, head, args.batch}], args.D[{row, head, args.batch}]
  end
  local first, last, seen = 0, nil, args.n_k
  block.head = head
  if variant.causal then
    seen = max(0, min(seen, min(args.first + variant.rows, args.n_q) + args.n_k - args.n_q))
  end
  local from = { block:tiles_of(args.K, args.k, kv_head, args.n_k, variant.columns),
                 block:tiles_of(args.V, args.k, kv_head, args.n_k, variant.columns) }
  if variant.score then first, last = block:tiles_seen(args.n_k) end
  block:each_tile(from, first, last or cdiv(seen, variant.columns), kv_head)
  block:store(block.sums[1], args.dQ, args.q, args.n_q, head, args.scale)
end

local function run_keys(variant, plan, args)
  args = place_of(variant, args)
  local block = new_block(variant, plan, args, new_smem(variant, plan))
  local kv_head, first = blockIdx.y, 0
  for i, t in ipairs{args.K, args.V} do
    local from = block:tiles_of(t, args.k, kv_head, args.n_k, variant.rows)
    copy(from(_, _, _, args.n), block.mover:partition_D(block.smem.own[i]))
  end
  if variant.causal then
    first = max(args.first - (args.n_k - args.n_q), 0) // variant.columns
  end
  local last
  if variant.score then
    block.head = kv_head * args.group
    first, last = block:tiles_seen(args.n_q)
  end
  for head in range(kv_head * args.group, (kv_head + 1) * args.group) do
    local from = { block:tiles_of(args.Q, args.q, head, args.n_q, variant.columns),
                   block:tiles_of(args.dO, args.q, head, args.n_q, variant.columns) }
    if variant.score then block.head = head end
    block:each_tile(from, first, last or cdiv(args.n_q, variant.columns), head)
  end
  block:store(block.sums[1], args.dK, args.k, args.n_k, kv_head, args.scale)
  block:store(block.sums[2], args.dV, args.k, args.n_k, kv_head, f32(1))
end

local function copy_of(variant, of_keys)
  return setmetatable({ of_keys = of_keys }, { __index = variant })
end

local function make_queries(given)
  local variant = copy_of(given, false)
  local plan = plan_of(variant)
  return kernel("attention_backward_dQ", function(Q, K, V, dO, L, D, dQ, group, c, scale, blocks,
                                                  ...)
    run_queries(variant, plan, { Q = Q, K = K, V = V, dO = dO, L = L, D = D, dQ = dQ,
      group = group, c = c, scale = scale, blocks = blocks, operands = {...} })
  end)
end

local function make_keys(given)
  local variant = copy_of(given, true)
  local plan = plan_of(variant)
  return kernel("attention_backward_dKV", function(Q, K, V, dO, L, D, dK, dV, group, c, scale,
                                                   blocks, ...)
    run_keys(variant, plan, { Q = Q, K = K, V = V, dO = dO, L = L, D = D, dK = dK, dV = dV,
      group = group, c = c, scale = scale, blocks = blocks, operands = {...} })
  end)
end

function M.make(variant) return { dQ = make_queries(variant), dKV = make_keys(variant) } end

-- {====== The launches ======

function M.plan(p, kernels, variant)
  return rows_of.two_kernels(p, kernels, { tile = variant.rows, rows = variant.rows,
    block = WARP * variant.warps, takes_blocks = true })
end

return M
