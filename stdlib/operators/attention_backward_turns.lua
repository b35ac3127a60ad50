-- attention_backward_turns.lua: dQ by blocks that take turns, so that its sums have one order and
-- all runs the same bits. A tile of queries has a counter for each group that adds to it: the
-- number of blocks of keys that have added. They do so from the last that sees the tile to the
-- first. So where causal a block waits for those which have fewer tiles to go through, and which
-- begin before it. A tile that a block does not see has no turn for it: turns are counted among
-- those that do. A warp for each group adds and waits, so that the group can go on.
local M = {}

local WARP <const> = 32
local FIRST_BARRIER <const> = 4 -- those before are the kernel's own

--- The barriers at which group `number` hands a part of dQ to its warp. `free`, where blocks stay:
--- the group has the memory of parts for itself.
function M.barriers(variant, number, n_threads)
  local n = n_threads + WARP
  return { full = named_barrier(FIRST_BARRIER + number, n),
           empty = named_barrier(FIRST_BARRIER + variant.groups + number, n),
           free = variant.stay and named_barrier(FIRST_BARRIER + 2 * variant.groups + number, n) }
end

--- Of a group: `store` writes the part to shared memory, when the warp has read the last one there.
--- In pairs of blocks the group knows that already, if dQ is not late.
function M.hand_over(variant, barriers, store)
  if variant.late or not variant.pair then barriers.empty:sync() end
  store()
  fence_proxy_async()
  barriers.full:arrive()
end

--- The groups' warps are those behind the one that loads. Is the thread of one of them?
function M.is_one(variant)
  return threadIdx.x >= WARP and threadIdx.x < WARP * (1 + variant.groups)
end

--- The block's turn at tile m of queries.
function M.turn_of(variant, args, m)
  local n_blocks = cdiv(args.n_k, args.keys)
  if variant.causal then
    local seen = (m + 1) * variant.rows + args.n_k - args.n_q
    n_blocks = min(n_blocks, (seen - 1) // args.keys + 1)
  end
  return n_blocks - 1 - args.n
end

--- Waits until so many blocks have added.
function M.await(counters, counter, turn)
  while atomic_load(counters, counter) ~= turn do end
  fence_proxy_async("global")
end

--- The block's own addition is done, as this thread began it.
function M.hand_on(counters, counter, turn)
  tma_store_wait(0, {done = true})
  fence_proxy_async("global")
  atomic_store(counters, counter, turn + 1)
end

--- One of these warps. each_tile(f) calls f(head, m, place, box) for each piece of a part: place is
--- {that of the tile among all of the head, the piece's number among those of all groups}, box what
--- is added to. Counters are (tile,piece,head,batch).
function M.add_all(variant, args, sums, number, n_threads, each_tile)
  local barriers, is_first = M.barriers(variant, number, n_threads), threadIdx.x % WARP == 0
  barriers.empty:arrive()
  each_tile(function(head, m, place, box)
    barriers.full:sync()
    local counter = { place[1], place[2], head, args.batch }
    local turn = M.turn_of(variant, args, m)
    if is_first then
      if variant.deterministic then M.await(args.turns, counter, turn) end
      tma_store(sums(_, _, number), box, {reduce = "add"})
      tma_store_commit()
      tma_store_wait(0)
    end
    sync_warp()
    barriers.empty:arrive()
    if is_first and variant.deterministic then M.hand_on(args.turns, counter, turn) end
  end)
  if variant.stay then barriers.free:sync() end
end

return M
