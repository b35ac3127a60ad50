-- timeline_play.lua: plays what the warps of a block did (timeline.lua) with a model of time. Each
-- warp has a clock; the one that is behind goes on. A wait takes it to the time of what it waits
-- for. Copies and products take their turns on engines that have clocks of their own.
local M = {}

-- Cycles, of a model and not of a device.
M.model = {
  instruction = 1,  -- of a warp, whatever else goes on
  shared = 30,      -- until a value from shared memory is there
  global = 500,     -- or from global memory
  barrier = 20,     -- from the last arrival until those who wait go on
  flag = 1500,      -- from a rank's change of a flag until another one sees it
  copy = 600,       -- from the issue of a tma_load until its first byte is there
  copy_bytes = 64,  -- that all copies of a block bring in a cycle
  remote = 200,     -- from an st_async, or a tma_store to another block, until its value is there
  store = 300,      -- until a tma_store has read its source, and as many bytes a cycle
  macs = 512,       -- multiply-adds of 16 bits of a tensor core in a cycle; warp i uses core i % 4
  mma = 30,         -- from the issue of a wgmma until it begins, when the tensor core is free
}

-- {====== State ======

local Player = {}
Player.__index = Player

local TENSOR_CORES <const> = 4

local function new_warp(rank, index)
  return { rank = rank, index = index, events = {}, at = 1, clock = 0, bars = {}, groups = {},
    marks = {}, sites = {}, since = 0, pending = { wgmma = 0, bulk = 0, tcgen05 = 0 } }
end

local function warps_of(events)
  local warps, by_key = {}, {}
  for _, e in ipairs(events) do
    local key = e.rank << 16 | e.warp
    local w = by_key[key]
    if not w then
      w = new_warp(e.rank, e.warp)
      by_key[key] = w
      warps[#warps + 1] = w
    end
    w.events[#w.events + 1] = e
  end
  return warps
end

local function phase_of(player, e)
  local phases = player.phases[e.barrier]
  local phase = phases[e.phase]
  if not phase then
    phase = { missing = 0, time = 0, waiting = {} }
    phases[e.phase] = phase
  end
  return phase
end

local function new_player(events, barriers, model)
  local player = setmetatable({ model = model, barriers = barriers, phases = {}, copies = {},
    stores = {}, products = {}, bus = {}, cores = {} }, Player)
  for i = 1, #barriers do player.phases[i] = {} end
  for _, e in ipairs(events) do
    if e.kind == "arrive" or e.kind == "load" then
      local phase = phase_of(player, e)
      phase.missing = phase.missing + 1
    end
  end
  player.warps = warps_of(events)
  return player
end

-- {====== Bars ======

-- A bar of the same kind, right behind the last one, is part of it.
local function add_bar(w, kind, from, to, e, what)
  local last = w.bars[#w.bars]
  if to <= from then return end
  if last and last.kind == kind and last.to == from and last.what == what then
    last.to = to
    last.first, last.last = math.min(last.first, e.line), math.max(last.last, e.line)
  else
    w.bars[#w.bars + 1] = { kind = kind, from = from, to = to, what = what, first = e.line,
      last = e.line, chunk = e.chunk }
  end
end

local function work(w, cycles, e)
  add_bar(w, "work", w.clock, w.clock + cycles, e)
  w.clock = w.clock + cycles
end

-- Waits of a library's kernel may all have the line of its call, so what they wait for counts, too:
-- without a slot's or a barrier's number, which a GPU does not tell.
local function site_key(line, what)
  return ("%d %s"):format(line, (what:gsub("%[%d+%]$", ""):gsub("^(named barrier) %d+$", "%1")))
end

-- What one wait took, and the work since the one before.
function M.add_site(w, line, what, worked, waited)
  local key = site_key(line, what)
  local site = w.sites[key]
  if not site then
    site = { line = line, what = what, n = 0, work = 0, wait = 0 }
    w.sites[key] = site
  end
  site.n, site.work, site.wait = site.n + 1, site.work + worked, site.wait + waited
end

local function wait(w, time, e, what)
  M.add_site(w, e.line, what, w.clock - w.since, math.max(time - w.clock, 0))
  w.since = math.max(time, w.clock)
  add_bar(w, "wait", w.clock, time, e, what)
  w.clock = math.max(w.clock, time)
end

-- "full[2]", "named barrier 1"
function M.barrier_text(b)
  if b.kind == "mbarrier" then return ("%s[%d]"):format(b.name, b.slot) end
  if b.kind == "named" then return "named barrier " .. b.slot end
  if b.kind == "flag" then return b.name end
  if b.kind == "launch" then return "the launch before" end
  return b.kind == "block" and "sync_threads" or "cluster barrier"
end

-- {====== Events ======

local play = {}

-- One thing that a phase was waiting for took place.
function Player:complete(e, time)
  local phase = phase_of(self, e)
  phase.missing = phase.missing - 1
  phase.time = math.max(phase.time, time)
  if phase.missing > 0 then return end
  for _, w in ipairs(phase.waiting) do
    w.is_waiting = false
    wait(w, phase.time, w.events[w.at], M.barrier_text(self.barriers[e.barrier]))
    w.at = w.at + 1
  end
end

function play:work(w, e)
  work(w, e.n * self.model.instruction + (e.global > 0 and self.model.global or 0)
    + (e.shared > 0 and self.model.shared or 0), e)
end

function play:arrive(w, e)
  work(w, self.model.instruction, e)
  local is_flag = self.barriers[e.barrier].kind == "flag"
  local from = e.agent == "tcgen05" and math.max(w.clock, w.pending.tcgen05) or w.clock
  self:complete(e, from + (is_flag and self.model.flag or self.model.barrier))
end

-- The warp stays at the event until the phase is complete.
function play:pass(w, e)
  local phase = e.phase >= 0 and phase_of(self, e)
  if not phase then
    work(w, self.model.instruction, e)
    return wait(w, w.clock, e, M.barrier_text(self.barriers[e.barrier]))
  end
  if phase.missing == 0 then
    return wait(w, phase.time, e, M.barrier_text(self.barriers[e.barrier]))
  end
  w.is_waiting = true
  w.at = w.at - 1
  phase.waiting[#phase.waiting + 1] = w
end

-- On the block's way to memory, which takes one box after the other.
function Player:move(w, e, latency, list)
  work(w, self.model.instruction, e)
  local from = math.max(w.clock, self.bus[w.rank] or 0)
  local free = from + e.n / self.model.copy_bytes
  self.bus[w.rank] = free
  local copy = { from = w.clock, to = free + latency, bytes = e.n, first = e.line, last = e.line,
    rank = w.rank, warp = w.index, chunk = e.chunk }
  list[#list + 1] = copy
  return copy
end

function play:load(w, e)
  local latency = e.agent == "remote" and self.model.remote or self.model.copy
  local copy = self:move(w, e, latency, self.copies)
  copy.what = M.barrier_text(self.barriers[e.barrier])
  copy.rank = self.barriers[e.barrier].rank
  self:complete(e, copy.to)
end

function play:store(w, e)
  local copy = self:move(w, e, self.model.store, self.stores)
  copy.what = "tma_store"
  w.pending.bulk = math.max(w.pending.bulk, copy.to)
end

function play:mma(w, e)
  local is_block = e.agent == "tcgen05" -- all tensor cores of the block's SM work on it
  local core = w.rank * TENSOR_CORES + (is_block and 0 or w.index % TENSOR_CORES)
  work(w, self.model.instruction, e)
  local from = math.max(w.clock + self.model.mma, self.cores[core] or 0)
  local to = from + e.n * e.bits / (self.model.macs * 16 * (is_block and TENSOR_CORES or 1))
  for i = core, core + (is_block and TENSOR_CORES - 1 or 0) do self.cores[i] = to end
  self.products[#self.products + 1] = { from = from, to = to, what = e.agent, first = e.line,
    last = e.line, rank = w.rank, core = core % TENSOR_CORES, warp = w.index,
    chunk = e.chunk }
  w.pending[e.agent] = math.max(w.pending[e.agent], to)
end

function play:commit(w, e)
  local groups = w.groups[e.agent] or {}
  w.groups[e.agent] = groups
  groups[#groups + 1] = math.max(w.pending[e.agent], groups[#groups] or 0)
  work(w, self.model.instruction, e)
end

function play:wait(w, e)
  local groups = w.groups[e.agent] or {}
  work(w, self.model.instruction, e)
  wait(w, groups[#groups - e.n] or 0, e, e.agent == "wgmma" and "wgmma" or "tma_store")
end

function play.mark(_, w, e)
  w.marks[#w.marks + 1] = { number = e.n, line = e.line, at = w.clock }
end

-- {====== Playing ======

-- A mark where a warp comes to one of the lines from another line.
local function mark_line(w, e, lines)
  if lines[e.line] and w.line ~= e.line then
    w.marks[#w.marks + 1] = { line = e.line, at = w.clock }
  end
  w.line = e.line
end

-- The warp that is behind, of those that can go on.
local function next_warp(warps)
  local first
  for _, w in ipairs(warps) do
    if not w.is_waiting and w.at <= #w.events and (not first or w.clock < first.clock) then
      first = w
    end
  end
  return first
end

-- When what happened: {warps, copies, stores, products, cycles}. Each warp has bars {kind = "work"
-- or "wait", from, to, first, last = lines of chunk, what}; so are copies, stores and products. It
-- also has marks, {number or none, line, at}, and sites, {line, what, n, work, wait}. `lines`: a
-- set of lines to mark.
function M.play(events, barriers, changes, lines)
  local model = setmetatable(changes or {}, { __index = M.model })
  local player = new_player(events, barriers, model)
  local w = next_warp(player.warps)
  while w do
    local e = w.events[w.at]
    w.at = w.at + 1
    if lines then mark_line(w, e, lines) end
    play[e.kind](player, w, e)
    w = next_warp(player.warps)
  end
  player.cycles = 0
  for _, list in ipairs { player.warps, player.copies, player.stores, player.products } do
    for _, x in ipairs(list) do
      player.cycles = math.max(player.cycles, x.clock or x.to)
    end
  end
  return player
end

return M
