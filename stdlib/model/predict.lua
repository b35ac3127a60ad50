-- predict.lua: a time for what a function launches, without a GPU.
--   predict.run(f[, device[, options]])   {ms, device, launches = {{kernel, ms, limit, parts}}}, or
--                                         nil and why
--   predict.play, compile, of             the same of many functions: what each launches is
--                                         counted, then all is compiled at once, then predicted
--   predict.launch(work, device)          of one launch, from its counts (predict_counts.lua) and a
--                                         row of profile_device.lua:
--                                         {kernel, ms, limit, parts, units, chain}
-- All times are milliseconds: `parts` those of the launch, on the multiprocessors (sm), in l2, in
-- memory and at the start of blocks; `units` those of one block on each unit of a multiprocessor;
-- `chain` that of one block alone. A block that fits on no multiprocessor has none: nil and why.
-- A few blocks, spread over the grid, run on the CPU engine; their counts stand for all. Registers
-- are the compiler's. The model: a wave of blocks takes as long as the unit of a multiprocessor
-- that has most to do, or as one block alone, if that is longer. The device's L2, its memory and
-- its scheduler of blocks serve all waves together. Rates and latencies are columns of
-- profile_device.lua.
local internal = ...
local lists = require "cuttle.lists"
local counts = require "cuttle.predict_counts"
local devices = require "cuttle.profile_device"
local machine = require "cuttle.profile_machine"
local M = {}

local WARP <const> = 32
local DEFAULT_SM <const> = 90
local RUN_BLOCKS <const> = 12
M.model = {
  soft = 4,      -- how sharply the larger of two times rules: the exponent of their norm
  address = 2,   -- instructions that a compiler adds to each access,
  prologue = 10, -- and to each warp
}
local model = M.model

local limit_texts <const> = { fma = "f32 arithmetic", f64 = "f64 arithmetic",
  int = "integer arithmetic", special = "special functions", issue = "the issue of instructions",
  shared = "shared memory and L1", tensor = "tensor cores", l2 = "L2", memory = "memory",
  blocks = "the start of blocks", latency = "latency" }

--- The words for a limit.
function M.limit_text(limit) return limit_texts[limit] end

-- {====== Units of a multiprocessor ======

local function warps_of(w) return (w.threads + WARP - 1) // WARP end

-- Instructions of the warps of a block.
local function instructions_of(w)
  local accesses = w.shared_requests + w.load_requests + w.store_requests
  local arithmetic = (w.fma + w.flop + w.int + w.special + w.fma_f64) / WARP
  return (arithmetic + w.shuffles + w.mmas + w.instructions + (1 + model.address) * accesses)
    / w.blocks + model.prologue * warps_of(w)
end

local function l2_bytes(w)
  local by_block, plain = 0, w.load_bytes + w.store_bytes
  for _, t in ipairs(w.tensors) do by_block = by_block + t.by_block end
  local boxes = w.box_loads + w.box_stores
  return boxes > 0 and boxes + plain or math.min(plain, by_block)
end

-- Each spilled byte is written and read in each turn of the innermost loop.
local function spill_bytes(w) return 2 * w.local_bytes * WARP * w.hot end

-- Cycles that the units of one multiprocessor need for the work of one block.
local function units_of(w, d)
  local n, lines = w.blocks, w.load_lines + w.store_lines
  return {
    fma = (w.fma + w.flop) / d.fma / n,
    f64 = w.fma_f64 / d.f64 / n,
    int = w.int / d.int / n,
    special = w.special / d.special / n,
    issue = instructions_of(w) / d.issue,
    shared = (w.wavefronts + d.line_cycles * lines) / d.wavefronts / n,
    tensor = (devices.tensor_cycles(d, "mma", w.mma) + devices.tensor_cycles(d, "wgmma", w.wgmma)
      + devices.tensor_cycles(d, "tcgen05", w.tcgen05)) / n,
    l2 = (l2_bytes(w) + spill_bytes(w)) / d.fill_bytes / n,
  }
end

-- {====== One block alone ======

-- Cycles of a block that nothing else slows down.
local function chain_of(w, d, units)
  local n, warps = w.blocks, warps_of(w)
  local own = instructions_of(w) / warps
    + units.tensor * math.max(1, d.issue / warps)
  local in_flight = math.max(w.step_bytes, w.shared_bytes - w.step_bytes)
  local ring = w.step_bytes > 0 and (w.box_loads + w.async_bytes) / n / in_flight or 0
  return d.block_cycles + math.max(own, ring * d.memory_cycles)
    + w.barriers / n / warps * d.barrier_cycles
    + w.chain_loads * d.memory_cycles + w.chain_shared * d.shared_cycles
end

-- {====== Memory ======

local function memory_bytes(w)
  local sum = 0
  for _, t in ipairs(w.tensors) do sum = sum + t.read + t.written end
  return sum
end

-- {====== A launch ======

local function norm(...)
  local top, sum = math.max(...), 0
  for _, x in ipairs { ... } do sum = sum + (x / top) ^ model.soft end
  return top * sum ^ (1 / model.soft)
end

-- Cycles of a wave with so many blocks on the busiest multiprocessor, and what limits it.
local function wave_cycles(units, chain, blocks)
  local most, limit = 0, "issue"
  for name, cycles in pairs(units) do
    if cycles > most then most, limit = cycles, name end
  end
  return norm(most * blocks, chain), most * blocks > chain and limit or "latency"
end

-- A launch that memory stopped has run no block.
local function multiprocessor_cycles(w, d, units, chain, resident)
  local full, rest = w.blocks // (d.sms * resident), w.blocks % (d.sms * resident)
  local cycles, limit, first = 0, "latency", nil
  if full > 0 then
    local each, which = wave_cycles(units, chain, resident)
    cycles, limit, first = full * each, which, each
  end
  if rest > 0 then
    local more, which = wave_cycles(units, chain, (rest + d.sms - 1) // d.sms)
    cycles, limit, first = cycles + more, first and limit or which, first or more
  end
  return cycles + (w.imbalance - 1) * (first or 0), limit -- the longest block may begin last
end

local function in_ms(cycles, of_ms)
  local out = {}
  for name, n in pairs(cycles) do out[name] = n / of_ms end
  return out
end

-- What a block wants too much of for a multiprocessor, from its occupancy of 0 blocks.
local function too_large(w, d, occupancy)
  local wants = { threads = ("%d warps"):format(warps_of(w)),
    registers = ("%d registers a thread"):format(w.registers or 0),
    shared = ("%d bytes of shared memory"):format(w.shared_bytes) }
  local list = lists.map(occupancy.limited_by, function(name) return wants[name] end)
  return ("a block of %d threads with %s fits on no multiprocessor of %s"):format(w.threads,
    table.concat(list, " and "), d.name)
end

function M.launch(w, device)
  local d = devices.rates(device)
  local o = devices.occupancy(d.sm, w.threads, w.registers, w.shared_bytes)
  if o.blocks == 0 then
    return nil, too_large(w, d, o)
  end
  local units = units_of(w, d)
  local chain = chain_of(w, d, units)
  local cycles, limit = multiprocessor_cycles(w, d, units, chain, o.blocks)
  local of_ms, from_l2 = d.ghz * 1e6, l2_bytes(w) + spill_bytes(w) -- clocks of a millisecond
  local parts = { sm = cycles / of_ms, l2 = from_l2 / (d.l2_bytes * d.sms) / of_ms,
                  memory = memory_bytes(w) / (d.gbs * d.gbs_part * 1e6),
                  blocks = w.blocks / d.block_rate / of_ms }
  local ms = norm(parts.sm, parts.l2, parts.memory, parts.blocks) + d.launch_us * 1e-3
  for _, name in ipairs { "l2", "memory", "blocks" } do
    if parts[name] > parts.sm then limit = name end
  end
  return { kernel = w.kernel, ms = ms, limit = limit, parts = parts,
           units = in_ms(units, of_ms), chain = chain / of_ms }
end

-- {====== What a function launches ======

local function default_device()
  local used = device()
  return used.name and devices.like(used.name) or devices.find(nil, used.sm or DEFAULT_SM)
    or devices.find(nil, DEFAULT_SM)
end

local function device_of(name)
  if name == nil then return default_device() end
  local device = devices.find(name)
  if device then return device end
  return nil, ("predict: device is '%s'; expected one of %s"):format(tostring(name),
    devices.names())
end

-- The counts of a launch of M.play: of its machine code's accesses, unless nothing is compiled.
local function work_of(launch, sm, compiles)
  if compiles then machine.settle(launch.program, sm) end
  launch.work = launch.work or counts.of(launch.program)
  return launch.work
end

-- The launches of a program, together; nil and why.
local function predicted(launch, device, options)
  local registers, stack
  local compiles = options.compile ~= false
  if compiles then
    registers, stack = machine.registers(launch.program, device.sm)
    if not registers then return nil, ("predict: %s: %s"):format(launch.name, stack) end
  end
  local work = work_of(launch, device.sm, compiles)
  work.registers, work.local_bytes = registers, stack or 0
  local out, why = M.launch(work, device)
  if not out then return nil, ("predict: %s: %s"):format(launch.name, why) end
  out.launches, out.work = launch.launches, work
  return out
end

-- What a prediction needs of a program of a profile session.
local function launch_of(program)
  return { name = program.name, launches = program.launches, program = program,
           source = program.source, symbol = program.symbol, options = program.options,
           why = program.why }
end

local function run_counted(f, row)
  local session <close> = internal.watch.profile_begin(row.sm, RUN_BLOCKS, 1, true)
  devices.predicted = row
  local ok, message = pcall(f)
  devices.predicted = nil
  if not ok then return nil, message end
  local programs = session:finish()
  if #programs > 0 then return programs end
  return nil, "predict: no kernel was launched" .. (device().sm == nil and ""
    or " on the CPU engine; choose it with device(\"cpu\") before tensors are made")
end

--- What M.play returns, of programs that somebody else counted, for a row of profile_device.lua.
function M.counted(programs, row)
  local played = { device = row }
  for i, program in ipairs(programs) do played[i] = launch_of(program) end
  return played
end

--- Runs f(), and keeps what a prediction needs: {device =, ...launches}, for M.of. nil and why.
function M.play(f, device)
  local row, why = device_of(device)
  if not row then return nil, why end
  local programs, message = run_counted(f, row)
  if not programs then return nil, message end
  return M.counted(programs, row)
end

--- Compiles what was played for one device, at once, into the disk cache: M.of finds it there.
--- on_done(n) is called with how many texts are done: may it go on? Returns how many there are.
function M.compile(list, on_done)
  local texts = {}
  for _, played in ipairs(list) do
    for _, launch in ipairs(played) do
      if launch.source then texts[#texts + 1] = launch end
    end
  end
  if #texts > 0 then internal.watch.profile_compile(texts, list[1].device.sm, on_done) end
  return #texts
end

--- The time of what was played. options.compile false: registers are not asked for, and limit
--- nothing.
function M.of(played, options)
  local out = { ms = 0, device = played.device.name, launches = {} }
  for i, one in ipairs(played) do
    local launch, trouble = predicted(one, played.device, options or {})
    if not launch then return nil, trouble end
    out.launches[i] = launch
    out.ms = out.ms + launch.ms * launch.launches
  end
  return out
end

--- The time of what f() launches. device: a name of profile_device.lua; nil: the device in use, or
--- the first of capability 90. options: of M.of.
function M.run(f, device, options)
  local played, why = M.play(f, device)
  if not played then return nil, why end
  return M.of(played, options)
end

return M
