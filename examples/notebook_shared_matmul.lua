-- notebook_shared_matmul.lua: a notebook on shared memory, retold in one file: out = m * n,
-- row-major, of any size, with tiles of tw x tw in shared memory. At first the threads are
-- coroutines of plain Lua; then the same function is the body of kernels. The times appear next to
-- the notebook's, `profile` explains the difference, and `check` finds a missing barrier.
-- Usage: cuttle notebook_shared_matmul.lua [h K w]    m is h x K, n is K x w
local gpu = device().sm and "cuda:" .. device().ordinal
device("cpu")

-- {====== 1. What a thread does ======

-- `at` says where the thread is, and how it waits for the other threads of its block. ms and ns are
-- in memory that the block shares; each holds one tile, with zeros past the ends of m and n.
local function multiply_tiles(at, m, n, out, tw, ms, ns)
  local h, w, k = size(out, 0), size(out, 1), size(m, 1)
  local tc, tr = at.threadIdx.x, at.threadIdx.y
  local r, c = at.blockIdx.y * at.blockDim.y + tr, at.blockIdx.x * at.blockDim.x + tc
  local p = 0.0
  for ph = 0, cdiv(k, tw) - 1 do
    local x = ph * tw
    ms[{tr, tc}] = r < h and x + tc < k and m[{r, x + tc}] or 0.0
    ns[{tr, tc}] = c < w and x + tr < k and n[{x + tr, c}] or 0.0
    at.sync_threads()                             -- the tiles are full
    for i = 0, tw - 1 do p = p + ms[{tr, i}] * ns[{i, tc}] end
    at.sync_threads()                             -- and used up
  end
  if r < h and c < w then out[{r, c}] = p end
end

-- One piece of memory as two tiles.
local function halves(memory, tw)
  local both = view(memory, layout({tw, tw, 2}, {tw, 1, tw * tw}))
  return both(_, _, 0), both(_, _, 1)
end

-- The matrices of a size, and what their product is; reference.matmul takes n as (w, K).
local function make_problem(h, k, w)
  local m, n = rand(f32, row_major{h, k}), rand(f32, row_major{k, w})
  return {h = h, k = k, w = w, m = m, n = n, want = reference.matmul(m, select(n, 1, 0))}
end

local all_ok = true
local function expect(ok, what, why)
  print(("%-52s %s"):format(what, ok and "as it should be" or why or "not so"))
  all_ok = all_ok and ok
end

-- {====== 2. Threads in plain Lua ======

-- Threads run in turns, each until it waits at the barrier, which is a coroutine's yield.
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

local function run_block(block, m, n, out, tw, sync_threads)
  local threads, ms, ns = {}, halves(zeros(f32, 2 * tw * tw), tw)
  for y = 0, tw - 1 do
    for x = 0, tw - 1 do
      local at = {blockIdx = block, threadIdx = {x = x, y = y}, blockDim = {x = tw, y = tw},
                  sync_threads = sync_threads}
      threads[#threads + 1] = coroutine.create(function()
        multiply_tiles(at, m, n, out, tw, ms, ns)
      end)
    end
  end
  run_threads(threads)
end

local function simulate(p, tw, sync_threads)
  local out = zeros(f32, row_major{p.h, p.w})
  for y = 0, cdiv(p.h, tw) - 1 do
    for x = 0, cdiv(p.w, tw) - 1 do
      run_block({x = x, y = y}, p.m, p.n, out, tw, sync_threads)
    end
  end
  return allclose(out, p.want)
end

local function nothing() end
local small = make_problem(20, 24, 36)
expect(simulate(small, 8, coroutine.yield), "coroutines that wait for each other: right")
expect(not simulate(small, 8, nothing), "coroutines that do not: wrong")

-- {====== 3. Threads of a kernel ======

local kernel_threads = {blockIdx = blockIdx, threadIdx = threadIdx, blockDim = blockDim,
                        sync_threads = sync_threads}

local naive = kernel("matmul_naive", function(m, n, out)
  local h, w = size(out, 0), size(out, 1)
  local r = blockIdx.y * blockDim.y + threadIdx.y
  local c = blockIdx.x * blockDim.x + threadIdx.x
  if r < h and c < w then
    local p = 0.0
    for i = 0, size(m, 1) - 1 do p = p + m[{r, i}] * n[{i, c}] end
    out[{r, c}] = p
  end
end)

-- Dynamic shared memory: the launch says how many bytes, and how wide the tiles are.
local dynamic = kernel("matmul_dynamic", function(m, n, out, tw)
  multiply_tiles(kernel_threads, m, n, out, tw, halves(shared(f32), tw))
end)

-- The template is a closure: its tw is a constant of the kernel, and the loop over i is unrolled
-- while tracing. The launch still says how many bytes.
local function make_template(tw)
  return kernel("matmul_template" .. tw, function(m, n, out)
    multiply_tiles(kernel_threads, m, n, out, tw, halves(shared(f32), tw))
  end)
end

-- Static shared memory.
local function make_static(tw)
  return kernel("matmul_static" .. tw, function(m, n, out)
    local ms, ns = shared(f32, row_major{tw, tw}), shared(f32, row_major{tw, tw})
    multiply_tiles(kernel_threads, m, n, out, tw, ms, ns)
  end)
end

-- `ms` is the notebook's time on its GPU, of 5120x256 times 256x5120.
local variants = {
  {name = "naive", tw = 16, kernel = naive, ms = 2.6},
  {name = "dynamic, tw = 16", tw = 16, kernel = dynamic, ms = 2.11, takes_tw = true, smem = true},
  {name = "template, tw = 16", tw = 16, kernel = make_template(16), ms = 1.67, smem = true},
  {name = "static, tw = 8", tw = 8, kernel = make_static(8)},
  {name = "static, tw = 16", tw = 16, kernel = make_static(16), ms = 1.67},
  {name = "static, tw = 32", tw = 32, kernel = make_static(32)},
}

local function config_of(v, p)
  local smem = v.smem and 2 * v.tw * v.tw * 4 or 0
  return {grid = {cdiv(p.w, v.tw), cdiv(p.h, v.tw)}, block = {v.tw, v.tw}, smem = smem}
end
local function arguments(v, p, out)
  if v.takes_tw then return p.m, p.n, out, v.tw end
  return p.m, p.n, out
end

-- Fills what the kernel must overwrite with a number that no product is.
local function is_right(v, p)
  local out = full(f32, row_major{p.h, p.w}, -1)
  v.kernel(config_of(v, p))(arguments(v, p, out))
  local ok, worst = allclose(out, p.want)
  return ok, ("%s, %dx%dx%d: %s"):format(v.name, p.h, p.k, p.w, worst)
end

-- {====== 4. Sizes that no tile divides ======

local sizes = {{1, 1, 1}, {0, 5, 3}, {5, 0, 3}, {5, 3, 0}, {37, 41, 43}, {33, 65, 17}, {64, 32, 96}}
if gpu then
  sizes[#sizes + 1] = {4095, 4097, 131}
  sizes[#sizes + 1] = {4097, 127, 4095}
end

local function check_sizes(name)
  device(name)
  for _, s in ipairs(sizes) do
    local p = make_problem(table.unpack(s))
    for _, v in ipairs(variants) do
      local ok, why = is_right(v, p)
      if not ok then return false, why end
    end
  end
  return true
end
for _, name in ipairs{"cpu", gpu} do
  local ok, why = check_sizes(name)
  expect(ok, ("%d sizes on %s: right"):format(#sizes, device().name), why)
end

-- {====== 5. Times ======

local NOTEBOOK_GFLOPS <const> = 2 * 5120 * 256 * 5120 * 1e-6     -- for a time of 1 ms

local function show_times(name, h, k, w)
  device(name)
  local p = make_problem(h, k, w)
  print(("\n%dx%d times %dx%d, f32, on %s"):format(h, k, k, w, device().name))
  print(("%-18s %10s %10s  %s"):format("kernel", "ms", "GFLOP/s", "the notebook's ms, GFLOP/s"))
  for _, v in ipairs(variants) do
    local ok, why = is_right(v, p)
    local launch = v.kernel:prepare(config_of(v, p))(arguments(v, p, zeros(f32, row_major{h, w})))
    local ms = bench(launch)
    local theirs = v.ms and ("%16.2f %8.1f"):format(v.ms, NOTEBOOK_GFLOPS / v.ms) or ""
    print(("%-18s %10.4f %10.1f  %s%s"):format(v.name, ms, 2 * h * k * w / ms * 1e-6, theirs,
      ok and "" or "  " .. why))
    all_ok = all_ok and ok
  end
end

local H, K, W = tonumber(arg[1]), tonumber(arg[2]), tonumber(arg[3])
show_times("cpu", H or 150, K or 70, W or 130)
if gpu then show_times(gpu, H or 5120, K or 256, W or 5120) end

-- {====== 6. Why the dynamic kernel is slower ======

-- Not for its kind of memory: the template has the same. But its tw is no constant. So the compiler
-- neither unrolls the loop over i nor reads four neighbours of ms by one load. Without NVRTC,
-- `profile` counts the loads as they are written, and the rows are alike.
local function loads_of(v, p)
  local launch = v.kernel:prepare(config_of(v, p))(arguments(v, p, zeros(f32, row_major{p.h, p.w})))
  local is_free, report = pcall(profile, launch)
  if not is_free then return end
  local k = report.kernels[1]
  return 32 * k.totals.shared_load_requests / k.totals.fma, k.roofline.shared_ms
end

local function show_loads()
  device("cpu")
  local p = make_problem(128, 256, 128)
  print("\nkernel             loads a multiply-add   shared memory, least ms on H200")
  for _, v in ipairs(variants) do
    if v.tw == 16 and v.kernel ~= naive then
      local loads, ms = loads_of(v, p)
      if loads then print(("%-18s %20.2f   %31.5f"):format(v.name, loads, ms)) end
    end
  end
end
show_loads()

-- {====== 7. A barrier that is missing ======

-- Each of three warps prints a number, its negative and ten times it.
local function show_order(what, wait)
  io.write(what)
  io.stdout:flush()
  kernel("steps", function()
    local x, leads = threadIdx.x // 32 + 1, threadIdx.x % 32 == 0
    if leads then printf("%4d", x) end
    wait()
    if leads then printf("%4d", -x) end
    wait()
    if leads then printf("%4d", 10 * x) end
  end){grid = 1, block = 96, print_order = "run"}()
  print()
end
print()
show_order("without a barrier each warp runs to its end:", nothing)
show_order("with one they stay together:                ", sync_threads)

local forgetful = {blockIdx = blockIdx, threadIdx = threadIdx, blockDim = blockDim,
                   sync_threads = nothing}
local no_barrier = kernel("matmul_no_barrier", function(m, n, out)
  multiply_tiles(forgetful, m, n, out, 8, halves(shared(f32), 8))
end)

local function show_findings(p)
  local out = zeros(f32, row_major{p.h, p.w})
  local config = {grid = {cdiv(p.w, 8), cdiv(p.h, 8)}, block = {8, 8}, smem = 2 * 8 * 8 * 4}
  local is_free, findings = pcall(require "cuttle.check".run, function()
    no_barrier(config)(p.m, p.n, out)
  end)
  if not is_free then return print("(no findings here: this run is being watched already)") end
  expect(not allclose(out, p.want), "a kernel without barriers: wrong")
  expect(#findings == 2, "check finds why:")
  for _, f in ipairs(findings) do print(("  line %d: %s"):format(f.line, f.message)) end
end
show_findings(make_problem(20, 24, 36))

print(all_ok and "\nall correct" or "\nwrong")
os.exit(all_ok, true)
