-- selections.lua: the operators of cuttle.selections on a GPU, beside the device's copy and, where
-- nvcc is found, CUB: a scan of 2^28 f32, a sort of 2^28 u32, the 32 largest of rows of 32768, and
-- draws from rows of 131072. Scans and sorts of the whole size are checked before they are timed.
-- Usage: CUTTLE_DEVICE=cuda cuttle scripts/bench/selections.lua [N]
local rows = require "cuttle.rows"
local selections = require "cuttle.selections"
local n = tonumber(arg[1] or 1 << 28)

-- As in cub_beside.cu.
local fill_random = kernel("fill_random", function(x)
  for i in range(blockIdx.x * blockDim.x + threadIdx.x, size(x), gridDim.x * blockDim.x) do
    local h = u64(i) & 0xffffffff
    h = h * 0x9E3779B1 & 0xffffffff
    h = (h ~ h >> 15) * 0x85EBCA77 & 0xffffffff
    x[i] = cast(h ~ h >> 13, x.dtype)
  end
end)
local fill_normal = kernel("fill_normal", function(x)
  for i in range(blockIdx.x * blockDim.x + threadIdx.x, size(x), gridDim.x * blockDim.x) do
    local a = randn_f32x4(7, i)
    x[i] = cast(a, x.dtype)
  end
end)

local function random(dtype, count, fill)
  local x = tensor(dtype, count)
  fill{grid = 1056, block = 256}(x)
  return x
end

-- How many elements of a sum are not the one before and their own, or, of a sort, are below the one
-- before.
local count_wrong = kernel("count_wrong", function(x, y, wrong)
  local own = 0
  for i in range(blockIdx.x * blockDim.x + threadIdx.x, size(y), gridDim.x * blockDim.x) do
    if i > 0 then
      local is_wrong = x and y[i] - y[i - 1] ~= x[i] or not x and y[i] < y[i - 1]
      own = own + where(is_wrong, 1, 0)
    end
  end
  if own > 0 then atomic_add(wrong, 0, own) end
end)

local function wrong_of(x, y)
  local wrong = zeros(i32, 1)
  count_wrong{grid = 1056, block = 256}(x, y, wrong)
  return wrong[0]
end

-- {====== Peers ======

local function of_cub()
  local program = os.tmpname()
  local source = arg[0]:match "^(.-)[^/]*$" .. "cub_beside.cu"
  local sm = ("%d"):format(device().sm or 90)
  local made = os.execute(("nvcc -O3 -std=c++17 -arch=sm_%s '%s' -o '%s' 2>/dev/null"):format(sm,
    source, program))
  local times = {}
  local pipe = made and io.popen(("'%s' %d %d"):format(program, n, n))
  for line in pipe and pipe:lines() or function() end do
    local name, ms = line:match "^(%a+) ([%d.]+)$"
    if name then times[name] = tonumber(ms) end
  end
  if pipe then pipe:close() end
  os.remove(program)
  return times
end

local function copy_ms(dtype, count)
  local x, y = tensor(dtype, count), tensor(dtype, count)
  local ms = bench(function() copy(x, y) end)
  x:close()
  y:close()
  return ms
end

local cub = device().sm and of_cub() or {}
local function report(name, ms, copy, beside)
  print(("%-34s %8.4f ms, copy %8.4f ms = %.3f%s"):format(name, ms, copy, copy / ms,
    beside and (", CUB %8.4f ms = %.3f"):format(beside, beside / ms) or ""))
end

-- {====== Rows of the table ======

local function time_scan()
  local ints = random(i32, n, fill_random)
  local y = selections.scan(ints)
  assert(wrong_of(ints, y) == 0, "the scan is wrong")
  ints:close()
  y:close()
  local x = random(f32, n, fill_normal)
  local launch = selections.scan:prepare(x)
  report(("scan of %d f32"):format(n), bench(launch), copy_ms(f32, n), cub.scan)
  x:close()
end

local function time_sort()
  local keys = random(u32, n, fill_random)
  local launch, results = selections.sort:prepare(keys)
  launch()
  assert(wrong_of(nil, results[1]) == 0, "the sort is wrong")
  local ms = bench(launch)
  report(("sort of %d u32"):format(n), ms, copy_ms(u32, n), cub.sort)
  print(("%-34s %8.2f billion keys/s"):format("", n / ms * 1e-6))
  keys:close()
  results[1]:close()
end

local function time_rows(name, dtype, n_rows, columns, prepare)
  local x = view(random(dtype, n_rows * columns, fill_normal), row_major{n_rows, columns})
  report(("%s of %dx%d %s"):format(name, n_rows, columns, dtype), bench((prepare(x))),
    copy_ms(dtype, n_rows * columns))
  x:close()
end

time_scan()
time_sort()
local is_small = n < 1 << 24
time_rows("top-k 32", f32, is_small and 8 or 8192, is_small and 3000 or 32768, function(x)
  return selections.top_k:prepare(x, 32)
end)
time_rows("top-k 2048", f32, is_small and 8 or 8192, is_small and 3000 or 32768, function(x)
  return selections.top_k:prepare(x, 2048)
end)
local tokens, words = is_small and 2 or 128, is_small and 3000 or 131072
local largest = row_kernel("largest", function(row, x) return row:once(row:max(x)) end)
time_rows("the largest of each row", bf16, tokens, words, function(x) return largest:prepare(x) end)
time_rows("rows.sample", bf16, tokens, words, function(x) return rows.sample:prepare(x, 1.0, 3) end)
for _, o in ipairs{ {"all", {}}, {"top-k 50", {top_k = 50}}, {"top-p 0.9", {top_p = 0.9}},
  {"top-p 0.3", {top_p = 0.3}}, {"min-p 0.1", {min_p = 0.1}},
  {"top-k, top-p", {top_k = 50, top_p = 0.9}} } do
  time_rows("sample, " .. o[1], bf16, tokens, words, function(x)
    return selections.sample:prepare(x, o[2])
  end)
end
