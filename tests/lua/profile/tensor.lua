-- Products of tensor cores: their flops by line, the time that they take, and what limits a kernel.

local M, N, K = 64, 64, 128
local function product(name, atom_name, tiling, threads, dtype)
  local mma = tiled_mma(atom_name, tiling)
  local function layout_of(m, k)
    local is_wgmma = name == "wgmma"
    return is_wgmma and tile_to_shape(gmma_layout(dtype, "K", 128), {m, k}) or row_major{m, k}
  end
  local k = kernel(name, function(A, B, C)
    local sA, sB = shared(dtype, layout_of(M, K)), shared(dtype, layout_of(N, K))
    local row = row_major{threads // 16, 16}
    copy(parallelize(A, row, threadIdx.x), parallelize(sA, row, threadIdx.x))
    copy(parallelize(B, row, threadIdx.x), parallelize(sB, row, threadIdx.x))
    sync_threads()
    local thr = mma:get_slice(threadIdx.x)
    local sums = fragment(f32, mma:partition_shape_C{M, N})
    clear(sums)
    if name == "wgmma" then
      fence_proxy_async()
      sync_threads()
      wgmma_fence()
      gemm(mma, thr:partition_A(sA), thr:partition_B(sB), sums) -- the line of tensor cores
      wgmma_commit()
      wgmma_wait(0)
    else
      local tA, tB = thr:partition_A(sA), thr:partition_B(sB)
      local rA, rB = thr:partition_fragment_A(sA), thr:partition_fragment_B(sB)
      copy(tA, rA)
      copy(tB, rB)
      gemm(mma, rA, rB, sums) -- the line of tensor cores
    end
    copy(sums, thr:partition_C(C))
  end, { static_shapes = true })
  local launch = k:prepare{grid = 1, block = threads}(rand(dtype, row_major{M, K}),
    rand(dtype, row_major{N, K}), zeros(f32, row_major{M, N}))
  return profile(function()
    launch()
    launch()
  end, { device = "H100" }), mma
end

-- All flops of the products are at one line, and they are the instructions times theirs.
local function facts(p, m, n, k)
  local kernel = p.kernels[1]
  for _, line in ipairs(kernel.lines) do
    if line.tensor_flops > 0 then
      local instructions = line.mma > 0 and line.mma or select(2, next(line.wgmma))
      print(line.source:find "the line of tensor cores" ~= nil, instructions,
        line.tensor_flops == instructions * 2 * m * n * k,
        line.tensor_flops == 2 * 2 * M * N * K, kernel.totals.tensor_flops == line.tensor_flops)
    end
  end
  return kernel
end
local by_mma = facts(product("mma", "SM80_16x8x16_F32F16F16F32_TN", {2, 2}, 128, f16), 16, 8, 16)
-- expect: true	512	true	true	true
local by_wgmma =
  facts(product("wgmma", "SM90_64x64x16_F32BF16BF16_SS", {1, 1}, 128, bf16), 64, 64, 16)
-- expect: true	16	true	true	true

-- Their time is one of the roofline: 132 multiprocessors at 1.98 GHz, 1350 or 2048 multiply-adds a
-- clock.
local function close(a, b) return math.abs(a - b) <= 1e-12 * math.abs(b) end
local clocks = 132 * 1.98e9
print(close(by_mma.roofline.tensor_ms, M * N * K / 1350 / clocks * 1e3),
  close(by_wgmma.roofline.tensor_ms, M * N * K / 2048 / clocks * 1e3),
  close(by_wgmma.roofline.peak_tensor_flops, 2 * 2048 * clocks))
-- expect: true	true	true
print(close(by_mma.roofline.tensor_intensity, 2 * M * N * K / (2 * 2 * M * K + 4 * M * N)),
  close(by_mma.roofline.tensor_balance, 2 * 2048 * clocks / 3350e9))
-- expect: true	true

-- The times of the lines add up to those of the kernel, unit by unit; a line costs its longest.
for _, key in ipairs { "tensor_ms", "flops_ms", "shared_ms", "once_ms" } do
  local sum, is_most = 0, true
  for _, line in ipairs(by_mma.lines) do
    sum = sum + line.cost[key]
    is_most = is_most and line.cost_ms >= line.cost[key]
  end
  print(key, close(sum, by_mma.roofline[key]), is_most)
end
-- expect: tensor_ms	true	true
-- expect: flops_ms	true	true
-- expect: shared_ms	true	true
-- expect: once_ms	true	true

-- Operands of 8 bits take half the time of those of 16.
local devices = require "cuttle.profile_device"
local h100 = devices.rates(devices.find "H100")
print(devices.tensor_cycles(h100, "mma", { [8] = 1350 * 2 }), devices.tensor_cycles(h100, "wgmma",
  { [16] = 2048, [8] = 4096 }), devices.tensor_cycles(h100, "mma", { [64] = 128 }))
-- expect: 1.0	2.0	1.0


-- The page says the verdict first: prediction and bound, the costliest line, and the access that
-- loses most.
local turn = kernel("turn", function(A, B)
  local s = shared(f32, row_major{32, 32})
  local x, y = threadIdx.x, threadIdx.y
  s[{x, y}] = A[{x, y}]
  sync_threads()
  if x < 20 then B[{x, y}] = s[{y, x}] end
end)
local verdict_of = require("cuttle.profile_table").verdict
local p = profile(function()
  turn{grid = 1, block = {32, 8}}(zeros(f32, {64, 32}), zeros(f32, {64, 32}))
end)
local verdict = verdict_of(p.kernels[1])
print((verdict[1]:gsub("^Predicted: .-%. At", "At")))
-- expect: At the peaks of H200: 1.01 ns, by shared memory.
print(verdict[2]) -- expect: Costliest line, by shared memory: line 101, s[{x, y}] = A[{x, y}].
print(verdict[3]) -- expect: Worst access: line 101, store s, 32-way conflicts; 97 % of its time is lost.
local worst = p.kernels[1].worst
local line = p.kernels[1].lines[worst.line]
print(line.line, line.accesses[worst.access].tensor)
-- expect: 101	s
-- If nothing is lost, the costliest access is the worst one.
local through = kernel("through", function(A, B) B[threadIdx.x] = A[threadIdx.x] + 1.0 end)
p = profile(function() through{grid = 1, block = 32}(zeros(f32, 32), zeros(f32, 32)) end)
print(verdict_of(p.kernels[1])[3])
-- expect: No access wastes sectors or has conflicts.
-- needs sm_90
