-- engine.lua: how fast the CPU engine runs eight kernels that ask different things of it. Each runs
-- alone and under `check`, alternately. The best of several launches counts, in CPU time.
-- To compare instruction sets: CUTTLE_ISA=base, CUTTLE_THREADS=1; or WebAssembly under node.
local ct = require "cuttle"
local check = require "cuttle.check"
local cpu_time = require "cpu_time"
local moye = require "moye"
local blockIdx, threadIdx, shared = ct.blockIdx, ct.threadIdx, ct.shared
local f16, bf16, f32, f64, i32 = ct.f16, ct.bf16, ct.f32, ct.f64, ct.i32
local rand, zeros = ct.rand, ct.zeros
local sync_threads, tile, gemm, copy, clear = ct.sync_threads, ct.tile, ct.gemm, ct.copy, ct.clear
local _ = ct._

local TURNS <const> = 7

local function tiled()
  local A, B, C, config = moye.problem(512, 512, 256)
  return moye.kernel():prepare(config)(A, B, C)
end

-- A row times a column in each thread.
local function rows(dtype, n)
  local k = ct.kernel("rows", function(A, B, C)
    local i, j = blockIdx.x * 32 + threadIdx.x, blockIdx.y
    local sum = ct.cast(0, dtype)
    for l = 0, n - 1 do sum = ct.fma(A[{i, l}], B[{l, j}], sum) end
    C[{i, j}] = sum
  end)
  local function numbers() return rand(dtype, {n, n}) end
  return k:prepare{grid = {n // 32, n}, block = 32}(numbers(), numbers(), zeros(dtype, {n, n}))
end

-- A product by tensor cores, of a tile of 128 x 128 and a depth of 64, by each of n blocks.
local function tensor_cores(name, dtype, name_of_mma, layout_of, n)
  local smem = ct.tile_to_shape(layout_of, {128, 64})
  local mma = ct.tiled_mma(name_of_mma, name == "wgmma" and {1, 1, 1} or {2, 2})
  local k = ct.kernel(name, function(A, B, C)
    local sA, sB = shared(dtype, smem), shared(dtype, smem)
    for i = threadIdx.x, 128 * 64 - 1, 128 do
      sA[{i % 128, i // 128}], sB[{i % 128, i // 128}] = A[i], B[i]
    end
    ct.fence_proxy_async()
    sync_threads()
    local thr = mma:get_slice(threadIdx.x)
    local tCgC = thr:partition_C(tile(C, {128, 128}, {blockIdx.x, 0}))
    local sums = thr:fragment_C(tCgC)
    clear(sums)
    if name == "wgmma" then
      ct.wgmma_fence()
      gemm(mma, thr:partition_A(sA), thr:partition_B(sB), sums)
      ct.wgmma_commit()
      ct.wgmma_wait(0)
    else
      local tA, tB = thr:partition_A(sA), thr:partition_B(sB)
      local a, b = thr:fragment_A(tA), thr:fragment_B(tB)
      copy(tA, a)
      copy(tB, b)
      gemm(mma, a, b, sums)
    end
    copy(sums, tCgC)
  end)
  local function numbers() return rand(dtype, {128, 64}) end
  return k:prepare{grid = n, block = 128}(numbers(), numbers(), zeros(f32, {128 * n, 128}))
end

local function functions()
  local k = ct.kernel("functions", function(x, y)
    local i = blockIdx.x * 256 + threadIdx.x
    y[i] = ct.exp(-x[i] * x[i]) + ct.sin(x[i]) * ct.tanh(x[i])
  end)
  return k:prepare{grid = 1024, block = 256}(rand(f32, 1024 * 256), zeros(f32, 1024 * 256))
end

local function transpose()
  local n = 1024
  local k = ct.kernel("transpose", function(x, y)
    local s = shared(f32, ct.layout({32, 32}, {1, 33}))
    for i = threadIdx.y, 31, 8 do
      s[{threadIdx.x, i}] = x[{blockIdx.x * 32 + threadIdx.x, blockIdx.y * 32 + i}]
    end
    sync_threads()
    for i = threadIdx.y, 31, 8 do
      y[{blockIdx.y * 32 + threadIdx.x, blockIdx.x * 32 + i}] = s[{i, threadIdx.x}]
    end
  end)
  local grid = {n // 32, n // 32}
  return k:prepare{grid = grid, block = {32, 8}}(rand(f32, {n, n}), zeros(f32, {n, n}))
end

local function histogram()
  local n = 1 << 20
  local k = ct.kernel("histogram", function(x, counts)
    local mine = shared(i32, 256)
    mine[threadIdx.x] = 0
    sync_threads()
    for i = blockIdx.x * 256 + threadIdx.x, n - 1, 256 * 16 do
      local h = (x[i] ~ (x[i] >> 15)) * 0x85EBCA77
      ct.atomic_add(mine, (h >> 13) & 255, 1)
    end
    sync_threads()
    ct.atomic_add(counts, threadIdx.x, mine[threadIdx.x])
  end)
  local numbers = {}
  for i = 1, n do numbers[i] = i * 0x9E3779B1 & 0x7FFFFFFF end
  local x = ct.from_table(i32, numbers)
  return k:prepare{grid = 16, block = 256}(x, zeros(i32, 256))
end

local function measure(name, launch)
  local n_findings = 0
  launch()
  local best = cpu_time.best_in_turns(TURNS, {
    launch,
    function() n_findings = n_findings + #check.run(launch) end,
  })
  print(("%-22s %8.2f ms, checked %8.2f ms, %d findings"):format(name, best[1] * 1e3,
    best[2] * 1e3, n_findings))
end

return function()
  if ct.device().sm then
    print("engine: skipped, the current device is no CPU engine")
    return
  end
  measure("matmul, tiles, f32", tiled())
  measure("matmul, rows, f32", rows(f32, 256))
  measure("matmul, rows, f64", rows(f64, 192))
  measure("wgmma of bf16", tensor_cores("wgmma", bf16, "SM90_64x128x16_F32BF16BF16_SS",
    ct.gmma_layout(bf16, "K", 128), 16))
  measure("mma.sync of f16", tensor_cores("mma", f16, "SM80_16x8x16_F32F16F16F32_TN",
    ct.row_major{128, 64}, 16))
  measure("exp, sin, tanh of f32", functions())
  measure("transpose", transpose())
  measure("histogram", histogram())
end
