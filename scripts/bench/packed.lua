-- packed.lua: products of bf16, f8e4m3 or i8 and packed weights
-- (docs/matmul.md#weights-of-few-bits), each launch with weights that no cache has: a graph
-- launches one product after another, with as many weights as fill 256 MiB, at least two. Prints
-- the time of one product, its bytes per second, and these beside a copy's, which reads and writes.
-- Prefill, at the end, is beside the product of bf16 and, with activations of f8e4m3 and a scale
-- for each row, the product of f8e4m3.
-- Type mxfp4 is f4e2m1 in groups of 32, with scales of e8m0.
--   CUTTLE_DEVICE=cuda cuttle scripts/bench/packed.lua [--type=u4] [--group=128] [--rows=1,8,16]
--     [--activations=f8e4m3] [--prefill=4096] [--variants=FILE] [NxK ...]
-- FILE returns a list of configurations: names, tables of fields of gemm_packed.lua's, or false for
-- the chosen one. On the CPU engine it takes one small weight, to show that it runs.
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local ct = require "cuttle"
local data = require "data"
local operator = require "cuttle.matmul"
local packed = require "cuttle.packed_weights"
local formats = require "cuttle.packed_formats"
local tools = require "tools"

local on_gpu = ct.device().sm ~= nil
local THREADS <const>, BOUND <const> = 256, 2e-2
local COLD <const> = on_gpu and 1 << 28 or 1 << 12 -- bytes of weights, so that none is cached
local COPIED <const> = on_gpu and 1 << 29 or 1 << 16
local COPIES <const> = 8
local WARM <const>, TIMED <const> = 3, 9

local blockIdx, blockDim, gridDim, threadIdx = ct.blockIdx, ct.blockDim, ct.gridDim, ct.threadIdx
local u32, cast, range, size = ct.u32, ct.cast, ct.range, ct.size

-- {====== Weights ======

local fill = ct.kernel("random_words", function(x, seed, kept, added)
  for i in range(blockIdx.x * blockDim.x + threadIdx.x, size(x), gridDim.x * blockDim.x) do
    local v = (cast(i, u32) ~ seed) * u32(747796405) + u32(2891336453)
    v = ((v >> (v >> u32(28)) + u32(4)) ~ v) * u32(277803737)
    x[i] = ((v >> u32(22)) ~ v) & kept | added
  end
end)

-- Random words, of which the bits `kept` are random and others are those of `added`.
local function random_words(n, seed, kept, added)
  local words = ct.tensor(u32, n)
  fill{grid = on_gpu and 2048 or 4, block = THREADS}(words, u32(seed), u32(kept or 0xffffffff),
    u32(added or 0))
  return words
end

-- Scales from 2^-7 to 1.
local function powers_of_two(n, columns, seed)
  local words = random_words(n * columns // 4, seed, 0x07070707, 0x78787878)
  return ct.view(ct.recast(words, ct.f8ue8m0), ct.row_major{ n, columns })
end

-- A packed weight of random codes, with scales from -1 to 1.
local function weight(name, n, k, group, seed)
  local is_mx = name == "mxfp4"
  if is_mx then name, group = "f4e2m1", 32 end
  local bits = formats.formats[name].bits
  local words = random_words(n * k * bits // 32, seed)
  local codes = bits == 8 and ct.view(ct.recast(words, ct.u8), ct.row_major{ n, k })
    or ct.view(words, ct.row_major{ n, k // 8 })
  local columns = k // group
  local scales = is_mx and powers_of_two(n, columns, seed)
    or ct.view(data.uniform(ct.tensor(ct.bf16, n * columns), seed), ct.row_major{ n, columns })
  return packed.pack_weights(codes, { type = name, scales = scales })
end

local function bytes_of(w)
  local total = 0
  for _, t in ipairs { w.codes, w.scales, w.zeros or nil } do
    total = total + size(t) * t.dtype.bits // 8
  end
  return total
end

-- {====== Time ======

local function median(list)
  table.sort(list)
  return list[#list // 2 + 1]
end

-- Milliseconds of a call of `run`.
local function ms_of(run, from, to)
  local began = tools.now()
  if on_gpu then from:record() end
  run()
  if on_gpu then to:record() end
  ct.synchronize()
  return on_gpu and from:elapsed(to) or tools.now() - began
end

-- Microseconds of each call of some, which take turns: all find the device as warm.
local function times_of(...)
  local runs, times, from, to = {...}, {}, on_gpu and ct.event(), on_gpu and ct.event()
  for j = 1, #runs do times[j] = {} end
  for i = 1 - WARM, TIMED do
    for j, run in ipairs(runs) do
      local ms = ms_of(run, from, to)
      if i > 0 then times[j][i] = 1e3 * ms end
    end
  end
  for j, list in ipairs(times) do times[j] = median(list) end
  return table.unpack(times)
end

local function graph_of(launches)
  return ct.graph(function()
    for _, launch in ipairs(launches) do launch() end
  end)
end

-- Microseconds of one launch of the list, in a graph.
local function time_of(launches)
  local g <close> = graph_of(launches)
  return times_of(g) / #launches
end

-- Bytes that a copy reads and writes in a microsecond, one after another in a stream.
local function copy_rate()
  local a, b = ct.zeros(u32, COPIED // 4), ct.zeros(u32, COPIED // 4)
  local t = times_of(function()
    for _ = 1, COPIES do ct.copy(a, b) end
  end) / COPIES
  a:close()
  b:close()
  return 2 * COPIED / t
end

-- {====== Rows ======

local widen = ct.row_kernel("widen", function(_, x) return x end, { types = { ct.bf16 } })

local function narrowed(W, dtype)
  return ct.row_kernel("narrow", function(_, x) return x end, { types = { dtype } })(W)
end

local function check(X, w, C)
  if X.dtype ~= ct.bf16 then X = widen(X) end
  local expected = operator.matmul(X, w:dequantize(ct.bf16), ct.tensor(ct.bf16, C.layout))
  local relative = data.compare(C, expected).relative
  return ("%.2g%s"):format(relative, relative <= BOUND and "" or " WRONG")
end

local function text_of(config)
  if type(config) ~= "table" then return config or "" end
  local words = {}
  for key, value in pairs(config) do
    words[#words + 1] = ("%s %s"):format(key,
      type(value) == "table" and table.concat(value, "/") or tostring(value))
  end
  table.sort(words)
  return table.concat(words, ", ")
end

-- Activations and the options of products with them; scales are 1.
local function activations(name, m, k, config)
  local X = ct.view(data.normal(ct[name], m * k, 3), ct.row_major{ m, k })
  local scale = X.dtype.bits == 8 and ct.ones(ct.f32, m) or nil
  return X, { config = config or nil, scale_a = scale }
end

local function measure(list, name_of_X, m, n, k, config, rate)
  local X, how = activations(name_of_X, m, k, config)
  local C = ct.tensor(ct.bf16, ct.row_major{ m, n })
  local launches, name = {}, nil
  for i, w in ipairs(list) do
    local ok, launch, which = pcall(operator.prepare, X, w, C, how)
    if not ok then return print(("  %s: %s"):format(text_of(config), launch)) end
    launches[i], name = launch, which
  end
  data.poison(C)
  launches[1]()
  local error_text = check(X, list[1], C)
  local t = time_of(launches)
  local per_us = (bytes_of(list[1]) + X.dtype.bytes * m * k + 2 * m * n) / t
  print(("%dx%dx%d  %8.2f us  %5.2f TB/s  %.3f of the copy  error %s  %s %s"):format(m, n, k, t,
    per_us / 1e6, per_us / rate, error_text, name, text_of(config)))
  io.stdout:flush()
end

-- Rows enough that the product of bf16 is the peer.
local function prefill(w, name_of_X, m, n, k, variants)
  local X = activations(name_of_X, m, k)
  local C = ct.tensor(ct.bf16, ct.row_major{ m, n })
  local function graph_of_8(launch)
    local list = {}
    for i = 1, 8 do list[i] = launch end
    return graph_of(list)
  end
  local W = w:dequantize(ct.bf16)
  local plain, theirs = operator.prepare(X.dtype == ct.bf16 and X or widen(X), W, C)
  local plain_8 <close> = graph_of_8(plain)
  if X.dtype ~= ct.bf16 then
    local narrow, name = operator.prepare(X, narrowed(W, X.dtype), C,
      { scale_a = ct.ones(ct.f32, m), scale_b = ct.ones(ct.f32, n) })
    local narrow_8 <close> = graph_of_8(narrow)
    print(("%dx%dx%d  %8.1f us  %s"):format(m, n, k, times_of(narrow_8) / 8, name))
  end
  for _, config in ipairs(variants) do
    local _, how = activations(name_of_X, m, k, config)
    local ok, ours, name = pcall(operator.prepare, X, w, C, how)
    if not ok then
      print(("  %s: %s"):format(text_of(config), ours))
    else
      data.poison(C)
      ours()
      local error_text = check(X, w, C)
      local ours_8 <close> = graph_of_8(ours)
      local t, u = times_of(ours_8, plain_8)
      print(("%dx%dx%d  %8.1f us  bf16 %8.1f us  %.3f  error %s  %s; %s %s"):format(m, n, k, t / 8,
        u / 8, u / t, error_text, name, theirs, text_of(config)))
      io.stdout:flush()
    end
  end
end

local function numbers(text)
  local list = {}
  for word in text:gmatch "%d+" do list[#list + 1] = math.tointeger(word) end
  return list
end

local function read_arguments()
  local o = { type = "u4", activations = "bf16", group = 128,
              rows = on_gpu and { 1, 8, 16 } or { 1, 9 },
              prefill = on_gpu and { 4096 } or { 80 }, variants = { false }, sizes = {} }
  for _, word in ipairs(arg) do
    local key, value = word:match "^%-%-(%w+)=(.*)$"
    local n, k = word:match "^(%d+)x(%d+)$"
    if key == "rows" or key == "prefill" then
      o[key] = numbers(value)
    elseif key == "type" or key == "activations" then
      o[key] = value
    elseif key == "group" then
      o.group = math.tointeger(value)
    elseif key == "variants" then
      o.variants = dofile(value)
    elseif n then
      table.insert(o.sizes, { math.tointeger(n), math.tointeger(k) })
    else
      error(("packed: '%s' is no option and no size like 4096x4096"):format(word), 0)
    end
  end
  if #o.sizes > 0 then return o end
  o.sizes = on_gpu and { { 4096, 4096 }, { 8192, 8192 }, { 81920, 8192 } } or { { 80, 256 } }
  return o
end

local options = read_arguments()
local rate = copy_rate()
print(("copy: %.2f TB/s"):format(rate / 1e6))
for _, s in ipairs(options.sizes) do
  local n, k = table.unpack(s)
  local list = { weight(options.type, n, k, options.group, 1) }
  for i = 2, math.max(2, math.min(64, COLD // bytes_of(list[1]))) do
    list[i] = weight(options.type, n, k, options.group, i)
  end
  for _, m in ipairs(options.rows) do
    for _, config in ipairs(options.variants) do
      measure(list, options.activations, m, n, k, config or nil, rate)
    end
  end
  for _, m in ipairs(n * k <= 1 << 27 and options.prefill or {}) do
    prefill(list[1], options.activations, m, n, k, options.variants)
  end
  for _, w in ipairs(list) do w.codes:close() end
end
