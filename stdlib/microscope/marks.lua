-- marks.lua: what a launch on a device recorded of one block (runtime/ir/ir_marks.h): M.read makes
-- it a table, from the bytes alone; M.warps makes bars of it, like those of timeline_play.lua.
local internal = ...
local lists = require "cuttle.lists"
local play = require "cuttle.timeline_play"
local M = {}

local HEAD <const>, WARP <const>, COUNTS <const> = 8, 40, 8
local ROOM <const>, LANE_ROOM <const>, LANES <const>, SHIFT <const> = 8192, 256, 32, 28
local kinds = { [0] = "here", "before", "after", "line" }

-- {====== Reading ======

local function word(words, i)
  return i * 8 + 8 <= #words and string.unpack("<I8", words, i * 8 + 1) or nil
end

-- A record as {kind, what, low}; nil where none can be.
local function record_of(value, places)
  local id = value & 0xffffffff
  local kind, what = kinds[id >> SHIFT], id & (1 << SHIFT) - 1
  local place = places[what]
  local is_known = kind == "line" and what > 0 or kind == "here" and place and not place.is_wait
    or (kind == "before" or kind == "after") and place and place.is_wait
  return is_known and { id = id, kind = kind, what = what, low = value >> 32 } or nil
end

-- Index of the first word of a thread's records, and how many it has room for.
local function room_of(warp, lane, n_warps)
  local first = HEAD + n_warps * WARP + warp * (ROOM + (LANES - 1) * LANE_ROOM)
  if lane == 0 then return first, ROOM end
  return first + ROOM + (lane - 1) * LANE_ROOM, LANE_ROOM
end

-- Adds the records of a thread of marks that no thread before it came to, with times in cycles
-- since `zero`. A clock's low half tells less than half a turn; what seems to go back is left out
-- and counted. A thread without a count ended early: its records are those up to the first 0.
local function read_thread(words, w, lane, places, n_warps, zero)
  local count = word(words, HEAD + w.index * WARP + COUNTS + lane) or 0
  local first, room = room_of(w.index, lane, n_warps)
  local last, own = zero + w.begin, {}
  local n = math.min(count == 0 and room or math.max(count, 0), room)
  for i = 0, n - 1 do
    local value = word(words, first + i)
    if count == 0 and (value or 0) == 0 then break end
    if not value then -- the words end here
      w.broken = w.broken + n - i
      break
    end
    local r = record_of(value, places)
    local step = r and (r.low - last) & 0xffffffff
    if not r or step >= 1 << 31 then
      w.broken = w.broken + 1
    else
      last = last + step
      if not w.seen[r.id] then
        own[r.id] = true
        w.records[#w.records + 1] = { kind = r.kind, what = r.what, place = places[r.what],
          at = last - zero, order = #w.records }
      end
    end
  end
  for id in pairs(own) do w.seen[id] = true end
  if next(own) then w.dropped = w.dropped + math.max(count - room, 0) end
  w.last = math.max(w.last, last - zero)
  return next(own) ~= nil
end

local earlier = lists.by("at", "order")

-- The records of a warp. Threads that parted from the first one recorded in rooms of their own.
local function read_records(words, w, n_warps, places, zero)
  local is_parted = false
  w.seen, w.last = {}, 0
  for lane = 0, LANES - 1 do
    local adds = read_thread(words, w, lane, places, n_warps, zero)
    is_parted = is_parted or adds and lane > 0
  end
  if is_parted then table.sort(w.records, earlier) end
end

-- {clock, timer at its begin, clock, timer at its end}
local function head_of(words, index)
  local head = {}
  for i = 1, 4 do head[i] = word(words, HEAD + index * WARP + i - 1) or 0 end
  return head
end

-- The clock and the timer of the warp that began first.
local function earliest(heads)
  local zero, timer
  for _, head in ipairs(heads) do
    if head[1] ~= 0 and (not zero or head[1] < zero) then zero, timer = head[1], head[2] end
  end
  return zero, timer
end

-- Clock rate in MHz by the global timer, which steps by up to a microsecond; nil: too short a time.
local function rate_of(heads)
  local cycles, ns = 0, 0
  for _, head in ipairs(heads) do
    if head[3] > head[1] and head[4] > head[2] and head[2] > 0 and head[3] - head[1] > cycles then
      cycles, ns = head[3] - head[1], head[4] - head[2]
    end
  end
  return ns >= 1000 and cycles / ns * 1000 or nil
end

-- {warps = {{index, records, dropped, broken, last}}, cycles, mhz, timer, dropped, broken}: of
-- `words`, a text of bytes, for a block of n_warps warps. `places`: of marks, by the number in
-- their records. Warps that recorded nothing are left out. Bytes that make no sense are counted in
-- `broken`: nothing fails.
function M.read(words, places, n_warps)
  local out = { warps = {}, cycles = 0, dropped = 0, broken = 0 }
  local heads = {}
  for i = 1, n_warps do heads[i] = head_of(words, i - 1) end
  local zero
  zero, out.timer = earliest(heads)
  out.mhz = rate_of(heads)
  for i = 1, zero and n_warps or 0 do
    local head = heads[i]
    if head[1] ~= 0 then
      local w = { index = i - 1, records = {}, broken = 0, dropped = 0, begin = head[1] - zero }
      read_records(words, w, n_warps, places, zero)
      w.ended = head[3] >= head[1] and head[3] - zero or nil
      out.warps[#out.warps + 1] = w
      out.cycles = math.max(out.cycles, w.ended or w.last)
      out.dropped, out.broken = out.dropped + w.dropped, out.broken + w.broken
    end
  end
  return out
end

-- {====== Bars ======

local names = { wgmma_wait = "wgmma", tma_store_wait = "tma_store", cp_wait = "cp_async",
  barrier = "sync_threads", named_sync = "named barrier", cluster_wait = "cluster barrier" }

-- What a wait waits for, as a timeline calls it, but without the number of a slot.
local function what_of(place) return place.name or names[place.op] or place.op end

local function add_bar(w, kind, from, to, place, what)
  if to > from then
    w.bars[#w.bars + 1] = { kind = kind, from = from, to = to, what = what, first = place.line,
      last = place.line, chunk = place.chunk }
  end
end

local TO_END <const> = { line = 0 }
local step = {}

function step.before(w, r)
  add_bar(w, "work", w.at, r.at, r.place)
  w.waiting, w.worked, w.at = r, r.at - w.since, r.at
end

function step.after(w, r)
  local before = w.waiting
  if not before or before.what ~= r.what then return end
  local what = what_of(r.place)
  add_bar(w, "wait", before.at, r.at, r.place, what)
  play.add_site(w, r.place.line, what, w.worked, r.at - before.at)
  w.waiting, w.at, w.since = nil, r.at, r.at
end

function step.here(w, r)
  w.marks[#w.marks + 1] = { name = r.place.name, line = r.place.line, at = r.at }
end

function step.line(w, r) w.marks[#w.marks + 1] = { line = r.what, at = r.at } end

-- Bars, marks and sites of each warp, by its index.
function M.warps(read)
  local out = {}
  for _, warp in ipairs(read.warps) do
    local w = { index = warp.index, bars = {}, marks = {}, sites = {}, at = warp.begin,
      since = warp.begin }
    for _, r in ipairs(warp.records) do step[r.kind](w, r) end
    if warp.ended and warp.dropped == 0 then add_bar(w, "work", w.at, warp.ended, TO_END) end
    out[warp.index] = w
  end
  return out
end

-- {====== Recording ======

-- Runs f(...) with marks on: kernels that it traces have them. options: waits, lines, block,
-- record, and ranks: function(launch, places, words), told of launches of ranks that ran at once,
-- then with nothing when all are told. take: function(launch, places, words, args...), told of each
-- launch on a device.
function M.with(options, take, f, ...)
  -- luacheck: ignore 211
  local session <close> = internal.watch.marks_begin(options, take, options.ranks)
  return f(...)
end

function M.name(number) return internal.watch.mark_name(number) end

return M
