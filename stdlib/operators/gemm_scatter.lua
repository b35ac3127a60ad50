-- gemm_scatter.lua: the kernel of matmul_scatter: each rank multiplies its part of K, and rank r
-- gets panel r of the rows of the sum over ranks. It is gemm_hopper.lua's, and its rows are A's.
-- The blocks take the tiles of other ranks' panels first, those of the next rank before all, and
-- those of the rank's own panel last. TMA stores them to `partial`. Three warps of the group that
-- loads, which TMA does not need, follow the block's tiles: one of another rank goes to that rank's
-- memory; to one of the own panel they add what the others sent. The groups that multiply help with
-- the own panel when they have no more tiles: a warp takes a third of a tile at a time. These sums
-- are in f32: own, then that of the rank before, and so on down. Partial sums have C's type.
--
-- `distance` counts from the rank to the panel's owner. A warp that sends a tile's rows waits until
-- its flag at the owner is 0, sends, and sets it to 1. A warp of the owner's block waits for
-- the 1, adds, and sets it to 0. So launches of ranks need no other order among them, and flags are
-- 0 after each. But all ranks' launches must run at the same time.
--
-- The kernel takes A, (M/W,K,W), B, and C, which is `partial`. It also takes a table `panels`:
--   partial   (M/W,N,W).
--   receive   of each rank by distance, the own first: (M/W,N,W - 1), by distance from the sender.
--   flags     of the same: u32 (3 warps, tiles of a panel, W - 1).
--   out       (M/W,N).
--   rank, count = W.
-- A configuration is "cooperative" and has no clusters; `vectors`, of 16 bytes, are
-- what a thread has under way. N is a multiple of the elements of such a vector.
local internal = ...
local gather = require "cuttle.gemm_gather"
local hopper = require "cuttle.gemm_hopper"
local M = {}

local WARP <const>, N_MOVERS <const> = 32, 3 -- lanes; warps of a block that move
local VECTOR_BITS <const> = 128
local WORDS <const> = VECTOR_BITS // 32
local ADDED <const> = 4 -- vectors of a lane that are added at a time
local OTHERS <const> = { scope = "sys" }
local TO_OTHERS <const> = { scope = "sys", order = "acq_rel" }
local AFTER_FENCE <const> = { scope = "sys", order = "relaxed" }

M.n_threads, M.shared_bytes, M.knows_plain = hopper.n_threads, hopper.shared_bytes, true
M.grid = gather.grid

-- {====== On the host ======

local walks = {} -- by device, tiles and panels

--- What the kernel takes before alpha and beta; p.panels is what it takes as `panels`.
function M.args(config, p)
  local key = ("%s %d %d %d %d %d"):format(p.device, p.n, p.m, p.l, config.tile[1], config.tile[2])
  walks[key] = walks[key]
    or internal.launch.table_on(u32, gather.walk_of(config, p, 1), nil, p.device)
  return { hopper.without_stride_0(p.A), p.B, p.C, walks[key], p.panels }
end

-- {====== In the kernel ======

local Scatter = {}
Scatter.__index = Scatter

--- What the roles of the kernel know of the panels; X is A.
function M.begin(variant, plan, X, panels)
  local together = plan.together
  local written = shared(u32, together) -- by group: how often its stores were seen complete
  local taken = shared(u32, N_MOVERS) -- by warp that moves: how many own tiles are taken
  if threadIdx.x == 0 then
    for group = 0, together - 1 do written[group] = 0 end
    for i = 0, N_MOVERS - 1 do taken[i] = 0 end
  end
  local bM, bN = variant.tile[1], variant.tile[2]
  local adjacent = VECTOR_BITS // variant.c_dtype.bits
  return setmetatable({ variant = variant, X = X, panels = panels, written = written,
    taken = taken, together = together, adjacent = adjacent, height = size(X, 0),
    along = bM // adjacent,
    n_rows = cdiv(size(X, 0), bN), n_columns = cdiv(size(panels.out, 1), bM),
    per_row = size(panels.out, 1) // adjacent }, Scatter)
end

--- The part of C that an entry's row is in.
Scatter.part = gather.part

--- A function (k, to, full) that brings tile k of the part's rows.
function Scatter:loader(part)
  local X = tma_tensor(self.X)(_, _, part.panel)
  local boxes = tile(X, {self.variant.tile[2], self.variant.tile[3]}, {_, _})
  return function(k, to, full) tma_load(boxes(_, _, part.row, k), to, full) end
end

function Scatter:finish_loads() end -- luacheck: no self

--- A group that multiplies, before it stores a tile and after the last one: its stores of the tile
--- before are written. Each group counts for itself: where K is short, one may be several tiles
--- ahead of another.
function Scatter:before_store(group, is_first)
  if is_first then
    tma_store_wait(0, {done = true})
    fence_proxy_async("global")
    fence({order = "acq_rel"})
    atomic_add(self.written, group, 1)
  end
end

-- {====== The warps that move ======

-- Calls f(at, is_inside) for the warp's vectors of a tile of a panel, n at a time: at(i) is the
-- number in the panel of the i-th of these.
local function each_vector(self, row, column, warp, n, f)
  local lane, bN = threadIdx.x % WARP, self.variant.tile[2]
  local high = math.max(1, WARP // self.along) -- rows that a warp has at once
  local apart = N_MOVERS * high
  local place = column * self.along + lane % self.along
  local rows = where(place < self.per_row, min(self.height - row * bN, bN), 0)
  for line in range(warp * high + lane // self.along, rows, apart * n) do
    local first, step = (row * bN + line) * self.per_row + place, apart * self.per_row
    f(function(i) return first + i * step end, function(i) return line + i * apart < rows end)
  end
end

-- The flag of a warp for a tile, at the owner.
local function flag_of(self, part, column, warp, distance)
  return ((distance - 1) * self.n_rows * self.n_columns + part.row * self.n_columns + column)
    * N_MOVERS + warp
end

-- One lane waits for a flag, and the warp for that lane.
local function await(flags, flag, wanted)
  if threadIdx.x % WARP == 0 then
    while atomic_load(flags, flag, OTHERS) ~= wanted do end
  end
  sync_warp()
end

-- One lane calls f, which sets flags by `tell`, behind one fence for all that the warp has done: a
-- fence waits until other devices have what was sent.
local function hand_on(f)
  sync_warp()
  if threadIdx.x % WARP == 0 then
    fence(TO_OTHERS)
    f()
  end
end

local function tell(flags, flag, value) atomic_store(flags, flag, value, AFTER_FENCE) end

-- The warp's rows of a tile to the rank that owns them.
local function send(self, part, column, warp)
  local n, panels = self.variant.vectors, self.panels
  local flags = panels.flags[part.distance + 1]
  local flag = flag_of(self, part, column, warp, part.distance)
  local from = gather.vectors_of(panels.partial(_, _, part.panel))
  local to = gather.vectors_of(panels.receive[part.distance + 1](_, _, part.distance - 1))
  await(flags, flag, 0)
  each_vector(self, part.row, column, warp, n, function(at, is_inside)
    local held = fragment(u32, {WORDS, n})
    for i = 0, n - 1 do
      if is_inside(i) then copy(from(_, at(i)), held(_, i)) end
    end
    for i = 0, n - 1 do
      if is_inside(i) then copy(held(_, i), to(_, at(i))) end
    end
  end)
  hand_on(function() tell(flags, flag, 1) end)
end

-- The sums of ADDED of each lane's vectors: those of the own partial sums and of what was received.
local function add_up(self, own, out, at, is_inside)
  local dtype, received = self.variant.c_dtype, self.panels.receive[1]
  local held, sums = fragment(u32, {WORDS, ADDED}), fragment(f32, {self.adjacent, ADDED})
  local function values_of(from)
    for i = 0, ADDED - 1 do
      if is_inside(i) then copy(from(_, at(i)), held(_, i)) end
    end
    return recast(held, dtype)
  end
  clear(held)
  copy(cast(values_of(own), f32), sums)
  for distance in range(1, self.panels.count) do
    local more = cast(values_of(gather.vectors_of(received(_, _, distance - 1))), f32)
    for i = 0, size(sums) - 1 do sums[i] = sums[i] + more[i] end
  end
  local made = cast(sums, dtype)
  for i = 0, ADDED - 1 do
    if is_inside(i) then copy(made(_, i), out(_, at(i))) end
  end
end

-- Adds to the warp's rows of a tile what other ranks sent, and stores them.
local function finish(self, part, column, warp)
  local panels = self.panels
  local flags = panels.flags[1]
  for distance in range(1, panels.count) do
    await(flags, flag_of(self, part, column, warp, distance), 1)
  end
  local own = gather.vectors_of(panels.partial(_, _, part.panel))
  local out = tile(view(panels.out, layout(size(panels.out))), {self.adjacent}, {_})
  each_vector(self, part.row, column, warp, ADDED, function(at, is_inside)
    add_up(self, own, out, at, is_inside)
  end)
  hand_on(function()
    for distance in range(1, panels.count) do
      tell(flags, flag_of(self, part, column, warp, distance), 0)
    end
  end)
end

-- Waits until each group has called before_store n times.
local function await_tiles(self, n)
  if threadIdx.x % WARP == 0 then
    for group = 0, self.together - 1 do
      while atomic_load(self.written, group) < n do end
    end
  end
  sync_warp()
end

-- The number of the next own tile of which a warp's rows are to be finished: for one that asks.
local function take_tile(self, warp)
  local number = u32(0)
  if threadIdx.x % WARP == 0 then number = atomic_add(self.taken, warp, 1) end
  return shfl_idx(number, 0)
end

-- Calls finish for the own tiles that this warp takes, and send for the others.
local function each_own(self, warp, each_tile, sends)
  local wanted = u32(2) -- the first call before a store says nothing
  local number, mine = u32(0), take_tile(self, warp)
  each_tile(function(_, column, part)
    if part.distance > 0 then
      if sends then
        await_tiles(self, wanted)
        send(self, part, column, warp)
      end
    else
      if number == mine then
        await_tiles(self, wanted)
        finish(self, part, column, warp)
        mine = take_tile(self, warp)
      end
      number = number + u32(1)
    end
    wanted = wanted + u32(1)
  end)
end

--- The block's tiles in order, each as soon as it is written; `each_tile` calls a function for all.
function Scatter:move(each_tile)
  local warp = threadIdx.x // WARP - 1
  if warp >= 0 then each_own(self, warp, each_tile, true) end
end

--- A group that multiplies, behind its last tile: its warps help with the own tiles.
function Scatter:after_tiles(each_tile)
  each_own(self, threadIdx.x // WARP % N_MOVERS, each_tile, false)
end

--- See matmul.lua.
function M.make(variant) return hopper.make(variant, M) end

return M
