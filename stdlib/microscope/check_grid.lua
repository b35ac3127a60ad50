-- check_grid.lua: which cooperative grids a device cannot hold: all blocks of such a grid are
-- resident at once, and the CPU engine holds any that a script launches.
--   M.device(name)        the device of profile_device.lua; raises for another name
--   M.watch()             launches, to be filled: launches.take is what internal.watch.check calls
--   M.add(findings, launches, device)   adds a finding for each place that launches such a grid;
--                         findings.registers_unknown: why those of a kernel are not known; then
--                         they limit nothing
local devices = require "cuttle.profile_device"
local errors = require "cuttle.fail"
local kinds = require "cuttle.findings"
local machine = require "cuttle.profile_machine"
local M = {}

function M.device(name)
  local device = type(name) == "string" and devices.find(name)
  if not device then
    errors.fail("check", "the device is '%s'; expected one of %s", tostring(name), devices.names())
  end
  return device
end

-- {====== Launches ======

-- What tells launches apart: the place, the specialisation, the grid and the memory.
local function key_of(launch)
  local grid, block = launch.grid, launch.block
  return ("%s:%d %d %d,%d,%d %d,%d,%d %d %d"):format(launch.chunk, launch.line, launch.id, grid[1],
    grid[2], grid[3], block[1], block[2], block[3], launch.cluster, launch.shared_bytes)
end

function M.watch()
  local launches, by_key = {}, {}
  function launches.take(launch)
    local key = key_of(launch)
    local known = by_key[key]
    if known then
      known.count = known.count + 1
      return false
    end
    launch.count = 1
    by_key[key] = launch
    launches[#launches + 1] = launch
    return true
  end
  return launches
end

-- {====== What fits ======

local function volume(of) return of[1] * of[2] * of[3] end

local plural = require "cuttle.plural"

local says <const> = {
  threads = function(launch) return plural(volume(launch.block), "thread") .. " a block" end,
  registers = function(launch) return plural(launch.registers, "register") .. " a thread" end,
  shared = function(launch)
    return plural(launch.shared_bytes, "byte") .. " of shared memory a block"
  end,
  blocks = function() return "the most that one can hold" end,
}

local remedies <const> = {
  threads = "use fewer threads a block", registers = "use fewer registers a thread",
  shared = "use less shared memory",
}

local function listed(names, texts, launch)
  local list = {}
  for _, name in ipairs(names) do
    local text = texts[name]
    list[#list + 1] = type(text) == "function" and text(launch) or text
  end
  return list
end

local function remedy(occupancy, at_once)
  local out = listed(occupancy.limited_by, remedies)
  if at_once > 0 then
    table.insert(out, 1, ("launch at most %s, and let each do several parts of the work in a "
      .. "loop whose stride is the grid"):format(plural(at_once, "block")))
  end
  return table.concat(out, ", or ")
end

local function message_of(launch, occupancy, device, at_once)
  return ("cooperative grid: %s of kernel '%s', but %s runs at most %d at once: %d on each of "
    .. "%d multiprocessors, limited by %s; %s"):format(plural(volume(launch.grid), "block"),
    launch.kernel, device.name, at_once, occupancy.blocks, device.sms,
    table.concat(listed(occupancy.limited_by, says, launch), " and "), remedy(occupancy, at_once))
end

-- The blocks that run at once: whole clusters only.
local function at_once_of(launch, occupancy, device)
  local cluster = math.max(launch.cluster, 1)
  return occupancy.blocks * device.sms // cluster * cluster
end

-- The finding; nil: the grid fits, as far as is known.
local function finding_of(launch, device)
  local occupancy = devices.occupancy(device.sm, volume(launch.block), launch.registers,
    launch.shared_bytes)
  local at_once = at_once_of(launch, occupancy, device)
  if volume(launch.grid) <= at_once then return nil end
  local kind = kinds.of.cooperative_grid
  return { kind = kind.kind, id = kind.id, kernel = launch.kernel, chunk = launch.chunk,
           line = launch.line, count = launch.count,
           message = message_of(launch, occupancy, device, at_once) }
end

function M.add(findings, launches, device)
  local known = {} -- what is compiled, by specialisation
  for _, launch in ipairs(launches) do
    local of = known[launch.id] or table.pack(machine.registers(launch, device.sm))
    known[launch.id] = of
    launch.registers = of[1]
    findings[#findings + 1] = finding_of(launch, device)
    if not launch.registers then
      findings.registers_unknown = ("kernel '%s': %s"):format(launch.kernel, of[2])
    end
  end
end

return M
