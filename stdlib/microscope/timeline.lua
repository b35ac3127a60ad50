-- timeline.lua: who works and who waits in one block, and for what, in a model of time.
--   timeline(launch[, options][, args...])   a Timeline, which prints as rows of text
--   run(f, options, ...)                     those of what f launches, for `cuttle timeline`
-- The launch runs on the CPU engine, on copies of its tensors; timeline_play.lua gives times to
-- what its warps did. Rows are roles: warps of a warp group that wait and issue at the same lines.
local given = require "cuttle.launch_given"
local internal = ...
local lists = require "cuttle.lists"
local option_names = require "cuttle.option_names"
local play = require "cuttle.timeline_play"
local joining = require "cuttle.timeline_ranks"
local clocks = require "cuttle.timeline_clocks"
local page = require "cuttle.timeline_page"
local measured = require "cuttle.timeline_device"
local marks = require "cuttle.marks"
local tiles = require "cuttle.tiles"
local M = {}

local GROUP <const> = 4 -- warps
local COLUMNS <const> = 72

local fail = require "cuttle.fail".of "timeline"

-- {====== Roles ======

local telling = { pass = true, mma = true, load = true, wait = true }

-- What the warp does, but for the work between, and for arrivals and stores, which one warp of a
-- group makes for all: warps of one role are equal in it.
local function path_of(w)
  local lines, kinds = {}, {}
  for _, e in ipairs(w.events) do
    kinds[e.kind] = true
    if telling[e.kind] and e.agent ~= "bulk" then lines[#lines + 1] = e.kind .. e.line end
  end
  return table.concat(lines, " "), kinds
end

local function join(rows, w)
  local last = rows[#rows]
  local path, kinds = path_of(w)
  if last and last.path == path and last.first // GROUP == w.index // GROUP
    and last.last == w.index - 1 then
    last.last = w.index
    return
  end
  rows[#rows + 1] = { path = path, kinds = kinds, first = w.index, last = w.index, bars = w.bars,
    marks = w.marks, sites = w.sites }
end

local function role_of(row)
  if row.kinds.load and not row.kinds.mma then return "producer" end
  return row.kinds.mma and not row.kinds.load and "consumer" or nil
end

local function name_rows(rows)
  local count, at = {}, {}
  for _, row in ipairs(rows) do
    row.role = role_of(row)
    if row.role then count[row.role] = (count[row.role] or 0) + 1 end
  end
  for _, row in ipairs(rows) do
    row.warps = row.first == row.last and "warp " .. row.first
      or ("warps %d-%d"):format(row.first, row.last)
    if row.role then
      at[row.role] = (at[row.role] or 0) + 1
      row.name = count[row.role] > 1 and row.role .. " " .. at[row.role] or row.role
    else
      row.name = row.warps
    end
    row.is_whole = row.name == row.warps
  end
end

local function rows_of(player, rank)
  local rows, warps = {}, {}
  for _, w in ipairs(player.warps) do
    if w.rank == rank then warps[#warps + 1] = w end
  end
  table.sort(warps, function(a, b) return a.index < b.index end)
  for _, w in ipairs(warps) do join(rows, w) end
  name_rows(rows)
  return rows
end

-- {====== What goes on beside ======

local function of_rank(list, rank)
  return lists.filter(list, function(x) return x.rank == rank end)
end

-- Those of tensor core 0, one behind the other where they touch, by who issued them.
local function products_of(player, rank, rows)
  local bars = {}
  for _, x in ipairs(of_rank(player.products, rank)) do
    if x.core == 0 then
      for _, row in ipairs(rows) do
        if x.warp >= row.first and x.warp <= row.last then x.what, x.row = row.name, row end
      end
      bars[#bars + 1] = x
    end
  end
  table.sort(bars, function(a, b) return a.from < b.from end)
  return bars
end

-- Copies side by side, each in the first row where it finds room.
local function in_rows(copies)
  local rows = {}
  for _, x in ipairs(copies) do
    local at = 1
    while rows[at] and rows[at][#rows[at]].to > x.from do at = at + 1 end
    rows[at] = rows[at] or {}
    table.insert(rows[at], x)
  end
  return rows
end

-- {====== Lines of the option `marks` ======

--- Those of the lines that no warp of the timelines comes to.
function M.unmarked(timelines, lines)
  local seen, left = {}, {}
  for _, t in ipairs(timelines) do
    for _, row in ipairs(t.rows) do
      for _, mark in ipairs(row.marks) do seen[not mark.name and mark.line] = true end
    end
  end
  for _, line in ipairs(lines) do
    if not seen[line] then left[#left + 1] = line end
    seen[line] = true
  end
  return left
end

-- {====== Text ======

-- The share of the time, of all bars of a kind, by what they wait for: "full 23 %, wgmma 50 %".
local function shares(row, cycles)
  local sums, names = {}, {}
  for _, bar in ipairs(row.bars) do
    local name = bar.kind == "work" and "work" or bar.what:gsub("%[%d+%]$", "")
    if not sums[name] then names[#names + 1] = name end
    sums[name] = (sums[name] or 0) + bar.to - bar.from
  end
  table.sort(names, function(a, b) return sums[a] > sums[b] or sums[a] == sums[b] and a < b end)
  for i, name in ipairs(names) do
    names[i] = ("%s%s %.0f %%"):format(name == "work" and "" or "waits for ", name,
      100 * sums[name] / cycles)
  end
  return table.concat(names, ", ")
end

-- What most of each column's time is.
local function line_of(bars, cycles, mark)
  local cells = {}
  for i = 1, COLUMNS do
    local from, to = (i - 1) * cycles / COLUMNS, i * cycles / COLUMNS
    local most, best = 0, " "
    for _, bar in ipairs(bars) do
      local n = math.min(bar.to, to) - math.max(bar.from, from)
      if n > most then most, best = n, mark(bar) end
    end
    cells[i] = best
  end
  return (table.concat(cells):gsub("%s+$", ""))
end

local function mark_of(bar)
  if bar.kind == "work" then return "=" end
  return bar.what == "wgmma" and "w" or bar.what == "tma_store" and "s" or "."
end

-- The slot of a copy; of a product the number of its consumer.
local function digit_of(bar) return bar.what:match("(%d)%]?$") or "#" end

local Timeline = {}
local timeline_type = tiles.new_type("timeline", Timeline, { "measured", "ranks" })

--- What the time of each role goes to, and of what the percentages are.
function Timeline:shares()
  local out = {}
  for i, row in ipairs(self.rows) do
    local name = row.is_whole and row.name or ("%s (%s)"):format(row.name, row.warps)
    out[i] = ("%s: %s"):format(name, shares(row, self.cycles))
  end
  out[#out + 1] = ("100 %% is all %.0f %s: a role that ends before has less, "
    .. "and each share is rounded"):format(self.cycles, self.unit or "cycles of the model")
  return out
end

local NAME <const> = 12 -- columns

local function add_line(out, name, text, width)
  local rest = (" "):rep((width or NAME) - #name)
  out[#out + 1] = (("%s%s %s"):format(name, rest, text):gsub("%s+$", ""))
end

local function title_of(t)
  local block = ("block (%d,%d,%d)"):format(t.block[1], t.block[2], t.block[3])
  return ("%s%s%s: %.0f %s%s"):format(t.kernel and t.kernel .. "\n" or "", block,
    t.ranks and " of each launch" or "", t.cycles, t.unit or "cycles of the model",
    t.aligned and ", " .. t.aligned or "")
end

function timeline_type:__tostring()
  local out, width = { title_of(self) }, NAME
  for _, row in ipairs(self.rows) do width = math.max(width, #row.name) end
  for _, row in ipairs(self.rows) do
    add_line(out, row.name, line_of(row.bars, self.cycles, mark_of), width)
  end
  if #self.products > 0 then
    add_line(out, "tensor core", line_of(self.products, self.cycles, digit_of), width)
  end
  for i, row in ipairs(self.copies) do
    add_line(out, i == 1 and "copies" or "", line_of(row, self.cycles, digit_of), width)
  end
  out[#out + 1] = "= works, . waits at a barrier, w for wgmma, s for tma_store"
  for _, text in ipairs(self:shares()) do out[#out + 1] = text end
  if #self.products > 0 then
    out[#out + 1] = ("tensor core: busy %.0f %%"):format(100 * self.busy)
  end
  measured.add_text(out, self, function(bars, cycles) return line_of(bars, cycles, mark_of) end)
  for _, line in ipairs(self.unmarked or {}) do
    out[#out + 1] = ("mark line %d: no warp reaches it"):format(line)
  end
  return table.concat(out, "\n")
end

-- t:svg([file][, {from =, to =, width =}])
function Timeline:svg(file, options) return page.svg(self, file, options) end

-- t:html([file][, options]), the same as a page
function Timeline:html(file, options) return page.html({ self }, file, options) end

-- {====== The launch ======

local function busy_of(products, cycles)
  local sum = 0
  for _, bar in ipairs(products) do sum = sum + bar.to - bar.from end
  return sum / math.max(cycles, 1)
end

local function read_options(options)
  option_names.check("timeline", options, { block = option_names.any, model = option_names.table,
    device = option_names.flag, marks = option_names.any })
  for key, value in pairs(options.model or {}) do
    if not play.model[key] or type(value) ~= "number" or value <= 0 then
      fail("model.%s is %s; the model has positive numbers barrier, copy, copy_bytes, flag, "
        .. "global, instruction, macs, mma, shared and store", tostring(key), tostring(value))
    end
  end
  local b = options.block or 0
  if math.type(b) == "integer" then b = { b } end
  local block = type(b) == "table" and { b[1] or 0, b[2] or 0, b[3] or 0 } or {}
  for i = 1, 3 do
    if math.type(block[i]) ~= "integer" or block[i] < 0 then
      fail("block is %s; a block's index was expected, as in {block = {0, 0, 0}}", tostring(b))
    end
  end
  return block, options.model, measured.lines_of(options.marks, fail)
end

local how <const> = "timeline(launch) of launch = k:prepare{...}(A, B, C), or "
  .. "timeline(k{grid = ..., block = ...}, {}, A, B, C)"

local function play_all(events, barriers, model, lines)
  local player = play.play(events, barriers, model, lines.set)
  for _, w in ipairs(player.warps) do
    for _, m in ipairs(w.marks) do m.name = m.number and marks.name(m.number) end
  end
  return player
end

-- The Timeline of what was recorded.
local function timeline_of(events, barriers, rank, block, model, lines)
  local player = play_all(events, barriers, model, lines)
  local rows = rows_of(player, rank)
  local products = products_of(player, rank, rows)
  return setmetatable({ block = block, cycles = player.cycles, rows = rows, products = products,
    busy = busy_of(products, player.cycles), model = player.model,
    copies = in_rows(of_rank(player.copies, rank)),
    stores = in_rows(of_rank(player.stores, rank)) }, timeline_type)
end

local function append(list, more) table.move(more, 1, #more, #list + 1, list) end

-- {====== Launches of ranks that ran at once ======

-- The rows of a part say whose they are; of a rank with several launches, of which.
local function rows_of_part(player, part, is_alone)
  local rows = rows_of(player, part.at)
  local which = is_alone and "" or part.launch.name .. " "
  for _, row in ipairs(rows) do
    row.rank, row.rest = "rank " .. part.launch.rank, which .. row.name
    row.name = row.rank .. " " .. row.rest
    row.warps = row.is_whole and row.name or row.warps
  end
  return rows
end

local function counts_of(parts)
  local count, ranks = {}, {}
  for _, part in ipairs(parts) do
    local rank = part.launch.rank
    if not count[rank] then ranks[#ranks + 1] = rank end
    count[rank] = (count[rank] or 0) + 1
  end
  table.sort(ranks)
  return count, ranks
end

-- One Timeline of all parts, by rank; nil if nothing was recorded.
local function timeline_of_ranks(recorded, names, block, model, lines)
  local events, barriers, parts = joining.join(recorded, names)
  if #parts == 0 then return nil end
  local player, rows, products = play_all(events, barriers, model, lines), {}, {}
  local copies, stores = {}, {}
  local count, ranks = counts_of(parts)
  for _, rank in ipairs(ranks) do
    for _, part in ipairs(parts) do
      if part.launch.rank == rank then
        local own = rows_of_part(player, part, count[rank] == 1)
        append(rows, own)
        append(products, products_of(player, part.at, own))
        append(copies, in_rows(of_rank(player.copies, part.at)))
        append(stores, in_rows(of_rank(player.stores, part.at)))
      end
    end
  end
  return setmetatable({ block = block, cycles = player.cycles, rows = rows, products = products,
    busy = busy_of(products, player.cycles) / #ranks, model = player.model, copies = copies,
    stores = stores, ranks = ranks }, timeline_type)
end

local function predict(config, args, block, model, lines)
  local events, barriers, rank = internal.watch.timeline(config, block,
    internal.launch.copies(table.unpack(args, 1, args.n)))
  return timeline_of(events, barriers, rank, block, model, lines)
end

function M.timeline(x, options, ...)
  local unpacked = table.pack(internal.launch.launch(x))
  if unpacked.n == 0 then fail("argument 1 is not a launch; write %s", how) end
  if options ~= nil and type(options) ~= "table" then
    fail("the options are a %s; write %s", tiles.type_name(options), how)
  end
  options = options or {}
  local block, model, lines = read_options(options)
  local args = given.arguments(unpacked, fail, ...)
  local t = marks.with({}, nil, predict, unpacked[2], args, block, model, lines)
  t.unmarked = M.unmarked({ t }, lines)
  if options.device then measured.launch(t, unpacked[2], args, lines, fail) end
  return t
end

-- {====== The launches of a script ======

local function is_in(block, grid)
  return block[1] < grid[1] and block[2] < grid[2] and block[3] < grid[3]
end

local function sizes(v) return ("(%d,%d,%d)"):format(v[1], v[2], v[3]) end

local function name_ranks(t, parts)
  local names, seen = {}, {}
  for _, part in ipairs(parts) do
    local l = part.launch
    local text = ("%s  %s:%d"):format(l.name, l.file, l.line)
    if not seen[text] then names[#names + 1] = text end
    seen[text] = true
  end
  t.kernel = ("ranks %s, at once: %s"):format(table.concat(t.ranks, ", "),
    table.concat(names, ", "))
  t.name = parts[1].launch.name
end

local function name_launch(t, launch)
  t.kernel = ("%s  %s:%d  grid %s, block %s"):format(launch.name, launch.file, launch.line,
    sizes(launch.grid), sizes(launch.block))
  t.name = launch.name
end

-- One Timeline of launches of ranks that were measured, with times in ns; nil if they recorded
-- nothing. aligned: see timeline_clocks.lua.
local function measured_of_ranks(parts, block, aligned)
  local rows, cycles = clocks.rows(parts, aligned)
  if #rows == 0 then return nil end
  local _, ranks = counts_of(parts)
  local t = setmetatable({ block = block, cycles = cycles, rows = rows, products = {}, busy = 0,
    model = play.model, copies = {}, stores = {}, ranks = ranks, unit = "ns measured",
    aligned = clocks.text(aligned) }, timeline_type)
  name_ranks(t, parts)
  return t
end

-- Runs f(...): Timelines of the first launch of each specialisation, all launches as
-- {name =, grid =}, and what options.call, or pcall, says of f. options.kernel: of the kernel of
-- that name; options.launch: of the launch of that number alone, from 1 on, counted among those of
-- the kernel.
function M.run(f, options, ...)
  local block, model, lines = read_options { block = options.block, model = options.model,
    marks = options.marks }
  local timelines, launches, current = {}, {}, nil
  local seen, n = {}, {} -- by rank, or of launches without one
  local function choose(launch)
    local who = launch.rank or "none"
    seen[who], n[who] = seen[who] or {}, n[who] or 0
    launches[#launches + 1] = launch
    if options.kernel and launch.name ~= options.kernel then return nil end
    n[who] = n[who] + 1
    local is_wanted = not options.launch and not seen[who][launch.id] or n[who] == options.launch
    if not is_wanted or not is_in(block, launch.grid) then return nil end
    seen[who][launch.id] = true
    current = launch
    return block
  end
  local function take_ranks(parts, names)
    local t = timeline_of_ranks(parts, names, block, model, lines)
    if t then name_ranks(t, parts) end
    timelines[#timelines + 1] = t
  end
  local function take(events, barriers, rank)
    local t = timeline_of(events, barriers, rank, block, model, lines)
    name_launch(t, current)
    timelines[#timelines + 1] = t
  end
  local function on_cpu(...)
    -- luacheck: ignore 211
    local session <close> = internal.watch.timeline_begin(choose, take, take_ranks)
    return marks.with({}, nil, options.call or pcall, ...)
  end
  -- After a launch on the device: the same on the CPU engine, then what was measured.
  local function beside(launch, places, words, ...)
    if not choose(launch) then return end
    local t = predict(measured.config_of(launch), table.pack(...), block, model, lines)
    name_launch(t, launch)
    measured.add(t, launch, places, words)
    timelines[#timelines + 1] = t
  end
  local groups, group = {}, {} -- of launches of ranks that ran at once
  local function ranks(launch, places, words)
    if launch and choose(launch) then
      group[#group + 1] = { launch = launch, places = places, words = words }
    elseif not launch then
      groups[#groups + 1], group = #group > 0 and group or nil, {}
    end
  end
  local function on_device(...)
    return marks.with({ waits = true, lines = lines, block = block, ranks = ranks }, beside,
      options.call or pcall, ...)
  end
  local ok, what = (options.device and on_device or on_cpu)(f, ...)
  local aligned = #groups > 0 and clocks.align(groups)
  for _, parts in ipairs(groups) do
    timelines[#timelines + 1] = measured_of_ranks(parts, block, aligned)
  end
  return timelines, launches, ok, what
end

return M
