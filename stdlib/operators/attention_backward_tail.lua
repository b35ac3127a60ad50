-- attention_backward_tail.lua: the last blocks of attention_backward_hopper.lua, if they are few.
-- The multiprocessors that get none would wait for them as long as any block takes. So each is cut
-- into parts, which have shares of its tiles of queries. A part leaves its sums of dK and dV in
-- memory, in f32: (depth,64 keys,K or V,64s of keys,part,block). One more kernel adds them up in
-- the order of the parts, so the bits of dK and dV do not differ from call to call. Not where
-- causal, as the last blocks are short there, and not where blocks take turns.
local n_sms = require "cuttle.profile_device".n_sms
local on_device = require "cuttle.operator_device"
local rows_of = require "cuttle.attention_backward_rows"
local tiles = require "cuttle.attention_backward_tiles"
local M = {}

local KEYS <const>, WIDTH <const>, THREADS <const> = 64, 8, 256
local LEAST_TILES <const> = 2 -- of queries, in a part

-- Into how many parts each of so many blocks is cut on n multiprocessors. All parts run at once; or
-- there are three of each, which take two thirds of a block's time.
local function parts_of(blocks, n)
  if n // blocks < 2 and 3 * blocks <= 2 * n then return 3 end
  return n // blocks
end

--- {whole = blocks before the first that is cut, blocks = that are cut, parts = of each}, or nil if
--- none is. There are n_blocks in all; each goes through n_tiles tiles of queries of a head.
function M.plan(p, config, n_blocks, n_tiles)
  if not config.cut or p.causal or p.deterministic or p.sequences or p.score then return end
  local n = config.n_sms or n_sms(on_device.target(p.device))
  if config.pair then n = n // tiles.PAIR * tiles.PAIR end -- as whole pairs are cut
  local blocks = n_blocks % n
  local parts = blocks > 0 and math.min(parts_of(blocks, n), n_tiles // LEAST_TILES) or 0
  if parts < 2 or n_blocks < n then return end
  return { whole = n_blocks - blocks, blocks = blocks, parts = parts }
end

--- Memory for the sums of parts.
function M.new_parts(p, variant, keys, tail)
  return rows_of.new(p, { variant.depth, KEYS, 2, keys // KEYS, tail.parts, tail.blocks })
end

--- What is to be known of block i, of which some are parts: {n =, kv_head =, batch =} as of whole
--- ones, number, that of the whole one, part, and n_parts, how many there are of it.
function M.place(variant, args, i)
  local is_cut, j, rank = i >= args.n_whole, i - args.n_whole, 0
  local high = variant.pair and tiles.PAIR or 1 -- that are cut alike
  if variant.pair then j, rank = j // high, j % high end
  local number = where(is_cut, args.n_whole + j // args.n_parts * high + rank, i)
  local n, kv_head, batch = tiles.place_of(number, args.n_blocks, args.kv_heads)
  return { n = n, kv_head = kv_head, batch = batch, number = number,
           part = where(is_cut, j % args.n_parts, 0), n_parts = where(is_cut, args.n_parts, 1) }
end

--- A group's sums of a part, by thread `thread`, to memory. by_depth, group `number` has columns of
--- all keys, else keys.
function M.store(variant, plan, args, thread, number, dK, dV)
  local at = args.number - args.n_whole
  local keys, columns = number, 0
  if variant.by_depth then keys, columns = 0, number end
  local function store(i, mma, x, depth)
    local t = select(args.parts(_, _, i, keys, args.part, at), 1, 0)
    copy(x, mma:get_slice(thread):partition_C(tile(t, {KEYS, depth}, {0, columns})))
  end
  store(0, plan.dK, dK, plan.own_depth)
  store(1, plan.dV, dV, plan.own_depth_v)
end

-- {====== The kernel that adds ======

function M.make(variant)
  return kernel("attention_backward_parts", function(parts, dK, dV, n_whole)
    local chunks = size(parts, 0) // WIDTH
    local i, which = blockIdx.x * THREADS + threadIdx.x, blockIdx.y
    local key, chunk = i // chunks, i % chunks
    local n_blocks = cdiv(size(dK, 0), variant.keys)
    if variant.pair then n_blocks = cdiv(n_blocks, tiles.PAIR) * tiles.PAIR end
    local n, kv_head, b = tiles.place_of(n_whole + blockIdx.z, n_blocks, size(dK, 2))
    local row = n * variant.keys + key
    local function add_to(x)
      if key >= variant.keys or row >= size(x, 0) or chunk >= size(x, 1) // WIDTH then return end
      local sum, own = fragment(f32, WIDTH), fragment(f32, WIDTH)
      clear(sum)
      for part in range(size(parts, 4)) do
        local of_part = parts(_, key % KEYS, which, key // KEYS, part, blockIdx.z)
        copy(tile(of_part, {WIDTH}, {chunk}), own)
        axpby(1.0, own, 1.0, sum)
      end
      copy(cast(sum, x.dtype), tile(x(row, _, kv_head, b), {WIDTH}, {chunk}))
    end
    if which == 0 then add_to(dK) else add_to(dV) end -- V's columns may be fewer
  end)
end

--- Its launch. parts: the sums.
function M.step(p, kernel, keys, tail, parts)
  return { kernel = kernel, args = { parts, p.dK, p.dV, i32(tail.whole) },
           launch = { grid = { cdiv(keys * (size(parts, 0) // WIDTH), THREADS), 2, tail.blocks },
                      block = THREADS, stream = p.stream } }
end

return M
