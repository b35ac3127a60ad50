-- What the notebook on shared memory shows, item by item: grids and threads in plain Lua, the naive
-- product, views of shared memory, barriers, dynamic and static memory, the template, times.
device("cpu")
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local H, K, W = 20, 24, 36
local function text(x) return (tostring(x):gsub("%s+$", "")) end

local m, n = rand(f32, row_major{H, K}), rand(f32, row_major{K, W})
local want = reference.matmul(m, select(n, 1, 0))
local function result() return full(f32, row_major{H, W}, -1) end

-- {====== Grids ======

local corners = zeros(i32, {6, 4})
kernel("corners", function(t)
  t[{blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y}] =
    threadIdx.x + 10 * threadIdx.y + 100 * blockIdx.x + 1000 * blockIdx.y
end){grid = {2, 2}, block = {3, 2}}(corners)
tap.is(corners[{5, 3}], 2 + 10 + 100 + 1000, "grids and blocks have x and y, z is 1")
tap.is(cdiv(36, 16), 3, "cdiv rounds the number of blocks up")

-- {====== The naive product, in plain Lua and as a kernel ======

local function naive(blockIdx, threadIdx, blockDim, m, n, out)
  local r = blockIdx.y * blockDim.y + threadIdx.y
  local c = blockIdx.x * blockDim.x + threadIdx.x
  if r < size(out, 0) and c < size(out, 1) then
    local sum = 0.0
    for i = 0, size(m, 1) - 1 do sum = sum + m[{r, i}] * n[{i, c}] end
    out[{r, c}] = sum
  end
end

local function for_all(grid, block, f, ...)
  for by = 0, grid[2] - 1 do
    for bx = 0, grid[1] - 1 do
      for ty = 0, block[2] - 1 do
        for tx = 0, block[1] - 1 do
          f({x = bx, y = by}, {x = tx, y = ty}, {x = block[1], y = block[2]}, ...)
        end
      end
    end
  end
end
local grid, block = {cdiv(W, 16), cdiv(H, 16)}, {16, 16}
local out = result()
for_all(grid, block, naive, m, n, out)
tap.ok(allclose(out, want), "a runner in plain Lua calls a function for each thread")

local naive_kernel = kernel("naive", function(m, n, out)
  naive(blockIdx, threadIdx, blockDim, m, n, out)
end)
out = result()
naive_kernel{grid = grid, block = block}(m, n, out)
tap.ok(allclose(out, want), "the same function is a kernel")

local function matmul_2d(m, n)
  assert(size(m, 1) == size(n, 0), "sizes do not fit")
  local product = zeros(f32, row_major{size(m, 0), size(n, 1)})
  naive_kernel{grid = {cdiv(size(n, 1), 16), cdiv(size(m, 0), 16)}, block = {16, 16}}(m, n, product)
  return product
end
tap.ok(allclose(matmul_2d(m, n), want), "a wrapper makes the result and the grid")
tap.ok(not pcall(matmul_2d, m, m), "and refuses operands that do not fit")
local ok, worst = allclose(zeros(f32, row_major{H, W}), want)
tap.ok(not ok and worst:find "elements differ",
  "allclose says how far off a wrong result is", worst)
local median, best = bench(naive_kernel:prepare{grid = grid, block = block}(m, n, out))
tap.ok(best > 0 and best <= median, "bench times launches: their median and the best")

-- {====== Shared memory in plain Lua ======

local five = zeros(f32, 5)
local first, last = slice(five, 0, 3), slice(five, 3)
first[1], last[0] = 2, 6
tap.is(("%g %g %g %g %g"):format(five[0], five[1], five[2], five[3], five[4]), "0 2 0 6 0",
  "parts of a tensor share its memory")
local square = view(five, {2, 2}, 1)
tap.is(square[{0, 1}], 6.0, "a view at an offset begins there, as a pointer into an array does")

-- What a thread does with the tiles of its block. `at` is where it is, and its barrier.
local function multiply_tiles(at, m, n, out, tw, ms, ns)
  local h, w, k = size(out, 0), size(out, 1), size(m, 1)
  local tc, tr = at.threadIdx.x, at.threadIdx.y
  local r, c = at.blockIdx.y * tw + tr, at.blockIdx.x * tw + tc
  local sum = 0.0
  for ph = 0, cdiv(k, tw) - 1 do
    local x = ph * tw
    ms[{tr, tc}] = r < h and x + tc < k and m[{r, x + tc}] or 0.0
    ns[{tr, tc}] = c < w and x + tr < k and n[{x + tr, c}] or 0.0
    at.wait()
    for i = 0, tw - 1 do sum = sum + ms[{tr, i}] * ns[{i, tc}] end
    at.wait()
  end
  if r < h and c < w then out[{r, c}] = sum end
end
local function halves(memory, tw)
  local both = view(memory, layout({tw, tw, 2}, {tw, 1, tw * tw}))
  return both(_, _, 0), both(_, _, 1)
end

-- Each coroutine runs to its next barrier in turn.
local function run_threads(threads)
  while #threads > 0 do
    local waiting = {}
    for _, thread in ipairs(threads) do
      assert(coroutine.resume(thread))
      if coroutine.status(thread) == "suspended" then waiting[#waiting + 1] = thread end
    end
    threads = waiting
  end
end

local function simulated(tw, wait)
  local product = zeros(f32, row_major{H, W})
  for by = 0, cdiv(H, tw) - 1 do
    for bx = 0, cdiv(W, tw) - 1 do
      local ms_tile, ns_tile = halves(zeros(f32, 2 * tw * tw), tw)
      local threads = {}
      for_all({1, 1}, {tw, tw}, function(_, threadIdx)
        local at = {blockIdx = {x = bx, y = by}, threadIdx = threadIdx, wait = wait}
        threads[#threads + 1] = coroutine.create(function()
          multiply_tiles(at, m, n, product, tw, ms_tile, ns_tile)
        end)
      end)
      run_threads(threads)
    end
  end
  return allclose(product, want)
end
local function nothing() end
tap.ok(simulated(8, coroutine.yield), "threads as coroutines: tiles of 8 are right")
tap.ok(simulated(16, coroutine.yield), "tiles of 16, past the ends of the matrices: zeros pad them")
tap.ok(not simulated(8, nothing), "without a barrier they are wrong")

-- {====== The order of threads ======

local function prints(wait)
  local lines, threads = {}, {}
  for x = 1, 3 do
    threads[x] = coroutine.create(function()
      lines[#lines + 1] = x
      wait()
      lines[#lines + 1] = -x
      wait()
      lines[#lines + 1] = 10 * x
    end)
  end
  run_threads(threads)
  return table.concat(lines, " ")
end
tap.is(prints(nothing), "1 -1 10 2 -2 20 3 -3 30", "without a barrier each thread runs to its end")
tap.is(prints(coroutine.yield), "1 2 3 -1 -2 -3 10 20 30", "with one all threads stay together")

-- What a script prints, run in a process of its own.
local function output_of(script)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(script)
  file:close()
  local out = shell.cuttle("--device=cpu '%s'", path)
  os.remove(path)
  return text(out)
end
local function printed(wait)
  return output_of(([[
    local wait = %s
    local k = kernel("k", function()
      local x = threadIdx.x // 32 + 1
      local leads = threadIdx.x %% 32 == 0
      if leads then printf("%%d ", x) end
      wait()
      if leads then printf("%%d ", -x) end
      wait()
      if leads then printf("%%d ", 10 * x) end
    end)
    k{grid = 1, block = 96, print_order = "run"}()
  ]]):format(wait))
end
tap.is(printed "function() end", "1 -1 10 2 -2 20 3 -3 30", "so it is with three warps of a kernel")
tap.is(printed "sync_threads", "1 2 3 -1 -2 -3 10 20 30", "which a barrier keeps together")

-- {====== Shared memory in kernels ======

local threads_of_kernel = {blockIdx = blockIdx, threadIdx = threadIdx, wait = sync_threads}
local dynamic = kernel("dynamic", function(m, n, out, tw)
  multiply_tiles(threads_of_kernel, m, n, out, tw, halves(shared(f32), tw))
end)
local function static_of(tw)
  return kernel("static", function(m, n, out)
    local ms, ns = shared(f32, row_major{tw, tw}), shared(f32, row_major{tw, tw})
    multiply_tiles(threads_of_kernel, m, n, out, tw, ms, ns)
  end)
end
local function template_of(tw)
  return kernel("template", function(m, n, out)
    multiply_tiles(threads_of_kernel, m, n, out, tw, halves(shared(f32), tw))
  end)
end
local function config_of(tw, smem)
  return {grid = {cdiv(W, tw), cdiv(H, tw)}, block = {tw, tw}, smem = smem and 2 * tw * tw * 4 or 0}
end
local function is_right(k, config, ...)
  local product = result()
  k(config)(m, n, product, ...)
  return allclose(product, want)
end
tap.ok(is_right(dynamic, config_of(16, true), 16), "dynamic: the launch says how much memory")
tap.ok(is_right(dynamic, config_of(8, true), 8), "and how wide the tiles are")
tap.ok(is_right(static_of(16), config_of(16)),
  "static: the width is a constant, arrays have two modes")
for _, tw in ipairs{8, 16, 32} do
  tap.ok(is_right(template_of(tw), config_of(tw, true)),
    ("a closure is the template: tiles of %d"):format(tw))
end
local source = dynamic(config_of(16, true)):source(m, n, out, 16)
tap.ok(source:find("extern __shared__", 1, true), "dynamic memory is what CUDA calls extern")
tap.is(static_of(16)(config_of(16)):info(m, n, out).shared_bytes, 2 * 16 * 16 * 4,
  "a launch says how much memory a kernel takes")
local forgotten, why = pcall(dynamic(config_of(16)), m, n, out, 16)
tap.ok(not forgotten and why:find "launch with smem",
  "forgotten memory is an error that says so", why)
local few, reason = pcall(dynamic(config_of(8, true)), m, n, out, 16)
tap.ok(not few and reason:find "out of bounds", "too little of it as well", reason)

local no_barrier = kernel("no_barrier", function(m, n, out)
  multiply_tiles({blockIdx = blockIdx, threadIdx = threadIdx, wait = nothing}, m, n, out, 8,
    halves(shared(f32), 8))
end)
out = result()
local findings = require "cuttle.check".run(function()
  no_barrier(config_of(8, true))(m, n, out)
end)
tap.ok(not allclose(out, want), "a kernel without barriers is wrong")
tap.ok(#findings == 2 and findings[1].kind == "race_shared", "and check says where it races")

-- Strides of the operands: the other order, and every second row.
local by_columns = zeros(f32, {H, K})
copy(m, by_columns)
out = result()
static_of(16)(config_of(16))(by_columns, n, out)
tap.ok(allclose(out, want), "any strides: nothing has to be contiguous")

for _, row in ipairs{{"cuda.shared.array", "shared"}, {"extern __shared__", "smem"},
                     {"__syncthreads", "sync_threads"}} do
  tap.ok(output_of(("help %q"):format(row[1])):find(row[2], 1, true),
    ("help finds %s by the name that it has there"):format(row[1]))
end

-- {====== Times, and why ======

local function report_of(k, ...)
  return profile(k:prepare(config_of(16, k ~= nil))(m, n, result(), ...)).kernels[1]
end
local slow, fast = report_of(dynamic, 16), report_of(template_of(16))
tap.is(slow.totals.fma, fast.totals.fma, "a run-time width costs no more arithmetic")
tap.ok(slow.totals.shared_load_requests >= fast.totals.shared_load_requests,
  "but no fewer loads of shared memory")
tap.is(slow.totals.shared_load_conflicts, 0, "without conflicts of banks")
local info = static_of(16)(config_of(16)):info(m, n, out)
tap.ok(info.trace_ms < 1000 and info.compile_ms ~= nil, "a launch says how long it was made ready")
local queue = stream()
local product = result()
static_of(16){grid = {cdiv(W, 16), cdiv(H, 16)}, block = {16, 16}, stream = queue}(m, n, product)
queue:synchronize()
tap.ok(allclose(product, want), "a launch in a stream is done when the stream is")
tap.is(device().name, "CPU engine", "all of it runs without a GPU, on an engine that looks")
tap.ok(device().threads > 0 and device().isa ~= nil, "a device says what it has")
local path = os.tmpname()
save_npy(path, m)
tap.ok(allclose(load_npy(path), m), "tensors go to NumPy and come from there")
os.remove(path)
tap.done()
