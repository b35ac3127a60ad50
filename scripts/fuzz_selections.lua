-- fuzz_selections.lua: random calls of the operators of cuttle.selections on the device in use,
-- with the same call on the CPU engine beside each: results must have the same bits. On the CPU
-- engine it only shows that the calls run. Sums of floats are in the fixed order.
-- It stops early after so many seconds; with an operator's name it calls no other.
--   cuttle scripts/fuzz_selections.lua [calls [seed [largest size [seconds [operator]]]]]
local selections = require "cuttle.selections"
local on_gpu = device().sm ~= nil
local n_calls = tonumber(arg[1] or (on_gpu and 2000 or 40))
local seed, largest = tonumber(arg[2] or 1), tonumber(arg[3] or (on_gpu and 3000000 or 20000))
local ends = os.time() + (tonumber(arg[4]) or math.huge)
math.randomseed(seed)

local function pick(list) return list[math.random(#list)] end

local function random_size()
  return pick{ math.random(0, 70), math.random(0, 9000), math.random(0, largest),
    pick{ 10239, 10240, 10241, 8191, 8192, 8193, 2047, 2048, 2049 } }
end

local types <const> = { f32, f32, f64, f16, bf16, i32, u32, i64, u64, i16, u8 }

-- Few values or many, so that there are equal ones.
local function random(dtype, shape)
  local x = tensor(dtype, row_major(shape))
  local n, range = size(x), pick{ 2, 30, 1000, 1 << 24 }
  if dtype.bytes < 4 or dtype == f16 or dtype == bf16 then range = math.min(range, 100) end
  local draw = kernel("draw", function(y, s, below)
    local i = blockIdx.x * blockDim.x + threadIdx.x
    if i < size(y) then y[i] = cast(rand_u32x4(s, i) % cast(below, u32), y.dtype) end
  end)
  draw{grid = cdiv(n, 256), block = 256}(view(x, layout(n)), math.random(1 << 30), range)
  return x
end

local function random_shape()
  local n = random_size()
  if math.random(2) == 1 then return { n } end
  local rows = pick{ 1, 2, 7, 100 }
  return { rows, n // rows }
end

local function random_offsets(n)
  local list = { 0 }
  for i = 1, math.random(0, 40) do list[i + 1] = math.random(0, n) end
  table.sort(list)
  list[#list + 1] = n
  return from_table(i32, list)
end

-- {====== Calls: {name, arguments, options} ======

local calls = {}

function calls.scan()
  local x = random(pick(types), random_shape())
  local o = { deterministic = true, exclusive = math.random(2) == 1 }
  if type(x.shape) ~= "table" or #x.shape == 1 then
    if math.random(2) == 1 then o.offsets = random_offsets(size(x)) end
  end
  return { "scan", { x, pick{ "add", "max", "min" } }, o }
end

function calls.sort()
  local shape = random_shape()
  local keys, values = random(pick(types), shape), random(pick(types), shape)
  return { "sort", { keys, values }, { descending = math.random(2) == 1 } }
end

function calls.argsort()
  local n = random_size()
  local o = { descending = math.random(2) == 1 }
  if math.random(2) == 1 then o.offsets = random_offsets(n) end
  return { "argsort", { random(pick(types), { n }) }, o }
end

function calls.top_k()
  local columns = math.max(random_size(), 1)
  local k = math.random(1, math.min(columns, pick{ 5, 50, 2048 }))
  return { "top_k", { random(pick(types), { pick{ 1, 3, 20 }, columns }), k },
    { smallest = math.random(2) == 1 } }
end

function calls.histogram()
  return { "histogram", { random(pick{ f32, i32, u8 }, { random_size() }), math.random(1, 9000), 0,
    100 }, {} }
end

function calls.segment_reduce()
  local n = random_size()
  return { "segment_reduce", { random(pick(types), { n }), pick{ "add", "max" } },
    { offsets = random_offsets(n) } }
end

function calls.gather()
  local x = random(pick(types), { math.random(1, 500), pick{ 1, 3, 32, 100 } })
  local index = random(u32, { random_size() // 50 })
  local by = zeros(i32, size(index))
  for i = 0, size(index) - 1 do by[i] = index[i] % size(x, 0) end
  return { "gather", { x, by }, {} }
end

-- Half of the rows have a few lengths, whose kernels are made once.
local function random_row()
  local n = pick{ 16384, 20000, 128256, 131072 }
  return math.random(2) == 1 and n <= largest and n or math.max(random_size(), 1)
end

function calls.sample()
  local x = randn(pick{ f32, bf16, f16 }, row_major{ pick{ 1, 3, 20 }, random_row() })
  local function perhaps(v) return math.random(2) == 1 and v or nil end
  local function one_or_each(dtype, draw) -- a number, or one for each row
    if math.random(4) > 1 then return draw() end
    local all = {}
    for i = 1, size(x, 0) do all[i] = draw() end
    return from_table(dtype, all)
  end
  return { "sample", { x }, {
    top_k = perhaps(one_or_each(i32, function() return math.random(1, 300) end)),
    top_p = perhaps(one_or_each(f32, math.random)),
    min_p = perhaps(one_or_each(f32, function() return pick{ 0.01, 0.1, 0.8 } end)),
    temperature = one_or_each(f32, function() return pick{ 0.1, 0.5, 1, 3 } end),
    seed = one_or_each(i64, function() return math.random(1000) end) } }
end

-- {====== Comparison ======

local function moved(t, place)
  local out = {}
  for key, v in pairs(t) do
    local is_tensor = type(v) == "userdata" and pcall(function() return v.dtype, v.device end)
    out[key] = is_tensor and v:to(place) or v
  end
  return out
end

local function results_of(call, place)
  local args = moved(call[2], place)
  args[#args + 1] = moved(call[3], place)
  return { selections[call[1]](table.unpack(args)) }
end

local function same(a, b)
  a = a:to "cpu"
  if size(a) == 0 then return size(b) == 0 end
  return allclose(a, b, { rtol = 0, atol = 0 })
end

local names, n_done, n_wrong = {}, 0, 0
for name in pairs(calls) do
  if not arg[5] or name == arg[5] then names[#names + 1] = name end
end
table.sort(names)
for i = 1, n_calls do
  local call = calls[pick(names)]()
  local got, want = results_of(call, on_gpu and "cuda" or "cpu"), results_of(call, "cpu")
  for j, w in ipairs(want) do
    if not same(got[j], w) then
      n_wrong = n_wrong + 1
      print(("DIFFERS: call %d of seed %d, %s of %s %s, result %d"):format(i, seed, call[1],
        call[2][1].dtype, call[2][1].layout, j))
    end
  end
  n_done = i
  if os.time() >= ends then break end
end
print(("%d calls, %d differ"):format(n_done, n_wrong))
os.exit(n_wrong == 0, true)
