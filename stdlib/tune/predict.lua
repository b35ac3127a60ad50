-- predict.lua: a time for what a function launches, without a GPU.
--   predict.run(f[, device[, options]])   {ms, device, launches = {{kernel, ms, limit, parts}}}, or
--                                         nil and why
--   predict.launch(work, device)          of one launch, from counts (predict_counts.lua)
-- A few blocks, spread over the grid, run on the CPU engine; their counts stand for all. Registers
-- are the compiler's. The model: a wave of blocks takes as long as the unit of a multiprocessor
-- that has most to do, or as one block alone, if that is longer. The device's L2, its memory and
-- its scheduler of blocks serve all waves together. Rates and latencies are columns of
-- profile_device.lua.
local internal = ...
local counts = require "cuttle.predict_counts"
local devices = require "cuttle.profile_device"
local M = {}

local WARP <const> = 32
local DEFAULT_SM <const> = 90
local RUN_BLOCKS <const> = 8
local SOFT <const> = 4 -- how sharply the larger of two times rules: the exponent of their norm

-- What a compiler adds to what the kernel says, in instructions of a warp.
local ADDRESS <const> = 2  -- for each access
local PROLOGUE <const> = 20 -- for each warp

-- {====== Units of a multiprocessor ======

local function macs_cycles(of, rates)
  local cycles = 0
  for bits, macs in pairs(of) do
    cycles = cycles + macs * (tonumber(bits) / 16) / rates
  end
  return cycles
end

-- Cycles that the units of one multiprocessor need for the work of one block.
local function units_of(w, d)
  local n = w.blocks
  local warps = n * ((w.threads + WARP - 1) // WARP)
  local spills = w.stack_bytes * w.threads * n -- each byte written and read
  local l1 = w.wavefronts + math.max(w.load_requests - w.async_requests, w.load_bytes / d.l1_bytes)
    + math.max(w.store_requests, w.store_bytes / d.l1_bytes)
  local fp = (w.fma + w.flop) / d.fma
  local issue = (w.fma + w.flop + w.int + w.special) / WARP + w.shared_requests + w.shuffles
    + w.mmas + w.wgmmas + w.instructions
    + ADDRESS * (w.shared_requests + w.load_requests + w.store_requests) + PROLOGUE * warps
  return {
    fma = fp / n,
    issue = issue / d.issue / n,
    special = w.special / d.special / n,
    f64 = w.fma_f64 / d.f64 / n,
    shared = l1 / n / d.wavefronts,
    tensor = (macs_cycles(w.mma, d.mma) + macs_cycles(w.wgmma, d.wgmma or d.mma)) / n,
    spill = spills / n * 2 / d.l1_bytes,
    atomic = w.atomic_sectors / d.atomics / n,
  }
end

-- {====== One block alone ======

-- Cycles of a block that nothing else slows down: what it waits for.
local function chain_of(w, d)
  local n = w.blocks
  local warps = (w.threads + WARP - 1) // WARP
  local cycles = d.block_cycles
  cycles = cycles + w.barriers / n / warps * d.barrier_cycles
  cycles = cycles + w.chain_loads * d.memory_cycles + w.chain_shared * d.shared_cycles
  local ring = w.shared_bytes > 0 and (w.box_loads + w.async_bytes) / n / w.shared_bytes or 0
  cycles = cycles + ring * d.memory_cycles
  return cycles
end

-- {====== Memory ======

local function l2_bytes(w)
  local by_block = 0
  for _, t in ipairs(w.tensors) do by_block = by_block + t.by_block end
  local plain = w.load_bytes + w.store_bytes
  local boxes = w.box_loads + w.box_stores
  return boxes > 0 and boxes + plain or math.min(plain, by_block)
end

local function memory_bytes(w)
  local sum = 0
  for _, t in ipairs(w.tensors) do sum = sum + t.read + t.written end
  return sum
end

-- {====== A launch ======

local function norm(a, b)
  local top = math.max(a, b)
  if top == 0 then return 0 end
  return top * ((a / top) ^ SOFT + (b / top) ^ SOFT) ^ (1 / SOFT)
end

-- Cycles of a wave with so many blocks on the busiest multiprocessor.
local function wave_cycles(units, chain, blocks)
  local most, which = 0, "latency"
  for name, cycles in pairs(units) do
    if cycles > most then most, which = cycles, name end
  end
  return norm(most * blocks, chain), most * blocks > chain and which or "latency"
end

function M.launch(w, device)
  local d = devices.rates(device)
  local units, chain = units_of(w, d), chain_of(w, d)
  local o = devices.occupancy(d.sm, w.threads, w.registers, w.shared_bytes)
  local resident = math.max(o.blocks, 1)
  local slots = d.sms * resident
  local full, rest = w.blocks // slots, w.blocks % slots
  local cycles, limit = wave_cycles(units, chain, resident)
  cycles = cycles * full
  if rest > 0 then
    local more, which = wave_cycles(units, chain, (rest + d.sms - 1) // d.sms)
    cycles = cycles + more
    if full == 0 then limit = which end
  end
  local hz = d.ghz * 1e9
  local parts = { sm = cycles / hz * 1e3, l2 = l2_bytes(w) / (d.l2_bytes * hz) * 1e3,
                  hbm = memory_bytes(w) / (d.gbs * 1e9) * 1e3,
                  blocks = w.blocks / (d.block_rate * hz) * 1e3 }
  local ms = norm(norm(parts.sm, parts.l2), norm(parts.hbm, parts.blocks)) + d.launch_us * 1e-3
  for name, x in pairs(units) do parts[name] = x end
  parts.chain = chain
  return { kernel = w.kernel, ms = ms, limit = limit, parts = parts }
end

-- {====== What a function launches ======

local function default_device()
  local used = require "cuttle".device()
  return used.name and devices.like(used.name) or devices.find(nil, used.sm or DEFAULT_SM)
    or devices.find(nil, DEFAULT_SM)
end

local function device_of(name)
  if name == nil then return default_device() end
  local device = devices.find(name)
  if device then return device end
  local names = {}
  for i, known in ipairs(devices.devices) do names[i] = known.name end
  return nil, ("predict: device is '%s'; expected one of %s"):format(tostring(name),
    table.concat(names, ", "))
end

local function registers_of(program, sm)
  if not program.source then return nil, program.why or "its CUDA C is not known" end
  return internal.profile_registers(program.source, sm, program.symbol, program.options)
end

-- The launches of a program, together; nil and why.
local function predicted(program, device, options)
  local registers, stack
  if options.compile ~= false then
    registers, stack = registers_of(program, device.sm)
    if not registers then return nil, ("predict: %s: %s"):format(program.name, stack) end
  end
  local launch = M.launch(counts.of(program, registers, stack), device)
  launch.launches = program.launches
  return launch
end

local function play(f, device)
  local session <close> = internal.profile_begin(device.sm, RUN_BLOCKS, 1, true)
  local ok, message = pcall(f)
  if not ok then return nil, message end
  local programs = session:finish()
  if #programs > 0 then return programs end
  return nil, "predict: no kernel was launched on the CPU engine; choose it by device(\"cpu\") "
    .. "before tensors are made"
end

--- The time of what f() launches. device: a name of profile_device.lua; nil: the device in use, or
--- the first of capability 90. options.compile false: registers are not asked for, and limit
--- nothing.
function M.run(f, device, options)
  local row, why = device_of(device)
  if not row then return nil, why end
  local programs, message = play(f, row)
  if not programs then return nil, message end
  local out = { ms = 0, device = row.name, launches = {} }
  for i, program in ipairs(programs) do
    local launch, trouble = predicted(program, row, options or {})
    if not launch then return nil, trouble end
    out.launches[i] = launch
    out.ms = out.ms + launch.ms * launch.launches
  end
  return out
end

return M
