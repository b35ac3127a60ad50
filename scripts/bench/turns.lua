-- turns.lua: times of measured kernels in one process, to compare two binaries on one GPU:
--   for i in 1 2 3 4; do for b in old new; do $b/cuttle scripts/bench/turns.lua [WORDS]; done; done
-- Prints "NAME<tab>MS" for each kernel whose name has the words. Ratios of the medians count.
local ct = require "cuttle"
local matmul, attention = require "cuttle.matmul", require "cuttle.attention"
local words = arg[1] or ""

local BATCH_MS <const>, BATCHES <const> = 60, 3

-- prepare() gives the launch, and makes its operands.
local function time(name, prepare)
  if not name:find(words, 1, true) then return end
  local launch = prepare()
  local once = math.max(ct.bench(launch, { batches = 1, reps = 3 }), 1e-3)
  local reps = math.max(5, math.ceil(BATCH_MS / once))
  ct.bench(launch, { batches = 1, reps = reps })
  print(("%s\t%.6f"):format(name, (ct.bench(launch, { batches = BATCHES, reps = reps }))))
end

-- {====== Operands ======

local narrow = ct.kernel("narrow", function(x, t)
  local i = ct.blockIdx.x * 1024 + ct.threadIdx.x
  for k = 0, 3 do t[i + k * 256] = ct.cast(x[i + k * 256] - 0.5, t.dtype) end
end)

local buffers = {} -- of random numbers, by type, size and place

local function elements(dtype, n, place)
  local key = ("%s %d %d"):format(dtype, n, place)
  if buffers[key] == nil then
    local x = ct.rand(ct.f32, { n })
    buffers[key] = x
    if dtype ~= "f32" then
      buffers[key] = ct.tensor(ct[dtype], n)
      narrow { grid = n // 1024, block = 256 }(x, buffers[key])
      ct.synchronize()
      x:close()
    end
  end
  return buffers[key]
end

local function forget()
  for _, t in pairs(buffers) do t:close() end
  buffers = {}
end

-- {====== Kernels ======

-- majors: of A and B, as BLAS says it: T is contiguous along K in A, N in B.
local function product(dtype, majors, c_by_rows, m, n, k)
  local function view(element, rows, columns, place, by_rows)
    local make = by_rows and ct.row_major or ct.layout
    return ct.view(elements(element, rows * columns, place), make { rows, columns })
  end
  local result = dtype == "f8e4m3" and "bf16" or dtype
  time(("%s %s %dx%dx%d"):format(dtype, majors, m, n, k), function()
    return (matmul.prepare(view(dtype, m, k, 1, majors:sub(1, 1) == "T"),
      view(dtype, n, k, 2, majors:sub(2, 2) == "N"), view(result, m, n, 3, c_by_rows), {}))
  end)
end

local function attend(depth, causal)
  local shape = ct.row_major { 4, 32, 4096, depth }
  local function operand(place)
    return ct.view(elements("bf16", ct.size(shape), place), shape)
  end
  for _, lazy in ipairs { true, false } do
    local name = ("attention d%d %s %s"):format(depth, causal and "causal" or "full",
      lazy and "lazy" or "exact")
    time(name, function()
      return (attention.prepare(operand(1), operand(2), operand(3),
        { causal = causal, lazy = lazy }))
    end)
  end
end

local f32_sizes <const> = {
  { 4096, 4096, 4096 }, { 8192, 8192, 8192 }, { 5120, 5120, 256 }, { 2048, 2048, 256 },
}
local tensor_core_sizes <const> = {
  { "bf16", 8192, 8192, 8192 }, { "bf16", 4096, 4096, 4096 }, { "bf16", 2048, 2048, 2048 },
  { "bf16", 4096, 4096, 16384 }, { "bf16", 8192, 8192, 1024 }, { "f16", 8192, 8192, 8192 },
  { "f8e4m3", 8192, 8192, 8192 },
}

for _, size in ipairs(f32_sizes) do
  product("f32", "TN", false, table.unpack(size))
  product("f32", "NT", false, table.unpack(size))
end
product("f32", "TT", true, 5120, 5120, 256)
forget()
for _, size in ipairs(tensor_core_sizes) do
  product(size[1], "TN", true, table.unpack(size, 2))
  forget()
end
for _, depth in ipairs { 64, 128 } do
  attend(depth, true)
  attend(depth, false)
end
