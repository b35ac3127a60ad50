-- profile_device.lua: what `profile` knows of GPUs: limits of a multiprocessor by compute
-- capability, occupancy from them, and the peaks of some devices for a roofline. No device is
-- asked.
local M = {}

local KIB <const> = 1024
local WARP <const> = 32
local REGISTER_UNIT <const> = 256 -- registers are given to warps in multiples of so many
local PARTITIONS <const> = 4      -- of a multiprocessor, each with a quarter of its registers
local MAX_REGISTERS <const> = 255 -- of a thread

-- By compute capability times 10: warps and blocks that may be resident, registers, bytes of
-- shared memory of a multiprocessor and of a block, bytes that the system takes of each block, and
-- the unit in which shared memory is given out. From the CUDA C programming guide, "Technical
-- specifications per compute capability", and cuda_occupancy.h of CUDA 13.0.
local limits = {
  [75] = { warps = 32, blocks = 16, shared = 64 * KIB, shared_block = 64 * KIB, reserved = 0,
    shared_unit = 256 },
  [80] = { warps = 64, blocks = 32, shared = 164 * KIB, shared_block = 163 * KIB, reserved = KIB,
    shared_unit = 128 },
  [86] = { warps = 48, blocks = 16, shared = 100 * KIB, shared_block = 99 * KIB, reserved = KIB,
    shared_unit = 128 },
  [89] = { warps = 48, blocks = 24, shared = 100 * KIB, shared_block = 99 * KIB, reserved = KIB,
    shared_unit = 128 },
  [90] = { warps = 64, blocks = 32, shared = 228 * KIB, shared_block = 227 * KIB, reserved = KIB,
    shared_unit = 128 },
  [100] = { warps = 64, blocks = 32, shared = 228 * KIB, shared_block = 227 * KIB, reserved = KIB,
    shared_unit = 128 },
}
local REGISTERS <const> = 64 * KIB -- of a multiprocessor and of a block, in all of these

-- Peaks without matrix units: multiprocessors, f32 multiply-adds of one a clock, the boost clock
-- in GHz, bytes of memory a second in units of 1e9. From NVIDIA's data sheets and architecture
-- papers (T4, A100 40 and 80 GB SXM, A10, L4, H100 SXM, H200, B200).
M.devices = {
  { name = "T4", sm = 75, sms = 40, fma = 64, ghz = 1.59, gbs = 320 },
  { name = "A100", sm = 80, sms = 108, fma = 64, ghz = 1.41, gbs = 1555 },
  { name = "A100-80GB", sm = 80, sms = 108, fma = 64, ghz = 1.41, gbs = 2039 },
  { name = "A10", sm = 86, sms = 72, fma = 128, ghz = 1.695, gbs = 600 },
  { name = "L4", sm = 89, sms = 58, fma = 128, ghz = 2.04, gbs = 300 },
  { name = "H200", sm = 90, sms = 132, fma = 128, ghz = 1.98, gbs = 4800 },
  { name = "H100", sm = 90, sms = 132, fma = 128, ghz = 1.98, gbs = 3350 },
  { name = "B200", sm = 100, sms = 148, fma = 128, ghz = 1.965, gbs = 8000 },
}

-- What a multiprocessor does in a clock, by capability: warp instructions, wavefronts of shared
-- memory, bytes of L1, special functions, multiply-adds of f64, of tensor cores with operands of 16
-- bits by mma and by wgmma, atomic sectors. Then clocks: until a value from L2 or memory is there,
-- one from shared memory; what a barrier and a block's begin and end take.
local rates = {
  [75] = { issue = 4, wavefronts = 0.5, l1_bytes = 64, special = 16, f64 = 2, mma = 512,
    atomics = 1, memory_cycles = 500, shared_cycles = 19, barrier_cycles = 25,
    block_cycles = 600 },
  [80] = { issue = 4, wavefronts = 1, l1_bytes = 128, special = 16, f64 = 32, mma = 1024,
    atomics = 1, memory_cycles = 500, shared_cycles = 23, barrier_cycles = 25,
    block_cycles = 600 },
  [86] = { issue = 4, wavefronts = 1, l1_bytes = 128, special = 16, f64 = 2, mma = 512,
    atomics = 1, memory_cycles = 500, shared_cycles = 23, barrier_cycles = 25,
    block_cycles = 600 },
  [89] = { issue = 4, wavefronts = 1, l1_bytes = 128, special = 16, f64 = 2, mma = 512,
    atomics = 1, memory_cycles = 500, shared_cycles = 23, barrier_cycles = 25,
    block_cycles = 600 },
  [90] = { issue = 4, wavefronts = 1, l1_bytes = 64, special = 16, f64 = 64, mma = 1300,
    wgmma = 2048, atomics = 1, memory_cycles = 700, shared_cycles = 30, barrier_cycles = 30,
    block_cycles = 1000 },
  [100] = { issue = 4, wavefronts = 1, l1_bytes = 128, special = 16, f64 = 64, mma = 1024,
    atomics = 1, memory_cycles = 700, shared_cycles = 30, barrier_cycles = 30,
    block_cycles = 1000 },
}
local of_all = { l2_bytes = 5120, block_rate = 0.86, launch_us = 2, l2_mb = 50 }

--- The row of a device with the rates of its capability.
function M.rates(device)
  return setmetatable({}, { __index = function(_, name)
    return device[name] or rates[device.sm][name] or of_all[name]
  end })
end

function M.known_sms()
  local sms = {}
  for sm in pairs(limits) do sms[#sms + 1] = sm end
  table.sort(sms)
  return sms
end

function M.knows(sm) return limits[sm] ~= nil end

-- The device of that name, or the first one of the capability.
function M.find(name, sm)
  for _, device in ipairs(M.devices) do
    if name and device.name:lower() == name:lower() or not name and device.sm == sm then
      return device
    end
  end
end

--- The device whose name is part of this one, as of "NVIDIA H200"; the longest such name.
function M.like(name)
  local best
  for _, device in ipairs(M.devices) do
    local is_longer = not best or #device.name > #best.name
    if is_longer and name:lower():find(device.name:lower(), 1, true) then best = device end
  end
  return best
end

local function round_up(n, unit) return (n + unit - 1) // unit * unit end

local function blocks_of_registers(registers, warps)
  if registers == 0 then return math.maxinteger end
  local of_warp = round_up(registers * WARP, REGISTER_UNIT)
  local assumed = of_warp * round_up(warps, PARTITIONS)
  if registers > MAX_REGISTERS or assumed > REGISTERS then return 0 end
  return REGISTERS // PARTITIONS // of_warp * PARTITIONS // warps
end

local function blocks_of_shared(of, bytes)
  local of_block = round_up(bytes + of.reserved, of.shared_unit)
  if bytes > of.shared_block then return 0 end
  return of_block == 0 and math.maxinteger or of.shared // of_block
end

-- Blocks that one multiprocessor can hold at once, by the rules of
-- cudaOccupancyMaxActiveBlocksPerMultiprocessor: {blocks, warps, max_warps, fraction, limited_by},
-- the last a list of "threads", "registers", "shared", "blocks". registers nil: they are not known
-- and do not limit.
function M.occupancy(sm, threads, registers, shared_bytes)
  local of = limits[sm]
  local warps = (threads + WARP - 1) // WARP
  local by = {
    { "threads", of.warps // warps }, { "registers", blocks_of_registers(registers or 0, warps) },
    { "shared", blocks_of_shared(of, shared_bytes) }, { "blocks", of.blocks },
  }
  local blocks = math.maxinteger
  for _, limit in ipairs(by) do blocks = math.min(blocks, limit[2]) end
  local limited_by = {}
  for _, limit in ipairs(by) do
    if limit[2] == blocks then limited_by[#limited_by + 1] = limit[1] end
  end
  return { blocks = blocks, warps = blocks * warps, max_warps = of.warps,
           fraction = blocks * warps / of.warps, limited_by = limited_by }
end

-- What the device can do at most: f32 operations and bytes a second.
function M.peaks(device)
  return { flops = 2 * device.sms * device.fma * device.ghz * 1e9, bytes = device.gbs * 1e9 }
end

return M
