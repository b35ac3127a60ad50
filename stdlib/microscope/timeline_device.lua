-- timeline_device.lua: what a GPU recorded of the block (marks.lua), beside the prediction.
local marks = require "cuttle.marks"
local tiles = require "cuttle.tiles"
local M = {}

local MOST_LINES <const> = 64 -- CT_MARK_LINES
local TOLD <const> = 8
local WARP <const> = 32

-- {====== Options ======

-- The option `marks`, script lines in order, as a list that is also a set: `lines.set[12]`.
function M.lines_of(list, fail)
  local lines = { set = {} }
  if list == nil then return { set = nil } end
  if type(list) ~= "table" or #list > MOST_LINES then
    fail("marks is %s; up to %d lines of the script were expected, as in {marks = {12, 20}}",
      type(list) == "table" and ("a list of %d"):format(#list) or tostring(list), MOST_LINES)
  end
  for i, line in ipairs(list) do
    if math.type(line) ~= "integer" or line < 1 then
      fail("marks[%d] is %s; a line of the script was expected, as in {marks = {12, 20}}", i,
        tostring(line))
    end
    lines[i], lines.set[line] = line, true
  end
  return lines
end

-- {====== Launching ======

-- Is one of the tensors in x on a device? A typed number, as u32(8), has a dtype but is none.
local function is_on_device(x)
  if tiles.type_name(x) == "tensor" then return x.device ~= "cpu" end
  if type(x) ~= "table" then return false end
  for _, v in pairs(x) do
    if is_on_device(v) then return true end
  end
  return false
end

-- Launches it twice on copies where the tensors are, and adds the second one's marks to the
-- timeline: the first one loads the kernel.
function M.launch(t, config, args, lines, fail)
  if not is_on_device(args) then
    fail("device = true measures on a GPU, but no argument is a tensor on one; "
      .. "make them there, or leave it out")
  end
  local copies = table.pack(clone(table.unpack(args, 1, args.n)))
  local function take(launch, places, words) M.add(t, launch, places, words) end
  local function twice()
    config(table.unpack(copies, 1, copies.n))
    config(table.unpack(copies, 1, copies.n))
  end
  marks.with({ waits = true, lines = lines, block = t.block }, take, twice)
end

-- The configuration of a launch that was told of.
function M.config_of(launch)
  return launch.kernel { grid = launch.grid, block = launch.block, cluster = launch.cluster,
    smem = launch.smem > 0 and launch.smem or nil, cooperative = launch.cooperative or nil }
end

-- {====== What was measured ======

-- {cycles, mhz, dropped, broken, rows = {{name, bars, marks, sites}}}: by the roles of the
-- timeline, of whose warps the first stands for all.
function M.add(t, launch, places, words)
  local b = launch.block
  local read = marks.read(words, places, (b[1] * b[2] * b[3] + WARP - 1) // WARP)
  local warps = marks.warps(read)
  t.measured = { cycles = read.cycles, mhz = read.mhz, dropped = read.dropped,
    broken = read.broken, rows = {}, warps = warps }
  for i, row in ipairs(t.rows) do
    local w = warps[row.first] or { bars = {}, marks = {}, sites = {} }
    t.measured.rows[i] = { name = row.name, bars = w.bars, marks = w.marks, sites = w.sites }
  end
end

-- {====== Text ======

-- By line of a wait of each role: how much longer, or shorter, the GPU took than the model.
local function differences(t)
  local list = {}
  for i, row in ipairs(t.rows) do
    local sites = t.measured.rows[i].sites
    for key, site in pairs(sites) do
      local model = row.sites[key]
      if model then
        for _, kind in ipairs { "wait", "work" } do
          list[#list + 1] = { row = row.name, order = i, line = site.line, kind = kind,
            what = site.what, model = model[kind], measured = site[kind], n = site.n,
            by = site[kind] - model[kind] }
        end
      end
    end
  end
  table.sort(list, function(a, b)
    local x, y = math.abs(a.by), math.abs(b.by)
    if x ~= y then return x > y end
    if a.order ~= b.order then return a.order < b.order end
    if a.line ~= b.line then return a.line < b.line end
    if a.what ~= b.what then return a.what < b.what end
    return a.kind < b.kind
  end)
  return list
end

local function add_differences(out, t)
  local list = differences(t)
  if #list == 0 or list[1].by == 0 then return end
  out[#out + 1] = ("%-46s %9s %9s"):format("where they differ most, in cycles:", "model",
    "measured")
  for i = 1, math.min(#list, TOLD) do
    local d = list[i]
    if d.by ~= 0 then
      local text = d.kind == "wait" and "waits for " .. d.what or "works before"
      out[#out + 1] = ("  %-44s %9.0f %9.0f"):format(
        ("%s, line %d, %s"):format(d.row, d.line, text), d.model, d.measured)
    end
  end
end

local function label_of(mark) return mark.name or "line " .. mark.line end

-- The marks of a row by label: when the first was, and how many there were.
local function firsts(list)
  local by, order = {}, {}
  for _, mark in ipairs(list) do
    local label = label_of(mark)
    if not by[label] then
      by[label] = { label = label, at = mark.at, n = 0 }
      order[#order + 1] = by[label]
    end
    by[label].n = by[label].n + 1
  end
  return order, by
end

local function add_marks(out, t)
  for i, row in ipairs(t.rows) do
    local order = firsts(row.marks)
    local _, measured = firsts(t.measured and t.measured.rows[i].marks or {})
    for _, mark in ipairs(order) do
      local m = measured[mark.label]
      out[#out + 1] = ("mark %s of %s: at %.0f%s%s"):format(mark.label, row.name, mark.at,
        m and (", measured at %.0f"):format(m.at) or "",
        mark.n > 1 and (", the first of %d"):format(mark.n) or "")
    end
  end
end

local function head_of(m)
  local time = m.mhz and (", %.1f us at %.0f MHz"):format(m.cycles / m.mhz, m.mhz) or ""
  return ("measured: %.0f cycles%s"):format(m.cycles, time)
end

-- line_of(bars, cycles): how a row is drawn.
local function add_measured(out, t, line_of)
  local m = t.measured
  out[#out + 1] = head_of(m)
  for _, row in ipairs(m.rows) do
    out[#out + 1] = (("%-12s %s"):format(row.name, line_of(row.bars, m.cycles)):gsub("%s+$", ""))
  end
  add_differences(out, t)
  if m.dropped > 0 then
    out[#out + 1] = ("%d marks found no room and were dropped; a smaller problem has fewer"):format(
      m.dropped)
  end
  if m.broken > 0 then
    out[#out + 1] = ("%d records make no sense and were left out"):format(m.broken)
  end
end

function M.add_text(out, t, line_of)
  if t.measured then add_measured(out, t, line_of) end
  add_marks(out, t)
end

return M
