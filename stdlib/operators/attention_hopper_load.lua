-- attention_hopper_load.lua: the warp group of attention_hopper.lua that loads. A warp brings tiles
-- of queries, and blocks of keys and of values. A second one brings the values where blocks come in
-- small boxes of pages, as each of these takes time to issue.
local narrow = require "cuttle.attention_hopper_narrow"
local paged = require "cuttle.attention_pages"
local stores = require "cuttle.attention_hopper_store"
local tables = require "cuttle.attention_tiles"
local boxes = stores.boxes
local M = {}

local ROWS <const>, WARP <const>, CHUNK <const> = 64, 32, 8 -- CHUNK: elements of 16 bytes

-- {====== The block's tiles ======

--- Calls f(tile) for each tile of the block, as attention_tiles.lua reads it. `uniform` makes a
--- value known to be the same in all lanes, which saves registers.
function M.each_tile(variant, args, uniform, f)
  local tiles = args.tiles
  local count = uniform(cast(tiles[{0, 0, blockIdx.x}], i32))
  local n_fields = tables.n_fields(variant)
  local fields = fragment(u32, n_fields)
  for j = 0, n_fields - 1 do fields[j] = tiles[{j, 1, blockIdx.x}] end
  for i in range(count) do
    local now = {}
    for j = 0, n_fields - 1 do
      now[j] = uniform(fields[j])
      fields[j] = tiles[{j, min(i + 2, count), blockIdx.x}]
    end
    f(tables.read(variant, args, now))
  end
end

local function as_it_is(x) return x end

-- {====== Who loads ======

--- Does the warp that loads clear values that are another's?
function M.clears(variant) return variant.packed and not variant.narrow end

-- Do two warps load?
local function are_two(variant)
  return not variant.narrow and paged.has_small_boxes(variant)
end

-- The thread's number in a warp that loads.
local function lane(variant)
  if are_two(variant) then return threadIdx.x % WARP end
  return threadIdx.x
end

local function by_one(variant, f)
  if not M.clears(variant) then
    f()
  elseif lane(variant) == 0 then
    f()
  end
end

-- Values (depth, keys) from key `first` on become zeros, by a warp.
local function clear_behind(variant, sV, first)
  local chunks, zeros = size(sV, 0) // CHUNK, fragment(sV.dtype, {CHUNK, 1})
  clear(zeros)
  for i in range(lane(variant), (size(sV, 1) - first) * chunks, WARP) do
    copy(zeros, tile(sV, {CHUNK, 1}, {i % chunks, first + i // chunks}))
  end
  fence_proxy_async()
  sync_warp()
end

-- Functions load(n, s, full): block n of keys, or of values, is on its way to s. With pages, they
-- get what a third one returns for n, which is called before there is room.
local function loads(variant, args, at, kv_head)
  if variant.page_size then return paged.loads(variant, args, at, kv_head, variant.narrow) end
  local keys = variant.keys
  local gK = boxes(args.K, {keys, variant.depth}, at.k)(_, _, _, 0, kv_head, at.batch)
  local gV
  if variant.narrow then
    gV = boxes(args.V, {keys, variant.depth_v}, at.k)(_, _, _, 0, kv_head, at.batch)
  else
    gV = boxes(args.V, {variant.depth_v, keys}, at.k, true)(_, _, 0, _, kv_head, at.batch)
  end
  local function of(g) return function(n, s, full) tma_load(g(_, _, n), s, full) end end
  return of(gK), of(gV)
end

-- {====== What is loaded ======

-- What a warp loads of each tile; part: "K", the queries and keys, "V", the values, or nil, all.
local function load(variant, plan, args, smem, bars, part)
  local q = pipeline_state(1, {parity = 1})
  local k = pipeline_state(variant.stages, {parity = 1})
  local v = pipeline_state(variant.narrow and narrow.raw_stages(variant) or variant.stages,
    {parity = 1})
  local parts = M.clears(variant) and pipeline_state(1)
  local to_V = variant.narrow and { s = smem.raw, full = bars.raw_full, empty = bars.raw_empty }
    or { s = smem.V, full = bars.V_full, empty = bars.V_empty }

  M.each_tile(variant, args, as_it_is, function(at)
    local keys, depth, kv_head = variant.keys, variant.depth, at.head // args.group
    local gQ = boxes(args.Q, {ROWS, depth}, at.q)(_, _, _, 0, at.head, at.batch)
    local bring_K, bring_V, ahead = loads(variant, args, at, kv_head)

    local function load_K(n)
      local of = ahead and ahead(n)
      bars.K_empty[k.slot]:wait(k.parity)
      by_one(variant, function()
        bars.K_full[k.slot]:arrive_expect_tx(plan.K_bytes)
        bring_K(of or n, smem.K(_, _, k.slot), bars.K_full[k.slot])
      end)
      k:advance()
    end

    local function copy_V(n, of, full)
      by_one(variant, function()
        full:arrive_expect_tx(plan.V_bytes)
        bring_V(of or n, to_V.s(_, _, v.slot), full)
      end)
    end

    -- Values that belong to the next sequence may be NaN, which no 0 that they are multiplied with
    -- makes 0.
    local function load_V(n)
      local of = ahead and ahead(n)
      to_V.empty[v.slot]:wait(v.parity)
      if M.clears(variant) then
        local n_own = at.n_k - n * keys
        if n_own < keys then
          copy_V(n, of, bars.V_part[0])
          bars.V_part[0]:wait(parts.parity)
          parts:advance()
          clear_behind(variant, smem.V(_, _, v.slot), max(n_own, 0))
          by_one(variant, function() to_V.full[v.slot]:arrive() end)
        else
          copy_V(n, of, to_V.full[v.slot])
        end
      else
        copy_V(n, of, to_V.full[v.slot])
      end
      v:advance()
    end

    local function load_Q()
      for g = 0, plan.groups - 1 do
        bars.Q_empty[g]:wait(q.parity)
        by_one(variant, function()
          bars.Q_full[g]:arrive_expect_tx(plan.Q_bytes)
          tma_load(gQ(_, _, at.m * plan.groups + g), smem.Q(_, _, g), bars.Q_full[g])
        end)
      end
      q:advance()
    end

    if part ~= "V" then
      load_K(tables.block(at, 0))
      load_Q()
    end
    for i in range(1, tables.count(at)) do
      if part ~= "V" then load_K(tables.block(at, i)) end
      if part ~= "K" then load_V(tables.block_before(at, i)) end
    end
    if part ~= "K" then load_V(tables.last_block(at)) end
  end)
end

-- What the turners of 8 bits do.
local function turn(variant, smem, bars, args)
  narrow.turn_all(variant, smem, bars, function(f) M.each_tile(variant, args, as_it_is, f) end)
end

--- What the group does.
function M.all(variant, plan, args, smem, bars)
  local function loads_part(part) load(variant, plan, args, smem, bars, part) end
  if are_two(variant) then
    if threadIdx.x < WARP then
      loads_part "K"
    elseif threadIdx.x < 2 * WARP then
      loads_part "V"
    end
  elseif M.clears(variant) then
    if threadIdx.x < WARP then loads_part() end
  elseif threadIdx.x == 0 then
    loads_part()
  elseif variant.narrow then
    if threadIdx.x >= WARP then turn(variant, smem, bars, args) end
  end
end

return M
