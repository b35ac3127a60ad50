-- judge_fits.lua: would a GPU take what a candidate launches, and how long would it take? From
-- counts of the launches of one case, and the limits of a row of profile_device.lua.
local devices = require "cuttle.profile_device"
local grids = require "cuttle.check_grid"
local model = require "cuttle.predict"
local machine = require "cuttle.profile_machine"
local run = require "cuttle.judge_run"
local M = {}

local MAX_THREADS <const> = 1024 -- of a block

local function volume(of) return of[1] * of[2] * of[3] end

-- What a device lacks for a launch; nil: nothing, as far as is known.
local function lack_of(launch, device)
  local threads = volume(launch.block)
  if threads > MAX_THREADS then
    return ("a block of %d threads; no GPU runs more than %d"):format(threads, MAX_THREADS)
  end
  if not launch.source then return launch.why end
  local of = devices.occupancy(device.sm, threads, launch.registers, launch.shared_bytes)
  if of.blocks > 0 then return nil end
  return ("a block of %d threads with %s and %d bytes of shared memory fits on no multiprocessor "
    .. "of %s"):format(threads, launch.registers and launch.registers .. " registers a thread"
    or "as many registers as it needs", launch.shared_bytes, device.name)
end

-- The launches, with registers where a compiler tells; and why one is not known.
local function launches_of(programs, options)
  local out, unknown = {}, nil
  for i, program in ipairs(programs) do
    local registers, more
    if options.compile then registers, more = machine.registers(program, options.device.sm) end
    unknown = unknown or not registers and more or nil
    out[i] = { kernel = program.name, launches = program.launches, grid = program.grid,
               block = program.block, registers = registers, shared_bytes = program.shared_bytes,
               local_bytes = registers and more,
               source = program.source, why = program.why }
  end
  return out, unknown
end

local function fits_of(programs, cooperative, options)
  local launches, unknown = launches_of(programs, options)
  local part = { ok = true, score = 1.0, device = options.device.name, launches = launches,
                 registers_unknown = unknown or not options.compile and "nothing was compiled"
                   or nil }
  local found = {}
  grids.add(found, cooperative, options.device)
  local message = found[1] and found[1].message
  for _, launch in ipairs(launches) do
    local lack = lack_of(launch, options.device)
    message = message or lack and ("%s: %s"):format(launch.kernel, lack)
    launch.source, launch.why = nil, nil
  end
  if message then part.ok, part.score, part.message = false, 0.0, message end
  return part
end

-- Milliseconds in which the device's memory moves the tensors of the case once.
local function least_ms(case, device)
  local bytes = 0
  for _, row in ipairs(case.rows) do
    if row.dtype then bytes = bytes + row.size * row.dtype.bytes end
  end
  return bytes / (device.gbs * 1e6)
end

local function predicted_of(programs, case, options, compiles)
  local ok, found, why = pcall(model.of, model.counted(programs, options.device),
    { compile = compiles })
  if not ok or not found then return { message = tostring(ok and why or found) } end
  local out = { ok = true, device = found.device, ms = found.ms, sizes = case.sizes, launches = {},
                score = math.min(1.0, least_ms(case, options.device) / found.ms) }
  for i, launch in ipairs(found.launches) do
    out.launches[i] = { kernel = launch.kernel, ms = launch.ms, launches = launch.launches,
                        limit = model.limit_text(launch.limit) or launch.limit }
  end
  return out
end

--- Both parts of the report. Of what is not right nothing is predicted.
function M.of(task, candidate, case, options, cooperative, is_right)
  if not options.predict then
    return { message = "not asked for" }, { message = "not asked for" }
  end
  local programs, trouble = run.count(task, candidate, case, options)
  if not programs then
    return { message = trouble.message }, { message = trouble.message }
  end
  local fits = fits_of(programs, cooperative, options)
  if not is_right then return fits, { message = "only for what is right" } end
  return fits, predicted_of(programs, case, options, options.compile and not fits.registers_unknown)
end

return M
