-- profile_l2.lua: what L2 delivers to multiprocessors, tensor map by tensor map, and how much of
-- that blocks that run at the same time ask for together. Counts are of one launch.
--
-- Counted: boxes, their bytes inside the tensor, what shared memory gets of them (multicast: so
-- many times), different bytes. Modelled: a wave is as many consecutive blocks as the device has
-- room for; they run in step, the s-th box of a map of each at the same time, and what several of
-- them ask for in one step comes from memory once. L2 is taken to keep nothing longer, so that this
-- is the most that memory has to deliver; each byte once is the least.
local lists = require "cuttle.lists"
local M = {}

local SECTOR <const> = 32
local WGMMA_M <const> = 64
local NEAR <const> = 0.02 -- of a whole number

local function add_line(of, line)
  if not of.seen[line] then
    of.seen[line] = true
    of.lines[#of.lines + 1] = line
  end
end

-- {====== Rows ======

-- What maps and, of ordinary loads, tensors there are, in the order of their lines.
local function rows_of(program)
  local rows, by_key = {}, {}
  local function row_of(key, mem, what)
    local row = by_key[key]
    if not row then
      row = { what = what, tensor = mem.tensor, dtype = mem.dtype, buf = mem.buf, box = mem.box,
              swizzle = mem.swizzle, map = mem.map, lines = {}, seen = {}, boxes = 0, l2_bytes = 0,
              shared_bytes = 0 }
      by_key[key], rows[#rows + 1] = row, row
    end
    return row
  end
  for _, instruction in ipairs(program.rows) do
    for _, mem in ipairs(instruction.mem) do
      local row
      if mem.space ~= "global" or mem.requests == 0 or mem.atomic then
        row = nil
      elseif mem.box then
        local what = mem.reads and "tma_load" or mem.reduces and "tma_reduce" or "tma_store"
        row = row_of("box " .. mem.map, mem, what)
        row.shared_bytes = row.shared_bytes + mem.delivered
        row.l2_bytes = row.l2_bytes + mem.bytes
      elseif mem.reads then
        row = row_of("load " .. mem.buf, mem, "load")
        row.l2_bytes = row.l2_bytes + SECTOR * mem.sectors
      end
      if row then
        row.boxes = row.boxes + mem.requests
        add_line(row, instruction.line)
      end
    end
  end
  table.sort(rows, function(a, b)
    if a.lines[1] ~= b.lines[1] then return a.lines[1] < b.lines[1] end
    return a.tensor < b.tensor
  end)
  return rows
end

-- Different bytes of the tensor, sector by sector; nil: it is too large.
local function touched(tensor, writes, launches)
  local n = tensor and (writes and tensor.written_once or not writes and tensor.read_once)
  return n and SECTOR * n / launches or nil
end

local function settle_row(row, program, waves)
  local launches = program.launches
  row.seen = nil
  for _, name in ipairs { "boxes", "l2_bytes", "shared_bytes" } do
    row[name] = row[name] / launches
  end
  local tensor
  for _, t in ipairs(program.tensors) do
    if t.space == "global" and t.name == row.tensor then tensor = t end
  end
  row.once_bytes = touched(tensor, row.what:find("^tma_[sr]") ~= nil, launches)
  local wave = row.what == "tma_load" and waves and waves[row.map]
  if wave then
    row.once_bytes = math.min(wave.unique, row.once_bytes or wave.unique)
    row.wave_bytes = wave.together
    row.shared_by = row.l2_bytes / math.max(wave.together, 1)
  end
  row.times = row.once_bytes and row.l2_bytes / math.max(row.once_bytes, 1)
  row.map = nil
end

-- {====== Products ======

local function flops_of(totals, launches)
  local flops = 0
  for shape, n in pairs(totals.wgmma) do
    local columns, k = shape:match("x(%d+)x(%d+)$")
    flops = flops + 2 * WGMMA_M * columns * k * n / launches
  end
  return flops
end

local function whole(x)
  local n = math.floor(x + 0.5)
  return n > 0 and math.abs(x - n) <= NEAR * n and n or nil
end

-- The fewest bytes that n tiles of C, of `high` x `wide` tiles, need of A and B: those of a
-- rectangle of them. a, b: what one tile needs.
local function least(n, high, wide, a, b)
  local best
  for rows = 1, math.min(n, high) do
    local columns = math.min((n + rows - 1) // rows, wide)
    local bytes = rows * a + columns * b
    if rows * columns >= n and (not best or bytes < best.bytes) then
      best = { bytes = bytes, high = rows, wide = columns }
    end
  end
  return best
end

-- Of a kernel that multiplies matrices, both brought by one map each: the tiles of C, from how
-- often each byte of A and B is asked for; nil else.
local function product_of(l2, kernel)
  local loads = lists.filter(l2.maps, function(row) return row.what == "tma_load" end)
  local A, B = loads[1], loads[2]
  local is_product = #loads == 2 and A.tensor ~= B.tensor and next(kernel.totals.wgmma)
    and A.wave_bytes and B.wave_bytes
  if not is_product then return nil end
  local wide, high = whole(A.shared_bytes / A.once_bytes), whole(B.shared_bytes / B.once_bytes)
  local blocks = kernel.grid[1] * kernel.grid[2] * kernel.grid[3]
  if not wide or not high or blocks > high * wide then return nil end -- else parts of K
  local at_once = math.min(blocks, l2.wave_blocks, high * wide)
  local tiles = high * wide
  local best = least(at_once, high, wide, A.shared_bytes / tiles, B.shared_bytes / tiles)
  return { A = A.tensor, B = B.tensor, high = high, wide = wide, at_once = at_once,
           best_high = best.high, best_wide = best.wide, best_bytes = best.bytes * tiles / at_once,
           wave_bytes = A.wave_bytes + B.wave_bytes,
           l2_bytes = A.l2_bytes + B.l2_bytes,
           l2_bytes_higher = A.l2_bytes + B.l2_bytes / 2,
           l2_bytes_wider = A.l2_bytes / 2 + B.l2_bytes,
           intensity = flops_of(kernel.totals, kernel.launches) / (A.l2_bytes + B.l2_bytes) }
end

-- The table of a kernel, nil where it loads nothing. waves(n): session:waves of this program.
function M.l2_of(program, kernel, device, waves)
  local per_sm = math.max(kernel.occupancy.blocks, 1)
  local l2 = { sms = device.sms, device = device.name, blocks_per_sm = per_sm,
               wave_blocks = device.sms * per_sm, maps = rows_of(program) }
  local by_map = waves(l2.wave_blocks)
  l2.is_partial = by_map == nil
  for _, row in ipairs(l2.maps) do settle_row(row, program, by_map) end
  l2.waves = math.ceil(kernel.grid[1] * kernel.grid[2] * kernel.grid[3] / l2.wave_blocks)
  l2.product = product_of(l2, kernel)
  return #l2.maps > 0 and l2 or nil
end

return M
