-- timeline_clocks.lua: what launches of ranks recorded on their devices (marks.lua), on one axis of
-- nanoseconds. A block's records are in cycles of its own clock. How fast that goes, and when it
-- began, the device's timer tells. How far the timers of two devices are apart, two kernels find
-- out: one asks, the other one answers, and both note when. The answer was given at half of the
-- shortest time that a question and its answer took, give or take that half.
local marks = require "cuttle.marks"
local M = {}

local WARP <const>, ROUNDS <const> = 32, 64
local SYS <const> = { scope = "sys" }

-- {====== Alignment ======

local ask = kernel("clocks", function(mine, theirs, asks, first)
  for k in range(first, first + ROUNDS) do
    if asks == 1 then
      mark("asked")
      atomic_store(theirs, 0, k, SYS)
      while atomic_load(mine, 0, SYS) < k do end
      mark("told")
    else
      while atomic_load(mine, 0, SYS) < k do end
      mark("answered")
      atomic_store(theirs, 0, k, SYS)
    end
  end
end)

-- The times of a mark, by turn, in ns of the device's timer; mhz where the launch was too short to
-- tell.
local function times_of(read, mhz, name)
  local out = {}
  local w = marks.warps(read)[0]
  for _, mark in ipairs(w and w.marks or out) do
    if mark.name == name then
      out[#out + 1] = read.timer + mark.at * 1000 / (read.mhz or mhz)
    end
  end
  return out
end

--- How far the timer of who answered is ahead of that of who asked, and how far that may be wrong;
--- nil if nothing was recorded. Each is {read =, mhz =}.
function M.offset(asking, answering)
  local asked, told = times_of(asking.read, asking.mhz, "asked"),
    times_of(asking.read, asking.mhz, "told")
  local answered = times_of(answering.read, answering.mhz, "answered")
  local best, offset
  for k = 1, math.min(#asked, #told, #answered) do
    local way = told[k] - asked[k]
    if not best or way < best then
      best, offset = way, answered[k] - (asked[k] + told[k]) / 2
    end
  end
  return offset, best and best / 2
end

local function read_part(part)
  local b = part.launch.block
  return marks.read(part.words, part.places, (b[1] * b[2] * b[3] + WARP - 1) // WARP)
end

-- Rank 0 asks each of the others in turn: {[rank] = {offset =, within =, mhz =}}.
local function measure(n)
  local m = mesh{ rank = n }
  local flags <close> = m:zeros(i32, n, "(M@rank)")
  local out, found = { [0] = { offset = 0, within = 0 } }, {}
  local function take(launch, places, words)
    if launch then
      found[launch.rank] = { launch = launch, places = places, words = words }
    end
  end
  for other = 1, n - 1 do
    local function run(turn)
      m:run(function(r)
        if r.rank ~= 0 and r.rank ~= other then return end
        ask{ grid = 1, block = 1 }(flags:part(), peer_tensor(flags, other - r.rank),
          i32(r.rank == 0 and 1 or 0), i32(((other - 1) * 2 + turn) * ROUNDS + 1))
      end)
    end
    marks.with({ block = { 0, 0, 0 }, ranks = take }, function() end, function()
      run(0) -- loads the kernels
      run(1)
    end)
    local asking, answering = read_part(found[0]), read_part(found[other])
    out[0].mhz = out[0].mhz or asking.mhz
    local offset, within = M.offset({ read = asking, mhz = 1000 }, { read = answering, mhz = 1000 })
    out[other] = offset and { offset = offset, within = within, mhz = answering.mhz }
  end
  return out
end

--- By rank of the groups of parts, as M.rows takes it; without an offset where it is not known.
function M.align(groups)
  local n = 1
  for _, parts in ipairs(groups) do
    for _, part in ipairs(parts) do n = math.max(n, part.launch.rank + 1) end
  end
  local ok, aligned = pcall(measure, n)
  return ok and aligned or { why = tostring(aligned):match "^[^\n]*" }
end

--- What a title says of it.
function M.text(aligned)
  if aligned.why then return "clocks not aligned: " .. aligned.why end
  local within = 0
  for _, a in pairs(aligned) do within = math.max(within, a.within) end
  return ("clocks aligned within %.0f ns"):format(within)
end

-- {====== Rows ======

-- What a warp did, to see whether it is like the one before it.
local function path_of(w)
  local out = {}
  for _, bar in ipairs(w.bars) do
    out[#out + 1] = bar.kind .. " " .. bar.last .. " " .. (bar.what or "")
  end
  for _, mark in ipairs(w.marks) do out[#out + 1] = "mark " .. mark.line end
  return table.concat(out, ",")
end

local function rows_of(part, read)
  local warps, rows = marks.warps(read), {}
  for _, warp in ipairs(read.warps) do
    local w = warps[warp.index]
    local path, last = path_of(w), rows[#rows]
    if last and last.path == path and last.last == warp.index - 1 then
      last.last = warp.index
    else
      rows[#rows + 1] = { path = path, kinds = {}, first = warp.index, last = warp.index,
        bars = w.bars, marks = w.marks, sites = w.sites, part = part }
    end
  end
  return rows
end

local function name_row(row, is_alone)
  local launch = row.part.launch
  local warps = row.first == row.last and "warp " .. row.first
    or ("warps %d-%d"):format(row.first, row.last)
  row.rank = "rank " .. launch.rank
  row.rest = (is_alone and "" or launch.name .. " ") .. warps
  row.name = row.rank .. " " .. row.rest
  row.warps, row.is_whole = row.name, true
end

-- Moves what a row has from cycles to ns on the common axis.
local function shift(row, begin, ns)
  for _, bar in ipairs(row.bars) do
    bar.from, bar.to = begin + bar.from * ns, begin + bar.to * ns
  end
  for _, mark in ipairs(row.marks) do mark.at = begin + mark.at * ns end
end

--- The rows of parts {launch =, places =, words =} by rank, and the time of all in ns.
function M.rows(parts, aligned)
  local list, zero, count, cycles, rows = {}, nil, {}, 0, {}
  for _, part in ipairs(parts) do
    local read = read_part(part)
    local a = aligned[part.launch.rank] or { offset = 0 }
    if read.timer then
      local begin = read.timer - a.offset
      list[#list + 1] = { part = part, read = read, begin = begin,
        ns = 1000 / (read.mhz or a.mhz or 1000) }
      zero = math.min(zero or begin, begin)
      count[part.launch.rank] = (count[part.launch.rank] or 0) + 1
    end
  end
  table.sort(list, function(a, b)
    local x, y = a.part.launch.rank, b.part.launch.rank
    return x < y or x == y and a.begin < b.begin
  end)
  for _, one in ipairs(list) do
    local begin = one.begin - zero
    cycles = math.max(cycles, begin + one.read.cycles * one.ns)
    for _, row in ipairs(rows_of(one.part, one.read)) do
      name_row(row, count[one.part.launch.rank] == 1)
      shift(row, begin, one.ns)
      rows[#rows + 1] = row
    end
  end
  return rows, cycles
end

return M
