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

-- What `profile` and predict.lua know of each device, from NVIDIA's data sheets and architecture
-- papers:
--   sms  multiprocessors           ghz  the boost clock
--   fma  f32 multiply-adds of one multiprocessor a clock
--   gbs  bytes of memory a second, in units of 1e9
--   l2_mb  the L2 cache, in units of 2^20 bytes
-- Columns that no paper gives are in `rates`; a row may replace them. also: other names of drivers.
M.devices = {
  { name = "T4", sm = 75, sms = 40, fma = 64, ghz = 1.59, gbs = 320, l2_mb = 4 },
  { name = "A100", sm = 80, sms = 108, fma = 64, ghz = 1.41, gbs = 1555, l2_mb = 40 },
  { name = "A100-80GB", sm = 80, sms = 108, fma = 64, ghz = 1.41, gbs = 2039, l2_mb = 40,
    also = { "A100-SXM4-80GB", "A100 80GB" } },
  { name = "A10", sm = 86, sms = 72, fma = 128, ghz = 1.695, gbs = 600, l2_mb = 6 },
  { name = "L4", sm = 89, sms = 58, fma = 128, ghz = 2.04, gbs = 300, l2_mb = 48 },
  { name = "L40S", sm = 89, sms = 142, fma = 128, ghz = 2.52, gbs = 864, l2_mb = 96 },
  { name = "H200", sm = 90, sms = 132, fma = 128, ghz = 1.98, gbs = 4800, l2_mb = 50,
    measured = true },
  { name = "H100", sm = 90, sms = 132, fma = 128, ghz = 1.98, gbs = 3350, l2_mb = 50 },
  { name = "H100-PCIe", sm = 90, sms = 114, fma = 128, ghz = 1.755, gbs = 2039, l2_mb = 50,
    also = { "H100 PCIe" } },
  { name = "B200", sm = 100, sms = 148, fma = 128, ghz = 1.965, gbs = 8000, l2_mb = 126 },
}

-- More columns, by compute capability. Of one multiprocessor in a clock:
--   issue       warp instructions                  wavefronts  of shared memory and L1
--   special     special functions of threads       f64, int    multiply-adds of threads
--   mma, wgmma, tcgen05  multiply-adds of tensor cores, for operands of 16 bits
--   fill_bytes  from L2                            l2_bytes    the same where all ask together
-- Clocks:
--   line_cycles     of L1 for each line of 128 bytes that a request touches
--   memory_cycles   until a value from L2 or memory is there
--   shared_cycles   one from shared memory, as far as compilers cannot ask early
--   barrier_cycles  for a barrier                  block_cycles  for a block's begin and end
-- Of the device:
--   block_rate  blocks that begin in a clock       gbs_part  of gbs that a kernel can have
--   launch_us   of a launch that follows another
-- Peaks follow from data sheets. mma of 90 and all of `of_all` from line_cycles on are fitted to
-- times of one H200. The T4's are measured in "Dissecting the NVIDIA Turing T4 GPU via
-- Microbenchmarking". Other devices were compared with no times: only the H200 is `measured`.
local rates = {
  [75] = { wavefronts = 0.5, f64 = 2, mma = 512, l2_bytes = 32, memory_cycles = 450 },
  [80] = { f64 = 32, mma = 1024, l2_bytes = 47 },
  [86] = { f64 = 2, mma = 512, l2_bytes = 47 },
  [89] = { f64 = 2, mma = 512, l2_bytes = 47 },
  [90] = { f64 = 64, mma = 1350, wgmma = 2048 },
  [100] = { f64 = 64, mma = 1350, tcgen05 = 4096 },
}
local of_all <const> = { issue = 4, wavefronts = 1, special = 16, int = 64, line_cycles = 1.7,
  fill_bytes = 50, l2_bytes = 56, memory_cycles = 800, shared_cycles = 5, barrier_cycles = 40,
  block_cycles = 400, block_rate = 1, gbs_part = 0.85, launch_us = 1.9 }

--- The columns that each device has, beside name and sm.
M.columns = { "sms", "fma", "ghz", "gbs", "l2_mb", "f64", "mma" }
for name in pairs(of_all) do M.columns[#M.columns + 1] = name end
table.sort(M.columns)

--- The row of a device with the rates of its capability.
function M.rates(device)
  local row = {}
  for _, of in ipairs { of_all, rates[device.sm], device } do
    for name, value in pairs(of) do row[name] = value end
  end
  return row
end

--- Clocks of one multiprocessor for multiply-adds of its tensor cores. `macs`: of instructions of
--- that kind ("mma", "wgmma" or "tcgen05"), by bits of an operand's element; d: of M.rates.
function M.tensor_cycles(d, kind, macs)
  local rate, cycles = d[kind] or d.mma, 0
  for bits, n in pairs(macs) do
    cycles = cycles + n / (bits == 64 and 2 * d.f64 or rate * 16 / bits)
  end
  return cycles
end

function M.known_sms()
  local sms = {}
  for sm in pairs(limits) do sms[#sms + 1] = sm end
  table.sort(sms)
  return sms
end

function M.knows(sm) return limits[sm] ~= nil end

--- Bytes of shared memory of a block, at most.
function M.shared_block(sm) return limits[sm].shared_block end

-- The device of that name, or the first one of the capability.
function M.find(name, sm)
  for _, device in ipairs(M.devices) do
    if name and device.name:lower() == name:lower() or not name and device.sm == sm then
      return device
    end
  end
end

--- The names of all devices, for messages.
function M.names()
  local names = {}
  for i, device in ipairs(M.devices) do names[i] = device.name end
  return table.concat(names, ", ")
end

-- The length of the part of `text` that is the name; 0: none is.
local function match_length(text, name)
  local pattern = "%f[%w]" .. name:lower():gsub("%p", "%%%0") .. "%f[%W]"
  return text:lower():find(pattern) and #name or 0
end

--- The device that a driver calls so, as "NVIDIA H200"; nil: none is known.
function M.like(text)
  local best, most = nil, 0
  for _, device in ipairs(M.devices) do
    for _, name in ipairs { device.name, table.unpack(device.also or {}) } do
      local n = match_length(text, name)
      if n > most then best, most = device, n end
    end
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

-- {====== The device in use ======

local USUAL <const> = "H200"

-- A row of the table above: what a prediction in progress is for; nil: there is none.
M.predicted = nil

-- The multiprocessors of a device as device() tells of it. The CPU engine has none, and a text may
-- be written for a device that is not there: then those of what is predicted, or of an H200.
function M.n_sms(device)
  if device.n_sms then return device.n_sms end
  return (M.predicted or M.find(USUAL)).sms
end

return M
