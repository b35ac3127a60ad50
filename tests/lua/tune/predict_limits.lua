-- What limits a launch, by the model: launches that do one thing alone, and their times by hand.
local predict = require "cuttle.predict"
local devices = require "cuttle.profile_device"
local device = devices.find "H200"
local d = devices.rates(device)

local counts <const> = { "hot", "fma", "fma_f64", "flop", "special", "int", "mmas", "box_loads",
  "box_stores", "load_bytes", "store_bytes", "load_requests", "store_requests", "async_bytes",
  "load_lines", "store_lines", "wavefronts", "shared_requests", "instructions", "shuffles",
  "barriers", "chain_loads", "chain_shared", "step_bytes", "local_bytes", "shared_bytes" }

-- A launch of blocks of one warp that does nothing but what `changes` says.
local function launch(blocks, changes)
  local w = { kernel = "k", blocks = blocks, threads = 32, registers = 32, imbalance = 1, mma = {},
              wgmma = {}, tcgen05 = {}, tensors = {} }
  for _, name in ipairs(counts) do w[name] = 0 end
  for name, value in pairs(changes) do w[name] = value end
  return predict.launch(w, device)
end

local function limit(blocks, changes)
  local result = launch(blocks, changes)
  return result.limit, predict.limit_text(result.limit)
end

-- Milliseconds beyond the launch itself.
local function ms(result) return result.ms - d.launch_us * 1e-3 end
local function is_near(a, b) return math.abs(a / b - 1) < 0.02 end

-- Memory: each sector once; L2: what blocks ask for.
local GB <const> = 1e9
local function tensor(read, by_block)
  return { { read = read, written = 0, by_block = by_block } }
end
print(limit(132, { tensors = tensor(GB, 0) })) -- expect: memory	memory
print(is_near(ms(launch(132, { tensors = tensor(GB, 0) })), -- expect: true
  GB / (d.gbs * d.gbs_part * 1e6)))
print(ms(launch(132, { tensors = { { read = 0, written = GB, by_block = 0 } } })) -- expect: true
  == ms(launch(132, { tensors = tensor(GB, 0) })))
local from_l2 = { load_bytes = GB, tensors = tensor(1000, GB) }
print(limit(1 << 20, { box_loads = GB }))      -- expect: blocks	the start of blocks
print(limit(132 * 32, { box_loads = 1000 * GB })) -- expect: l2	L2
-- Where multiprocessors have a faster path to L2 than L2 itself.
local wide = setmetatable({ fill_bytes = 1000 }, { __index = device })
for name, value in pairs(device) do wide[name] = value end
local function all_ask(changes)
  local old = device
  device = wide
  local result = launch(132 * 32, changes)
  device = old
  return result
end
print(all_ask(from_l2).limit, all_ask { box_stores = GB }.limit) -- expect: l2	l2
print(is_near(ms(all_ask(from_l2)), GB / (d.l2_bytes * d.sms * d.ghz * 1e6))) -- expect: true
-- No more than the tensors of the blocks have; spills come on top.
print(is_near(ms(all_ask { load_bytes = 9 * GB, tensors = tensor(0, GB) }), ms(all_ask(from_l2)))) -- expect: true
print(is_near(ms(all_ask { local_bytes = 100, hot = GB / 6400 }), ms(all_ask(from_l2)))) -- expect: true

-- Blocks that do nothing, and one that waits for memory again and again.
print(is_near(ms(launch(1 << 26, {})) * d.ghz * 1e6 * d.block_rate, 1 << 26)) -- expect: true
print(limit(1, { chain_loads = 1000 }))        -- expect: latency	latency
print(is_near(ms(launch(1, { chain_loads = 1000 })) * d.ghz * 1e6, 1000 * d.memory_cycles)) -- expect: true
print(limit(1, { chain_shared = 100000 }))     -- expect: latency	latency
print(limit(1, { barriers = 100000 }))         -- expect: latency	latency
-- The same waits of many blocks at once take no longer; other work may limit them then.
print(is_near(ms(launch(132, { chain_loads = 1000 })), ms(launch(1, { chain_loads = 1000 })))) -- expect: true
print(limit(132 * 32, { chain_loads = 10, int = 132 * 32 * 64 * 1000 })) -- expect: int	integer arithmetic

-- Units of a multiprocessor: n of each, on all of them.
local function unit(name, per_clock, changes)
  local clocks <const> = 1e6
  local n = clocks * per_clock * d.sms
  local w = {}
  for key, value in pairs(changes(n)) do w[key] = value end
  local result = launch(d.sms * 32, w)
  print(name, result.limit, is_near(ms(result) * d.ghz * 1e6, clocks))
end
unit("f64", d.f64, function(n) return { fma_f64 = n } end) -- expect: f64	f64	true
unit("int", d.int, function(n) return { int = n } end) -- expect: int	int	true
unit("special", d.special, function(n) return { special = n } end) -- expect: special	special	true
unit("issue", d.issue, function(n) return { instructions = n } end) -- expect: issue	issue	true
unit("shuffles", d.issue, function(n) return { shuffles = n } end) -- expect: shuffles	issue	true
unit("shared", d.wavefronts, function(n) return { wavefronts = n } end) -- expect: shared	shared	true
unit("lines", 1 / d.line_cycles, function(n) return { load_lines = n } end) -- expect: lines	shared	true
unit("mma", d.mma, function(n) return { mma = { [16] = n } } end) -- expect: mma	tensor	true
unit("8 bits", d.mma, function(n) return { mma = { [8] = 2 * n } } end) -- expect: 8 bits	tensor	true
unit("wgmma", d.wgmma, function(n) return { wgmma = { [16] = n } } end) -- expect: wgmma	tensor	true

-- As many of f32 as instructions are issued; half as many on an A100.
unit("fma", d.fma, function(n) return { fma = n } end) -- expect: fma	issue	true
device = devices.find "A100"
d = devices.rates(device)
unit("fma", d.fma, function(n) return { fma = n } end) -- expect: fma	fma	true
unit("flop", d.fma, function(n) return { flop = n } end) -- expect: flop	fma	true
device = devices.find "H200"
d = devices.rates(device)

-- Wave by wave: 32 blocks of a multiprocessor at once, then those that are left.
local function waves(blocks)
  return ms(launch(blocks, { wavefronts = blocks * 1e5 * d.wavefronts })) * d.ghz * 1e6
end
print(is_near(waves(132), 1e5), is_near(waves(132 * 32), 32e5)) -- expect: true	true
print(is_near(waves(132 * 32 + 1), 33e5), is_near(waves(2 * 132 * 32), 64e5)) -- expect: true	true
print(is_near(waves(132 * 32 + 133), 34e5), is_near(waves(1), 1e5)) -- expect: true	true

-- One block that is twice as long as the mean one may begin last.
local function fma(changes)
  changes.fma = 132 * 32 * 128 * 10000
  return ms(launch(132 * 32, changes))
end
print(is_near(fma { imbalance = 2 }, 2 * fma {})) -- expect: true

-- A kernel that is launched three times counts three times.
local ct = require "cuttle"
ct.device "cpu"
local k = ct.kernel("k", function(x) x[ct.threadIdx.x] = 1.0 end)
local x = ct.zeros(ct.f32, 32)
local function run(n)
  return assert(predict.run(function()
    for _ = 1, n do k { grid = 1, block = 32 }(x) end
  end, "H200", { compile = false }))
end
print(#run(3).launches, run(3).launches[1].launches, is_near(run(3).ms, 3 * run(1).ms)) -- expect: 1	3	true
