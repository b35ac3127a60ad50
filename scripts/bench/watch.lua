-- watch.lua: what checking and profiling a launch on the CPU engine
-- cost, in CPU time of this process: the best of several launches of each, plain, checked without
-- races in global memory, wholly checked, and profiled, alternately.
local ct = require "cuttle"
-- What modules of the library are handed when they are loaded, which their loaders hold.
local internal = select(2, debug.getupvalue(package.preload["cuttle.profile"], 2))
local check = require "cuttle.check"
local cpu_time = require "cpu_time"
local example = require "example"
local moye = require "moye"
local threadIdx, blockIdx, blockDim = ct.threadIdx, ct.blockIdx, ct.blockDim
local row_major, size, cdiv = ct.row_major, ct.size, ct.cdiv
local f32, rand = ct.f32, ct.rand
local _ = ct._

local TURNS <const> = 7

local function tiled()
  local A, B, C, config = moye.problem(2048, 2048, 256)
  return moye.kernel():prepare(config)(A, B, C)
end

-- The static kernel of examples/notebook_shared_matmul.lua.
local function notebook()
  local tw, H, K, W = 16, 1024, 256, 1024
  local k = require "notebook".page().make_static(tw)
  return k:prepare{grid = {W // tw, H // tw}, block = {tw, tw}}(rand(f32, row_major{H, K}),
    rand(f32, row_major{K, W}), ct.zeros(f32, row_major{H, W}))
end

-- The least that a kernel can do for what it moves.
local function saxpy()
  local n = 1 << 22
  local k = ct.kernel("saxpy", function(x, y, a)
    local i = blockIdx.x * blockDim.x + threadIdx.x
    if i < size(x) then y[i] = a * x[i] + y[i] end
  end)
  return k:prepare{grid = cdiv(n, 256), block = 256}(rand(f32, n), rand(f32, n), 2.5)
end

-- What an example times, by the function or module that it hands its launch to.
local function timed_by(name, ...) return select(2, example.run_to("bench", name, ...)) end
local function beside_blas(name, ...)
  return select(3, example.run_to("cuttle.beside_blas", name, ...))
end

local function swizzled_transpose()
  local parts = example.run_to("bench", "transpose", 1024)
  local k = parts.through_shared("swizzled", parts.swizzled, 0)
  local A, B = rand(f32, {1024, 1024}), ct.zeros(f32, {1024, 1024})
  return k:prepare{grid = {32, 32}, block = 256}(A, B)
end

local function hopper_attention()
  local function rows() return ct.randn(ct.bf16, row_major{1, 2, 256, 64}) end
  local Q, K, V = rows(), rows(), rows()
  return function() ct.attention(Q, K, V, {causal = true, config = "hopper 192x80"}) end
end

local function profiled(launch)
  local session = internal.watch.profile_begin(0) -- no CUDA C: the launch alone
  launch()
  session:close()
end

local function measure(name, launch)
  local n_findings = 0
  local ways = {
    launch,
    function() n_findings = n_findings + #check.run(launch, { global = false }) end,
    function() n_findings = n_findings + #check.run(launch) end,
    function() profiled(launch) end,
  }
  launch()
  local best = cpu_time.best_in_turns(TURNS, ways)
  print(("%-11s %6.1f ms of CPU time; checked without global races %.2f times as long, wholly "
    .. "%.2f, %d findings; profiled %.2f"):format(name, best[1] * 1e3, best[2] / best[1],
    best[3] / best[1], n_findings, best[4] / best[1]))
end

return function()
  if ct.device().sm then
    print("watch: skipped, the current device is no CPU engine")
    return
  end
  measure("matmul", tiled())
  measure("notebook", notebook())
  measure("saxpy", saxpy())
  measure("transpose", swizzled_transpose())
  measure("sgemm_1", beside_blas("sgemm_1", 256, 256, 64, "NT"))
  for _, name in ipairs{"softmax", "reduce", "nbody", "histogram", "prefix_sum", "radix_sort"} do
    measure(name, timed_by(name))
  end
  measure("hopper_gemm", beside_blas("hopper_gemm", 256, 512, 256))
  measure("attention", hopper_attention())
end
