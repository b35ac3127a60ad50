-- A ring whose readers give a slot back: what fills it again may write there before a read that comes
-- after that. TMA may do so before a read that came earlier, unless a proxy fence is between. Who
-- fills, and who arrives how. `check` names a late read or a missing fence, and nothing else.
local check = require "cuttle.check"
local tap = dofile "tests/support/tap.lua"

local STAGES <const>, TURNS <const>, N <const> = 2, 5, 64

-- Who fills a slot in turn i: fill(r, slot, i) is called by the lanes of a warp; r has the ring.
local function plain(r, slot, i)
  for j = 0, 1 do r.s[{2 * r.lane + j, slot}] = r.x[{2 * r.lane + j, i}] end
end
local fills = {
  tma = { arrivals = 1, by_tma = true, fill = function(r, slot, i)
    if r.lane == 0 then
      r.full[slot]:arrive_expect_tx(N * 4)
      tma_load(tile(tma_tensor(r.x), {N, 1}, {0, i}), r.s(_, slot), r.full[slot])
    end
  end },
  store = { arrivals = 32, fill = function(r, slot, i)
    plain(r, slot, i)
    r.full[slot]:arrive()
  end },
  ["store, one arrives"] = { arrivals = 1, fill = function(r, slot, i)
    plain(r, slot, i)
    sync_warp()
    if r.lane == 0 then r.full[slot]:arrive() end
  end },
  cp_async = { arrivals = 32, fill = function(r, slot, i)
    copy(tile(r.x(_, i), {2}, {r.lane}), tile(r.s(_, slot), {2}, {r.lane}))
    cp_async_commit()
    cp_async_wait(0)
    r.full[slot]:arrive()
  end },
  multicast = { arrivals = 1, blocks = 2, by_tma = true, fill = function(r, slot, i)
    if r.lane == 0 then
      r.full[slot]:arrive_expect_tx(N * 4)
      if r.rank == 0 then
        tma_load(tile(tma_tensor(r.x), {N, 1}, {0, i}), r.s(_, slot), r.full[slot],
          {multicast = 3})
      end
    end
  end },
  tma_store = { arrivals = 1, blocks = 2, by_tma = true, fill = function(r, slot)
    if r.lane == 0 then
      r.full[slot]:arrive_expect_tx(N * 4)
      tma_store(r.source, r.s(_, slot), r.full[slot], 1 - r.rank)
    end
  end },
  st_async = { arrivals = 1, blocks = 2, fill = function(r, slot, i)
    if r.lane == 0 then r.full[slot]:arrive_expect_tx(N * 4) end
    for j = 0, 1 do
      st_async(r.s, {2 * r.lane + j, slot}, r.x[{2 * r.lane + j, i}], r.full[slot], 1 - r.rank)
    end
  end },
}

-- How two warps of readers arrive: arrivals of a block, and what they do.
local function give(r, slot, rank)
  if r.blocks > 1 then r.empty[slot]:arrive(rank) else r.empty[slot]:arrive() end
end

local function to_all(r, slot)
  for rank = 0, r.blocks - 1 do give(r, slot, rank) end
end
local arrives = {
  each = { arrivals = 64, arrive = function(r, slot) to_all(r, slot) end },
  ["each warp"] = { arrivals = 2, arrive = function(r, slot)
    sync_warp()
    if r.lane == 0 then to_all(r, slot) end
  end },
  group = { arrivals = 1, arrive = function(r, slot)
    named_barrier(1, 64):sync()
    if threadIdx.x == 5 then to_all(r, slot) end
  end },
  lanes = { arrivals = 2, arrive = function(r, slot) -- lane b tells block b
    sync_warp()
    if r.lane < r.blocks then give(r, slot, r.lane) end
  end },
}

local function kernel_of(fill, way, how)
  local is_late = how == "late"
  local blocks = fill.blocks or 1
  return kernel("ring", function(x, y)
    local s = shared(f32, {N, STAGES})
    local source = shared(f32, N)
    local full = mbarrier(STAGES, fill.arrivals)
    local empty = mbarrier(STAGES, way.arrivals * blocks)
    local r = { s = s, x = x, source = source, full = full, empty = empty, lane = threadIdx.x % 32,
                rank = blocks > 1 and cluster_rank() or 0, blocks = blocks }
    if threadIdx.x < 64 then source[threadIdx.x] = 1.0 end
    fence_proxy_async()
    sync_cluster()
    if threadIdx.x >= 64 then
      local state = pipeline_state(STAGES, {parity = 1})
      for i in range(TURNS) do
        empty[state.slot]:wait(state.parity)
        fill.fill(r, state.slot, i)
        state:advance()
      end
    else
      local state, sum, t = pipeline_state(STAGES), 0.0, threadIdx.x
      for i in range(TURNS) do
        local slot = state.slot
        full[slot]:wait(state.parity)
        sum = sum + s[{t, slot}]
        if not is_late then sum = sum + s[{N - 1 - t, slot}] end
        if how ~= "not fenced" then fence_proxy_async() end
        way.arrive(r, slot)
        if is_late then sum = sum + s[{N - 1 - t, slot}] end
        state:advance()
      end
      y[{t, blockIdx.x}] = sum
    end
    sync_cluster()
  end), blocks
end

local names = {}
for name in pairs(fills) do names[#names + 1] = name end
table.sort(names)
for _, name in ipairs(names) do
  for _, who in ipairs { "each", "each warp", "group", "lanes" } do
    for _, how in ipairs { "right", "late", "not fenced" } do
      local findings, _, ok, message = check.run(function()
        local k, blocks = kernel_of(fills[name], arrives[who], how)
        k{grid = blocks, block = 96, cluster = blocks}(rand(f32, {N, TURNS}),
          zeros(f32, {N, blocks}))
      end, {orders = 30})
      local is_found = #findings > 0 and findings[1].kind:find "^race" ~= nil
      local is_wrong = how == "late" or how == "not fenced" and fills[name].by_tma or false
      tap.ok(ok and is_found == is_wrong and (is_wrong or #findings == 0),
        ("%s, %s arrives: %s"):format(name, who, how), message, check.report(findings, 1))
    end
  end
end
tap.done()
