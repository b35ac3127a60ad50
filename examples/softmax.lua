-- softmax.lua: y = exp(x - max) / sum of each row, with one row per block. If the row's length is
-- a multiple of what the threads read at once, the row stays in registers: it is read once. Any
-- other row is read twice, and its maximum and sum are updated together ("online").
-- Usage: cuttle softmax.lua [rows [columns]]
local on_gpu = device().sm ~= nil
local n_rows = tonumber(arg[1] or (on_gpu and 8192 or 64))
local n_columns = tonumber(arg[2] or (on_gpu and 8192 or 1024))
local LOWEST = -3.0e38                                     -- below all inputs; exp of it is 0

-- The parts of a row are (vector, thread, vector of the thread): what threads read at once, and
-- how often.
local function make_resident(parts)
  return kernel("softmax_resident", function(x, y)
    local tiler, at = {size(parts), 1}, {0, blockIdx.x}
    local mine = view(tile(x, tiler, at), parts)(_, threadIdx.x, _)
    local r = fragment(f32, {size(parts, 0), size(parts, 2)})
    copy(mine, r)
    local top = block_reduce(reduce(r, "max"), "max")
    transform(r, function(v) return fast.exp(v - top) end)
    local scale = 1.0 / block_reduce(reduce(r, "add"), "add")
    transform(r, function(v) return v * scale end)
    copy(r, view(tile(y, tiler, at), parts)(_, threadIdx.x, _))
  end)
end

local online = kernel("softmax_online", function(x, y)
  local row, n = blockIdx.x, size(x, 0)
  local top, sum = LOWEST, 0.0
  for i in range(threadIdx.x, n, blockDim.x) do
    local v = x[{i, row}]
    local higher = max(top, v)
    sum = sum * fast.exp(top - higher) + fast.exp(v - higher)
    top = higher
  end
  local all = block_reduce(top, "max")
  local scale = 1.0 / block_reduce(sum * fast.exp(top - all), "add")
  for i in range(threadIdx.x, n, blockDim.x) do
    y[{i, row}] = fast.exp(x[{i, row}] - all) * scale
  end
end)

-- The launch for tensors of (columns, rows), column-major: rows are contiguous.
local function softmax(x, y)
  local columns, rows = size(x, 0), size(x, 1)
  local n_threads = columns >= 8192 and 512 or columns >= 1024 and 128 or 32
  local n_deep = columns // (4 * n_threads)
  if columns % (4 * n_threads) == 0 and n_deep <= 8 then
    local resident = make_resident(layout{4, n_threads, n_deep})
    return resident:prepare{grid = rows, block = n_threads}(x, y), "in registers"
  end
  return online:prepare{grid = rows, block = 256}(x, y), "online"
end

local function check(columns, rows)
  local x, y = randn(f32, {columns, rows}), zeros(f32, {columns, rows})
  softmax(x, y)()
  local worst = 0.0
  for row = 0, rows - 1 do
    local values, top, sum = {}, -math.huge, 0.0
    for i = 0, columns - 1 do
      values[i] = x[{i, row}]
      top = math.max(top, values[i])
    end
    for i = 0, columns - 1 do sum = sum + math.exp(values[i] - top) end
    for i = 0, columns - 1 do
      worst = math.max(worst, math.abs(y[{i, row}] - math.exp(values[i] - top) / sum))
    end
  end
  return worst
end

local worst = math.max(check(1024, 3), check(128, 5), check(1000, 3), check(1, 2), check(77, 2))
local ok = worst < 1e-6
local x, y = randn(f32, {n_columns, n_rows}), zeros(f32, {n_columns, n_rows})
local launch, how = softmax(x, y)
launch()
local ms = bench(launch)
print(("softmax %dx%d on %s, %s: %s, largest error %.2g"):format(n_rows, n_columns,
  device().name, how, ok and "correct" or "wrong", worst))
print(("%.4f ms, %.1f GB/s"):format(ms, 8 * n_rows * n_columns / ms * 1e-6))
os.exit(ok, true)
