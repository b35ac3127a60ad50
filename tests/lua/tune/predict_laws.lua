-- Laws of the model, on random launches and every device: what does more is never faster.
local predict = require "cuttle.predict"
local devices = require "cuttle.profile_device"
math.randomseed(21)

local function some(most) return math.random(0, 1) * math.random(0, most) end

local function per_block()
  local requests, asynchronous = some(5000), math.random(0, 1)
  return { fma = some(1000000), fma_f64 = some(1000), flop = some(100000), special = some(10000),
    int = some(10000), mmas = some(1000), hot = math.random(1, 2000),
    box_loads = some(100000), box_stores = some(1000), load_bytes = 128 * requests,
    load_requests = requests,
    store_bytes = some(100000), store_requests = some(1000), store_lines = some(1000),
    async_bytes = 128 * asynchronous * requests,
    load_lines = (1 - asynchronous) * requests, wavefronts = some(20000),
    shared_requests = some(10000), instructions = math.random(1, 20000), shuffles = some(100),
    barriers = some(1000) }
end

-- A launch of n such blocks.
local function launch_of(each, fixed, n)
  local w = { kernel = "k", blocks = n, mma = { [16] = each.mmas * 2048 * n }, wgmma = {},
              tcgen05 = {},
              tensors = { { read = fixed.once * n, written = 0, bytes = 1 << 40,
                            by_block = 2 * fixed.once * n } } }
  for name, value in pairs(each) do w[name] = value * n end
  for name, value in pairs(fixed) do w[name] = value end
  return w
end

local function fixed_part()
  return { threads = 32 * math.random(1, 32), shared_bytes = some(64000), local_bytes = 0,
           registers = math.random(16, 64), chain_loads = some(20), chain_shared = some(2000),
           once = some(100000), step_bytes = some(20000), imbalance = 1 + math.random() }
end

local function changed(t, changes)
  local copy = {}
  for name, value in pairs(t) do copy[name] = value end
  for name, value in pairs(changes) do copy[name] = value end
  return copy
end

local broken = {}
local function law(name, holds)
  if not holds then broken[name] = (broken[name] or 0) + 1 end
end

local work <const> = { "fma", "fma_f64", "flop", "special", "int", "wavefronts", "load_lines",
  "store_lines", "shared_requests", "instructions", "shuffles", "barriers", "box_loads" }

-- Clocks and memory twice as fast: what is counted in clocks, latencies too, takes half the time.
local function twice_as_fast(device)
  local launch_us = devices.rates(device).launch_us / 2
  return changed(device, { ghz = 2 * device.ghz, gbs = 2 * device.gbs, launch_us = launch_us })
end

for _ = 1, 300 do
  local device = devices.devices[math.random(#devices.devices)]
  local each, fixed, n = per_block(), fixed_part(), math.random(1, 5000)
  local w = launch_of(each, fixed, n)
  local ms = predict.launch(w, device).ms
  law("a time", ms > 0 and ms < math.huge)
  law("more blocks", predict.launch(launch_of(each, fixed, n + math.random(1, 500)), device).ms
    >= ms * (1 - 1e-12))
  local name = work[math.random(#work)]
  law("more " .. name, predict.launch(changed(w, { [name] = 2 * w[name] + 1000 }), device).ms >= ms)
  local fewer = launch_of(each, changed(fixed, { once = fixed.once // 2 }), n)
  law("fewer bytes", predict.launch(fewer, device).ms <= ms)
  law("spills", predict.launch(changed(w, { local_bytes = 64 }), device).ms >= ms)
  law("waits", predict.launch(changed(w, { chain_loads = w.chain_loads + 1 }), device).ms >= ms)
  law("twice as fast", math.abs(ms / predict.launch(w, twice_as_fast(device)).ms - 2) < 1e-9)
  law("more memory", predict.launch(w, changed(device, { gbs = 2 * device.gbs })).ms <= ms)
  law("more multiprocessors", predict.launch(w, changed(device, { sms = 2 * device.sms })).ms <= ms)
end

local names = {}
for name, count in pairs(broken) do names[#names + 1] = name .. " " .. count end
table.sort(names)
print(#names, table.concat(names, ", ")) -- expect: 0

-- Every column of every device is there, and names are found in what drivers say.
local missing = {}
for _, device in ipairs(devices.devices) do
  local row = devices.rates(device)
  for _, column in ipairs(devices.columns) do
    if math.type(row[column]) == nil or row[column] <= 0 then
      missing[#missing + 1] = device.name .. "." .. column
    end
  end
end
print(table.concat(missing, " "), #devices.columns) -- expect: 	21

for _, text in ipairs { "NVIDIA H200", "NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe", "NVIDIA L40S",
                        "NVIDIA A100-SXM4-80GB", "NVIDIA A100-PCIE-40GB", "Tesla T4",
                        "NVIDIA L40" } do
  local device = devices.like(text)
  print(text, device and device.name)
end
-- expect: NVIDIA H200	H200
-- expect: NVIDIA H100 80GB HBM3	H100
-- expect: NVIDIA H100 PCIe	H100-PCIe
-- expect: NVIDIA L40S	L40S
-- expect: NVIDIA A100-SXM4-80GB	A100-80GB
-- expect: NVIDIA A100-PCIE-40GB	A100
-- expect: Tesla T4	T4
-- expect: NVIDIA L40	nil
