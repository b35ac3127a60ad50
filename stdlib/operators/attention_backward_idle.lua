-- attention_backward_idle.lua: what that warp of attention_backward_hopper.lua does that neither
-- loads nor adds: most of the work of the kernel before, attention_backward_rows.lua, which only
-- reads and writes memory, while the main one hardly uses it. While its block multiplies for a key
-- head, the warp makes L, D and the zeros of dQ's sum for the head `lead` heads behind. So the
-- kernel before is left with the first `lead` key heads. The blocks of a head share its rows. A
-- counter for each key head says how many blocks have made theirs. A block waits only for those of
-- the head `lead` before, which have lower numbers and so begin earlier, as with turns.
local n_sms = require "cuttle.profile_device".n_sms
local on_device = require "cuttle.operator_device"
local rows_of = require "cuttle.attention_backward_rows"
local tiles_of = require "cuttle.attention_backward_tiles"
local turns = require "cuttle.attention_backward_turns"
local M = {}

local WARP <const>, WIDTH <const> = 32, 8 -- WIDTH: elements of 16 bytes

-- Key heads from one to that for which its n_blocks blocks make rows. When blocks of a head begin,
-- those of the head so many before have begun, and most of them are done.
local function lead_of(p, config, n_blocks)
  local at_once = tiles_of.heads_at_once(p)
  if config.lead then return math.max(config.lead, at_once) end
  return cdiv(n_sms(on_device.target(p.device)) * 5 // 4, n_blocks) + at_once
end

--- The lead, or nil if the warp has nothing to do.
function M.lead(p, config, n_blocks)
  if not (config.idle and (p.causal or config.idle_full)) or p.deterministic or p.sequences
    or p.score or p.depth ~= p.depth_v then
    return
  end
  local lead = lead_of(p, config, n_blocks)
  return lead < p.kv_heads * p.batches and lead or nil
end

--- Shared memory of the warp, `idle` times 16 bytes of O and of dO for each lane, which reads what
--- it has copied there itself.
function M.buffer(variant)
  local part <const> = WIDTH * WARP
  return shared(variant.dtype, layout({WIDTH, 2, variant.idle, WARP}, {1, part, 2 * part, WIDTH}))
end

-- The block's key head, counted through all batches.
local function own_head(args) return args.batch * args.kv_heads + args.kv_head end

-- Calls f(h, b) for each head of the queries that read key head `head`.
local function each_head_of(args, head, f)
  local kv_head, b = head % args.kv_heads, head // args.kv_heads
  for h in range(kv_head * args.group, (kv_head + 1) * args.group) do f(h, b) end
end

-- The rows of n before those of a head's tile i of keys: shares are in proportion to what blocks
-- have to multiply.
local function rows_before(variant, args, n, i)
  if not variant.causal then return cast(cast(n, i64) * i // args.n_blocks, i32) end
  local all, left = cast(args.n_blocks, i64), cast(args.n_blocks - i, i64)
  return n - cast(n * left * left // (all * all), i32)
end

-- The block's share of n rows: the first, and the one after the last.
local function share(variant, args, n)
  local function before(i) return rows_before(variant, args, n, i) end
  return before(args.n), before(args.n + 1)
end

-- D of a row, of which each lane has a piece of O and of dO in x and y, and zeros in the sum.
local function make_sum(variant, args, x, y, at)
  local total = 0.0
  if at.is_there then
    local O, dO = fragment(variant.dtype, WIDTH), fragment(variant.dtype, WIDTH)
    copy(x, O)
    copy(y, dO)
    for j = 0, WIDTH - 1 do total = total + cast(O[j], f32) * cast(dO[j], f32) end
    rows_of.clear_piece(args.dQ, at.row, at.h, at.b, at.piece, WIDTH)
  end
  total = warp_reduce(total, "add", variant.depth // WIDTH)
  if at.is_there and at.piece == 0 then args.D[{at.row, at.h, at.b}] = total end
end

-- The same of rows [first, last), some at a time.
local function make_sums(variant, args, buffer, first, last, h, b)
  local lanes, lane, n = variant.depth // WIDTH, threadIdx.x % WARP, variant.idle
  local at_once = WARP // lanes
  local async = atom("SM80_CP_ASYNC_CACHEGLOBAL<u128>", variant.dtype)
  local function place(from, i)
    local at = { row = from + i * at_once + lane // lanes, piece = lane % lanes, h = h, b = b }
    at.is_there = at.row < last and at.piece < size(args.O, 1) // WIDTH
    return at
  end
  for from in range(first, last, at_once * n) do
    for i in range(n) do
      local at = place(from, i)
      if at.is_there then
        for j, t in ipairs { args.O, args.dO } do
          copy(async, tile(t(at.row, _, h, b), {WIDTH}, {at.piece}), buffer(_, j - 1, i, lane))
        end
      end
    end
    cp_async_commit()
    cp_async_wait(0)
    for i in range(n) do
      make_sum(variant, args, buffer(_, 0, i, lane), buffer(_, 1, i, lane), place(from, i))
    end
  end
end

-- L of rows [first, last), and D of those without a query.
local function make_rows(args, lane, first, last, h, b)
  for row in range(first + lane, last, WARP) do
    local l = f32(math.huge)
    if row < args.n_q then
      l = rows_of.to_base_2(cast(args.LSE[{row, h, b}], f32))
    else
      args.D[{row, h, b}] = 0.0
    end
    args.L[{row, h, b}] = l
  end
end

--- The warp: what the head `lead` behind needs.
function M.run(variant, args, buffer)
  local lane, head = threadIdx.x % WARP, own_head(args) + args.lead
  if head < args.kv_heads * size(args.K, 3) then
    each_head_of(args, head, function(h, b)
      local first, last = share(variant, args, size(args.L, 0))
      make_rows(args, lane, first, last, h, b)
      make_sums(variant, args, buffer, min(first, args.n_q), min(last, args.n_q), h, b)
    end)
    sync_warp()
    if lane == 0 then atomic_add(args.ready, head, 1, {order = "release"}) end
  end
end

--- A thread that uses L, D or the sum waits until those of the block's head are made.
function M.await(variant, args)
  if variant.fused and own_head(args) >= args.lead then
    turns.await(args.ready, own_head(args), args.n_blocks)
  end
end

return M
