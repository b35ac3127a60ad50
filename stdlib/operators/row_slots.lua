-- row_slots.lua: rows that blocks keep in shared memory while they take them in turns. Each thread
-- has slots of its own for its vectors, p.slots of them. They are a ring if they hold more than a
-- row's vectors; if they hold fewer, registers have the others. While the last pass over a row
-- stores, cp.async fills the slots that it has read with what comes next. Nobody else reads a
-- thread's slots, so no barrier is needed for them.
local M = {}

local MOST_GROUPS <const> = 8 -- of copies that a thread can tell apart

local function is_ring(p) return p.slots > p.deep end

-- The slots of a group of copies. A ring has whole groups, and so has a row in a ring.
local function group_size(p)
  local size = 1
  while size * MOST_GROUPS < p.slots do size = 2 * size end
  return size
end

--- The block's slots: of each input with elements, by its number.
function M.new(p, given)
  if is_ring(p) then assert(p.slots % group_size(p) == 0 and p.deep % group_size(p) == 0) end
  local ring = { slots = {}, held = {}, first = 0 }
  for i, input in ipairs(p.inputs) do
    if input.kind == "elements" then
      local dtype = given[input.name].dtype
      ring.slots[i] = shared(dtype, { p.width, p.lanes, p.slots })
      if p.deep > p.slots then ring.held[i] = fragment(dtype, { p.width, p.deep - p.slots }) end
    end
  end
  return ring
end

-- The slot of the row's j-th vector.
local function slot_of(p, ring, j)
  if not is_ring(p) then return j end
  local slot = ring.first + j
  return where(slot >= p.slots, slot - p.slots, slot)
end

--- The first slot of the next row.
function M.next_first(p, ring)
  if not is_ring(p) then return 0 end
  return slot_of(p, ring, p.deep)
end

-- Where the thread has vector j of input i.
local function place(p, ring, i, j)
  if j >= p.slots then return ring.held[i](_, j - p.slots) end
  return ring.slots[i](_, threadIdx.x, slot_of(p, ring, j))
end

-- Begins to bring vector v of a row, the thread's j-th one, to the place of its vector `to`.
local function fetch(p, thread, given, row, is_row, to, v)
  if is_row and (p.is_whole or v < p.vectors) then
    for i in pairs(thread.ring.slots) do
      copy(tile(given[p.inputs[i].name](row, _), { p.width }, { v }), place(p, thread.ring, i, to))
    end
  end
  local is_last = (to + 1) % group_size(p) == 0 or to == p.slots - 1
  if to < p.slots and is_last then cp_async_commit() end
end

--- The number of the thread's j-th vector in the row.
function M.number_of(p, thread, j)
  return thread.part * (p.deep * p.lanes) + thread.lane + j * p.lanes
end

--- Begins with the block's first rows: row_at(k) is the k-th and whether there is one.
function M.begin(p, thread, given, row_at)
  for at = 0, math.max(p.slots, p.deep) - 1 do
    local row, is_row = row_at(at // p.deep)
    -- Before the first turn the ring begins at slot 0.
    fetch(p, thread, given, row, is_row, at, M.number_of(p, thread, at % p.deep))
  end
end

--- Fills the place of the thread's j-th vector, which it has read, with what comes next.
function M.refill(p, thread, j)
  local next = thread.next
  local at = j + math.max(p.slots, p.deep)
  local row, is_row = next.row_at(at // p.deep)
  fetch(p, thread, next.given, row, is_row, j, M.number_of(p, thread, at % p.deep))
end

--- Waits until the thread's j-th vector is there. `refills`: the pass fills places at once.
function M.wait(p, j, refills)
  local size = group_size(p)
  if j >= p.slots or j % size ~= 0 then return end
  cp_async_wait(cdiv(p.slots, size) - 1 - (refills and 0 or j // size))
end

--- The thread's j-th vector of input i, in registers.
function M.read(p, ring, i, j)
  if j >= p.slots then return place(p, ring, i, j) end
  local now = fragment(ring.slots[i].dtype, p.width)
  copy(place(p, ring, i, j), now)
  return now
end

return M
