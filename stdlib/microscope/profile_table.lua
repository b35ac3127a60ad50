-- profile_table.lua: a Profile as tables of text, for the terminal.
local lists = require "cuttle.lists"
local advice = require "cuttle.profile_advice"
local cost = require "cuttle.profile_cost"
local plural = require "cuttle.plural"
local predict = require "cuttle.predict"
local short = require "cuttle.short"
local M = {}

local MAX_COLUMNS <const> = 100 -- of advice
local MAX_KINDS <const> = 6 -- of instructions of a line
local LAUNCH_MS <const> = 2e-3 -- of a kernel that does nothing

M.short = short

local function bytes(n) return short(n) .. "B" end

local headers = { "line", "runs", "lanes", "fma", "access", "width", "requests", "bytes",
  "per request", "efficiency" }
local l2_headers = { "lines", "L2 of a launch", "box", "swizzle", "boxes", "from L2", "to shared",
  "once", "times", "by waves", "blocks share" }
local sass_headers = { "line", "instructions", "cycles", "waits", "machine code" }
local is_left = { access = true, width = true, ["per request"] = true, efficiency = true,
  ["machine code"] = true,
  ["L2 of a launch"] = true, box = true }

-- Elements of a lane in one instruction.
function M.width_text(access)
  local n = access.vec * (access.merged_bits or access.bits) // access.bits
  return ("%dx%s"):format(n, access.dtype)
end

function M.each_text(access)
  local is_shared = access.space ~= "global" -- or constant
  local n = is_shared and access.wavefronts / math.max(access.requests, 1)
    or access.sectors_per_request
  local text = n < 1000 and ("%.3g"):format(n) or short(n)
  return plural(text, is_shared and "wavefront" or "sector")
end

function M.efficiency_text(access)
  if access.space == "global" then return ("%.0f %%"):format(100 * access.efficiency) end
  return access.conflicts == 0 and "no conflicts" or ("%.3g-way conflicts"):format(access.degree)
end

local function access_cells(access)
  local op = access.async and access.op .. " async" or access.op
  return { access = ("%s %s %s"):format(op, access.space, access.tensor),
           width = M.width_text(access),
           requests = (access.is_unsure and "~" or "") .. short(access.requests),
           bytes = bytes(access.bytes), ["per request"] = M.each_text(access),
           efficiency = M.efficiency_text(access) }
end

local function what_of(line)
  local parts = {}
  if line.barriers > 0 then parts[#parts + 1] = "barrier" end
  for _, name in ipairs { "shuffles", "votes" } do
    if line[name] > 0 then parts[#parts + 1] = ("%s %s"):format(short(line[name]), name) end
  end
  if line.branches > 0 then
    parts[#parts + 1] = ("branch, %s of %s split"):format(short(line.splits), short(line.branches))
  end
  return table.concat(parts, "; ")
end

-- "1.02k wgmma 64x256x16", shape by shape.
local function add_wgmma(parts, wgmma)
  local shapes = lists.keys(wgmma)
  for _, shape in ipairs(shapes) do
    parts[#parts + 1] = ("%s wgmma %s"):format(short(wgmma[shape]), shape)
  end
end

--- The products of a line, as "16.8M", "512 mma" or "1.02k wgmma 64x256x16".
function M.products_text(line)
  local fma = line.fma + line.int_fma
  local products = { fma > 0 and short(fma) or nil }
  if line.mma > 0 then products[#products + 1] = short(line.mma) .. " mma" end
  add_wgmma(products, line.wgmma)
  return table.concat(products, ", ")
end

local function rows_of(line)
  local rows = lists.map(line.accesses, access_cells)
  local first = rows[1] or {}
  rows[1] = first
  first.line, first.runs = tostring(line.line), short(line.executions)
  first.lanes = ("%.1f"):format(line.active_lanes)
  first.fma = M.products_text(line)
  first.access = first.access or what_of(line)
  if #line.accesses > 0 and line.branches + line.shuffles + line.votes > 0 then
    rows[#rows + 1] = { access = what_of(line) }
  end
  return rows
end

local function lay_out(rows, columns)
  local cells, is_right = {}, {}
  for j, name in ipairs(columns) do is_right[j] = not is_left[name] end
  for i, row in ipairs(rows) do
    cells[i] = {}
    for j, name in ipairs(columns) do cells[i][j] = row[name] or "" end
  end
  local out = lists.columns(cells, is_right)
  for i, line in ipairs(out) do out[i] = "  " .. line end
  return out
end

-- {====== L2 ======

local function has_boxes(l2)
  return lists.any(l2.maps, function(row) return row.box end)
end

local function l2_rows(l2)
  local rows = {}
  for i, row in ipairs(l2.maps) do
    rows[i] = { lines = table.concat(row.lines, ","),
      ["L2 of a launch"] = ("%s %s"):format(row.what, row.tensor),
      box = row.box and ("%s %s"):format(table.concat(row.box, "x"), row.dtype) or row.dtype,
      swizzle = row.box and ("%d"):format(row.swizzle), boxes = row.box and short(row.boxes),
      ["from L2"] = bytes(row.l2_bytes),
      ["to shared"] = row.box and bytes(row.shared_bytes),
      once = row.once_bytes and bytes(row.once_bytes),
      times = row.times and ("%.3g"):format(row.times),
      ["by waves"] = row.wave_bytes and bytes(row.wave_bytes),
      ["blocks share"] = row.shared_by and ("%.3g"):format(row.shared_by) }
  end
  return rows
end

local function percent(x, of) return ("%.0f %%"):format(100 * x / of) end

local function l2_summary(l2)
  local out = {}
  if not has_boxes(l2) then return out end
  if l2.is_partial then
    out[1] = "L2: there are too many boxes to say what blocks of a wave share"
    return out
  end
  out[1] = ("L2: %s of up to %d blocks (%d on each of %s's %d multiprocessors); memory "
    .. "delivers `by waves` at most, `once` at least"):format(
    plural(l2.waves, "wave"), l2.wave_blocks, l2.blocks_per_sm, l2.device, l2.sms)
  local p = l2.product
  if p then
    out[2] = ("  %d x %d tiles of C, %d at once: by waves %s of %s and %s; rectangles of %d x %d "
      .. "tiles would take %s"):format(p.high, p.wide, p.at_once, bytes(p.wave_bytes), p.A, p.B,
      p.best_high, p.best_wide, bytes(p.best_bytes))
    out[3] = ("  from L2 %s, %.3g flops a byte; with tiles twice as long along %s %s of it, along "
      .. "%s %s"):format(bytes(p.l2_bytes), p.intensity, p.A,
      percent(p.l2_bytes_higher, p.l2_bytes), p.B, percent(p.l2_bytes_wider, p.l2_bytes))
  end
  return out
end

local function has_unsure(kernel)
  for _, line in ipairs(kernel.lines) do
    for _, access in ipairs(line.accesses) do
      if access.is_unsure then return true end
    end
  end
  return false
end

local function sizes(v) return ("(%d,%d,%d)"):format(v[1], v[2], v[3]) end

local function head_of(kernel)
  local failed = kernel.failed
    and (", of which %d failed: what ran before counts"):format(kernel.failed) or ""
  return ("%s  %s:%d  grid %s, block %s, %s%s"):format(kernel.name, kernel.file,
    kernel.line, sizes(kernel.grid), sizes(kernel.block),
    plural(kernel.launches, "launch"), failed)
end

-- 0.00023 ms -> "230 ns": three digits that count.
local function time(ms)
  if ms == 0 then return "0" end
  if ms >= 1 then return ("%.3g ms"):format(ms) end
  return ms >= 1e-3 and ("%.3g us"):format(ms * 1e3) or ("%.3g ns"):format(ms * 1e6)
end

M.time = time

local function times(r)
  return ("f32 %s, %sshared memory %s, memory %s (each sector once)"):format(time(r.flops_ms),
      r.tensor_ms > 0 and ("tensor cores %s, "):format(time(r.tensor_ms)) or "",
      time(r.shared_ms), time(r.once_ms))
    .. (r.by_block_ms and (", %s (once a block)"):format(time(r.by_block_ms)) or "")
    .. (", %s (each request)"):format(time(r.sectors_ms))
end

local function arithmetic(totals)
  local parts = {}
  for _, of in ipairs { { "fma", "fma" }, { "flops", "flops f32" }, { "flops_f64", "flops f64" },
                        { "special", "special" }, { "tensor_flops", "flops of tensor cores" },
                        { "mma", "mma" },
                        { "shuffles", "shuffles" }, { "votes", "votes" } } do
    local n = totals[of[1]]
    if n > 0 then parts[#parts + 1] = ("%s %s"):format(short(n), of[2]) end
  end
  add_wgmma(parts, totals.wgmma)
  return ("arithmetic: %s; %.1f lanes active"):format(
    #parts > 0 and table.concat(parts, ", ") or "none", totals.active_lanes)
end

local function predicted_text(p)
  if p.why then return "no time; " .. p.why end
  return ("%s, limited by %s"):format(time(p.ms), predict.limit_text(p.limit))
end

-- "16 flops a byte of memory, balance 13.9"; of tensor cores if the kernel uses them.
local function intensities(totals, r)
  local uses_tensor = totals.tensor_flops > 0
  local intensity = uses_tensor and r.tensor_intensity or r.intensity
  return ("%s flops%s a byte of memory, balance %.3g"):format(
    intensity and ("%.3g"):format(intensity) or "no", uses_tensor and " of tensor cores" or "",
    uses_tensor and r.tensor_balance or r.balance)
end

local function line_text(line)
  local source = line.source and line.source:match "^%s*(.-)%s*$" or ""
  return ("line %d%s"):format(line.line, source ~= "" and ", " .. source or "")
end

local function costliest_of(lines)
  local best
  for _, line in ipairs(lines) do
    if not best or line.cost_ms > best.cost_ms then best = line end
  end
  return best
end

local function worst_text(kernel)
  local line = kernel.lines[kernel.worst.line]
  local access = line.accesses[kernel.worst.access]
  if access.lost_ms == 0 then return "No access wastes sectors or has conflicts." end
  return ("Worst access: line %d, %s %s, %s; %.0f %% of its time is lost."):format(line.line,
    access.op, access.tensor, M.efficiency_text(access), 100 * access.lost_ms / access.cost_ms)
end

--- What one wants to know first, as sentences: what limits the kernel, where it spends most, and
--- the worst access.
function M.verdict(kernel)
  local r, best = kernel.roofline, costliest_of(kernel.lines)
  local p = kernel.predicted
  local out = { kernel.refused and ("%s cannot run it: %s."):format(r.device, kernel.refused)
    or ("%sAt the peaks of %s: %s, by %s."):format(
      p.why and "" or ("Predicted: %s. "):format(predicted_text(p)), r.device,
      time(r.estimate_ms), r.bound) }
  if best and best.cost_ms > 0 then
    out[2] = ("Costliest line, by %s: %s."):format(cost.limit(best.cost), line_text(best))
  end
  if kernel.worst then out[#out + 1] = worst_text(kernel) end
  return out
end

-- What a device takes at least, and is predicted to take; or that it cannot run the kernel.
local function add_times(out, kernel)
  local r = kernel.roofline
  if kernel.refused then
    out[#out + 1] = ("no roofline and no time on %s, which cannot run it: %s"):format(r.device,
      kernel.refused)
    return
  end
  out[#out + 1] = ("roofline of %s: at least %s, by %s%s; %s"):format(r.device,
    time(r.estimate_ms), r.bound,
    r.estimate_ms < LAUNCH_MS and ", less than a launch itself takes (some 2 us)" or "",
    intensities(kernel.totals, r))
  out[#out + 1] = "  " .. times(r)
  out[#out + 1] = ("predicted on %s: %s"):format(r.device, predicted_text(kernel.predicted))
end

-- Lines on the kernel as a whole.
function M.summary(profile, kernel)
  local t, o = kernel.totals, kernel.occupancy
  local out = {
    ("global: %s loaded, %s stored in sectors of 32 bytes; %s and %s asked for"):format(
      bytes(32 * t.global_load_sectors), bytes(32 * t.global_store_sectors),
      bytes(t.global_load_bytes), bytes(t.global_store_bytes)),
  }
  if t.shared_load_wavefronts + t.shared_store_wavefronts > 0 then
    out[#out + 1] = ("shared: %s wavefronts of loads, %s of stores; %s and %s of them conflicts")
      :format(short(t.shared_load_wavefronts), short(t.shared_store_wavefronts),
        short(t.shared_load_conflicts), short(t.shared_store_conflicts))
  end
  out[#out + 1] = arithmetic(t)
  out[#out + 1] = ("occupancy on sm_%d: %s, %d of %d warps, limited by %s; %s registers, "
    .. "%d bytes shared"):format(profile.sm, plural(o.blocks, "block"), o.warps,
      o.max_warps, table.concat(o.limited_by, " and "), kernel.registers or "unknown",
      kernel.shared_bytes)
  if kernel.registers_unknown and not kernel.refused then
    out[#out + 1] = "registers are not known: " .. kernel.registers_unknown
  end
  if kernel.counted == "CUDA C" then
    out[#out + 1] = "accesses are those of the CUDA C, as its machine code is not known; a "
      .. "compiler may merge neighbours"
  end
  if has_unsure(kernel) then
    out[#out + 1] = "~: the machine code has more or fewer accesses here than the script's "
      .. "lines need, so the compiler"
    out[#out + 1] = "  has dropped, moved or copied some; how often each is made is not known"
  end
  add_times(out, kernel)
  for _, text in ipairs(kernel.l2 and l2_summary(kernel.l2) or {}) do out[#out + 1] = text end
  return out
end

-- Between words, indented, as a paragraph of a list.
local function wrapped(text)
  local function fits(line) return #line <= MAX_COLUMNS end
  return table.concat(lists.wrap(text, fits, "  -", "    "), "\n")
end

local function add_table(out, rows, columns)
  local head = {}
  for _, name in ipairs(columns) do head[name] = name end
  table.insert(rows, 1, head)
  for _, text in ipairs(lay_out(rows, columns)) do out[#out + 1] = text end
end

-- The most frequent instructions of "FFMA 64, LDS 2, ...", and how many others there are.
local function short_code(code)
  local parts = {}
  for part in code:gmatch "[^,]+" do parts[#parts + 1] = part end
  if #parts <= MAX_KINDS then return code end
  return ("%s, %d more"):format(table.concat(parts, ",", 1, MAX_KINDS), #parts - MAX_KINDS)
end

-- The hot loop by lines: of the kernel's own script by number.
local function add_sass(out, kernel)
  local sass, rows = kernel.sass, {}
  if sass.why then
    out[#out + 1] = "  machine code is not known: " .. sass.why
    return
  end
  for i, line in ipairs(sass.lines) do
    local place = line.file == kernel.file and tostring(line.line)
      or ("%s:%d"):format(line.file, line.line)
    rows[i] = { line = line.line == 0 and "none" or place,
                instructions = short(line.instructions), cycles = short(line.cycles),
                waits = short(line.waits), ["machine code"] = short_code(line.code) }
  end
  add_table(out, rows, sass_headers)
  out[#out + 1] = ("  machine code: %d instructions; %s has %d, and one warp alone needs at least "
    .. "%d cycles%s"):format(sass.instructions,
    sass.is_loop and "the hot loop" or "no loop, so this", sass.loop.instructions,
    sass.loop.cycles, sass.is_loop and " for a turn" or "")
  out[#out + 1] = "  waits: instructions that also wait for the result of an earlier one, such as "
    .. "a load"
end

local function kernel_text(profile, kernel)
  local rows = {}
  for _, line in ipairs(kernel.lines) do
    for _, row in ipairs(rows_of(line)) do rows[#rows + 1] = row end
  end
  local out = { head_of(kernel), "" }
  add_table(out, rows, headers)
  out[#out + 1] = ""
  if kernel.l2 and has_boxes(kernel.l2) then
    add_table(out, l2_rows(kernel.l2), l2_headers)
    out[#out + 1] = ""
  end
  for _, text in ipairs(M.summary(profile, kernel)) do out[#out + 1] = "  " .. text end
  if kernel.sass then
    out[#out + 1] = ""
    add_sass(out, kernel)
  end
  local texts = advice.all(kernel)
  if #texts > 0 then out[#out + 1] = "" end
  for _, text in ipairs(texts) do out[#out + 1] = wrapped(text) end
  return table.concat(out, "\n")
end

function M.text(profile)
  local out = lists.map(profile.kernels, function(kernel) return kernel_text(profile, kernel) end)
  return table.concat(out, "\n\n")
end

return M
