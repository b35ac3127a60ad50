-- profile_cost.lua: what a profiled kernel costs a device at least. Each line has a time on each
-- unit of the device, at that unit's peak and as if the line were all that ran. The times of a unit
-- add up to the kernel's, and the largest sum is its roofline. All are milliseconds of one launch.
--   M.settle(kernel, device)   gives the kernel `roofline` and `worst`, its lines `cost` and
--                              `cost_ms`, and their accesses `cost_ms` and `lost_ms`
local devices = require "cuttle.profile_device"
local M = {}

local SECTOR <const> = 32

--- The units, with the names of their times in `roofline` and `cost`. Of equal times the first
--- counts.
M.units = { { name = "tensor cores", key = "tensor_ms" }, { name = "arithmetic", key = "flops_ms" },
            { name = "shared memory", key = "shared_ms" }, { name = "memory", key = "once_ms" } }

-- {====== Lines ======

-- Milliseconds of one launch for one of each thing.
local function rates_of(kernel, device, once_bytes)
  local d, peaks = devices.rates(device), devices.peaks(device)
  local clock_ms = 1e3 / (d.sms * d.ghz * 1e9) / kernel.launches
  local sectors = kernel.totals.sector_bytes / SECTOR
  return { d = d, clock = clock_ms, flop = 1e3 / peaks.flops / kernel.launches,
           sector = once_bytes / peaks.bytes * 1e3 / math.max(sectors, 1) / kernel.launches }
end

-- `lost_ms` of its time goes to bytes that no lane asked for, or to conflicts.
local function settle_access(access, rates)
  if access.space == "global" then
    access.cost_ms = access.sectors * rates.sector
    access.lost_ms = access.cost_ms * (1 - math.min(access.efficiency, 1))
  else
    access.cost_ms = access.wavefronts * rates.clock
    access.lost_ms = access.conflicts * rates.clock
  end
end

local function settle_line(line, rates)
  local cost = { tensor_ms = 0, flops_ms = line.flops * rates.flop, shared_ms = 0, once_ms = 0 }
  for kind, macs in pairs(line.macs) do
    cost.tensor_ms = cost.tensor_ms + devices.tensor_cycles(rates.d, kind, macs) * rates.clock
  end
  for _, access in ipairs(line.accesses) do
    settle_access(access, rates)
    local key = access.space == "global" and "once_ms" or access.space == "shared" and "shared_ms"
    if key then cost[key] = cost[key] + access.cost_ms end
  end
  line.cost, line.cost_ms, line.macs = cost, 0, nil
  for _, ms in pairs(cost) do line.cost_ms = math.max(line.cost_ms, ms) end
end

-- {====== The kernel ======

--- The unit that a table of times is limited by, and its time.
function M.limit(times)
  local best = M.units[#M.units]
  for i = #M.units - 1, 1, -1 do
    local unit = M.units[i]
    if times[unit.key] > 0 and times[unit.key] >= times[best.key] then best = unit end
  end
  return best.name, times[best.key]
end

local function roofline_of(kernel, device, once_bytes)
  local peaks, d, totals = devices.peaks(device), devices.rates(device), kernel.totals
  local of_bytes = 1e3 / peaks.bytes / kernel.launches
  local r = { device = device.name, peak_flops = peaks.flops, peak_bytes = peaks.bytes,
              peak_tensor_flops = 2 * d.sms * (d.tcgen05 or d.wgmma or d.mma) * d.ghz * 1e9,
              sectors_ms = totals.sector_bytes * of_bytes,
              by_block_ms = totals.by_block_bytes and totals.by_block_bytes * of_bytes }
  for _, unit in ipairs(M.units) do
    r[unit.key] = 0
    for _, line in ipairs(kernel.lines) do r[unit.key] = r[unit.key] + line.cost[unit.key] end
  end
  if once_bytes > 0 then
    r.intensity = totals.flops / once_bytes
    r.tensor_intensity = totals.tensor_flops / once_bytes
  end
  r.balance = peaks.flops / peaks.bytes
  r.tensor_balance = r.peak_tensor_flops / peaks.bytes
  r.bound, r.estimate_ms = M.limit(r)
  return r
end

-- Where most time is lost; if none is, where most is spent: indices of the line and its access.
local function worst_of(lines)
  local worst, lost, cost
  for i, line in ipairs(lines) do
    for j, access in ipairs(line.accesses) do
      local is_worse = not worst or access.lost_ms > lost
        or access.lost_ms == lost and access.cost_ms > cost
      if is_worse then
        worst, lost, cost = { line = i, access = j }, access.lost_ms, access.cost_ms
      end
    end
  end
  return worst
end

function M.settle(kernel, device)
  local once_bytes = kernel.totals.once_bytes or kernel.totals.sector_bytes
  local rates = rates_of(kernel, device, once_bytes)
  for _, line in ipairs(kernel.lines) do settle_line(line, rates) end
  kernel.roofline = roofline_of(kernel, device, once_bytes)
  kernel.worst = worst_of(kernel.lines)
end

return M
