-- kernels.lua: what the product promises about the speed of kernels and launches, measured. A
-- figure of a kernel is a ratio to a peer in the same run: the same kernel in CUDA C by hand,
-- cuBLAS, or the copy of the device. Its times are medians of batches of launches between two
-- events.
local ct = require "cuttle"
local moye = require "moye"
local M = {}

local function say(fmt, ...) print(fmt:format(...)) end

-- The device copy's bandwidth in bytes read and written per second, by copying 1 GiB.
local function copy_bandwidth()
  local n = 1 << 28
  local src, dst = ct.rand(ct.f32, {n}), ct.zeros(ct.f32, {n})
  local ms = ct.bench(function() ct.copy(src, dst) end)
  src:close()
  dst:close()
  return 8 * n / ms * 1e3
end

local function need_cuda(name)
  if not ct.device().sm then
    say("%s: skipped, the current device is the CPU engine", name)
    return false
  end
  return true
end

-- MoYe's matmul as a CUDA programmer writes it: the tiles, the copies and the loop of
-- examples/moye_matmul.lua.
local matmul_twin = [[
__device__ __forceinline__ void cp4(float* dst, const float* src) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::
               "r"((unsigned)__cvta_generic_to_shared(dst)), "l"(src));
}
extern "C" __global__ void __launch_bounds__(256)
matmul_twin(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
            int M, int N, int K) {
  __shared__ float sA[8][129], sB[8][129];
  int t = threadIdx.x, m = t % 32, k = t / 32, tm = t % 16, tn = t / 16;
  A += blockIdx.x * 128 + m + k * M;
  B += blockIdx.y * 128 + m + k * N;
  C += blockIdx.x * 128 + tm + (blockIdx.y * 128 + tn) * M;
  float acc[8][8] = {};
  for (int k0 = 0; k0 < K; k0 += 8) {
#pragma unroll
    for (int i = 0; i < 4; i++) cp4(&sA[k][m + 32 * i], A + 32 * i);
#pragma unroll
    for (int i = 0; i < 4; i++) cp4(&sB[k][m + 32 * i], B + 32 * i);
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 8; kk++) {
      float a[8], b[8];
#pragma unroll
      for (int i = 0; i < 8; i++) a[i] = sA[kk][tm + 16 * i];
#pragma unroll
      for (int j = 0; j < 8; j++) b[j] = sB[kk][tn + 16 * j];
#pragma unroll
      for (int j = 0; j < 8; j++)
#pragma unroll
        for (int i = 0; i < 8; i++) acc[j][i] = fmaf(a[i], b[j], acc[j][i]);
    }
    __syncthreads();
    A += 8 * M;
    B += 8 * N;
  }
#pragma unroll
  for (int j = 0; j < 8; j++)
#pragma unroll
    for (int i = 0; i < 8; i++) C[16 * i + 16 * j * M] = acc[j][i];
}
]]

--- MoYe's product of matrices, beside the same kernel in CUDA C by hand and cuBLAS.
function M.moye()
  local m, n, k = 2048, 2048, 256
  local A, B, C, config = moye.problem(m, n, k)
  local kernel = moye.kernel()
  local launch = kernel:prepare(config)(A, B, C)
  launch()
  local R = ct.reference.matmul(A, B)
  say("moye %dx%dx%d f32, %s: %s", m, n, k, ct.device().name,
    ct.allclose(C, R) and "correct" or "WRONG")
  local ms = ct.bench(launch)
  say("  cuttle            %8.4f ms  %9.1f GFLOP/s", ms, 2 * m * n * k / ms * 1e-6)
  if not ct.device().sm then return end
  local info = kernel(config):info(A, B, C)
  local twin = ct.cuda_kernel("matmul_twin", matmul_twin)
  local T = ct.zeros(ct.f32, {m, n})
  local twin_config = twin(config)
  twin_config(A, B, T, m, n, k)
  local same = ct.allclose(C, T, {rtol = 0, atol = 0})
  local twin_ms = ct.bench(function() twin_config(A, B, T, m, n, k) end)
  local blas_ms = ct.bench(function() ct.reference.matmul(A, B, R) end)
  say("  CUDA C by hand    %8.4f ms  cuttle is %.3f x as fast, results %s", twin_ms, twin_ms / ms,
    same and "bit for bit the same" or "DIFFER")
  say("  cuBLAS            %8.4f ms  cuttle is %.3f x as fast", blas_ms, blas_ms / ms)
  say("  registers %d (by hand %d), local bytes %d, blocks per SM %d", info.registers,
    twin:info().registers, info.local_bytes, info.blocks_per_sm)
end

function M.compile()
  local A, B, C, config = moye.problem(256, 256, 64)
  moye.kernel()(config)(A, B, C) -- the rewriter's and NVRTC's first use are not what is measured
  local traces, emits, compiles, twins = {}, {}, {}, {}
  for i = 1, 9 do
    local unique = "-DCUTTLE_BENCH_RUN=" .. (os.time() * 100 + i)
    local k = moye.kernel()
    k(config)(A, B, C)
    local info = k(config):info(A, B, C)
    traces[i], emits[i] = info.trace_ms, info.emit_ms
    if ct.device().sm then
      local text = k(config):source(A, B, C)
      compiles[i] = ct.cuda_kernel("matmul", text, {unique}):info().compile_ms
      twins[i] = ct.cuda_kernel("matmul_twin", matmul_twin, {unique}):info().compile_ms
    end
  end
  local median = require "cuttle.lists".median
  say("compile: trace %.3f ms + emit %.3f ms, medians of 9, rewritten before", median(traces),
    median(emits))
  if ct.device().sm then
    local c, t = median(compiles), median(twins)
    say("  NVRTC on the emitted text %.1f ms, by hand %.1f ms: %.2f x", c, t, c / t)
    local k, times, hits = moye.kernel(), {}, 0
    for i = 1, 9 do
      k:reset()
      local first = k(config):info(A, B, C)
      times[i] = first.trace_ms + first.emit_ms + first.compile_ms
      if first.from_cache then hits = hits + 1 end
    end
    say("  disk-cache hit: %.2f ms from trace to loaded module, %d of 9 hits", median(times), hits)
  end
end

-- A kernel that reads n globals of its script: each launch compares them with what the trace read.
local function reads_globals(n)
  local names = {}
  for i = 1, n do
    names[i] = "bench_global_" .. i
    _G[names[i]] = i
  end
  local text = ("return function() assert(%s == %d) end"):format(table.concat(names, " + "),
    n * (n + 1) // 2)
  return ct.kernel("reads_globals", assert(load(text, "=globals"))())
end

function M.launch()
  if not need_cuda("launch") then return end
  local n = 10000
  local threadIdx = ct.threadIdx
  local empty0 = ct.kernel("empty0", function() end)
  local empty8 = ct.kernel("empty8", function(a, b, c, d, e, f, g, h)
    if threadIdx.x > 5000 then a[0] = b[0] + c[0] + d[0] + e[0] + f[0] + g[0] + h[0] end
  end)
  local t = {}
  for i = 1, 8 do t[i] = ct.zeros(ct.f32, {32}) end
  local cases <const> = {
    ["0 arguments"] = {empty0, {}}, ["8 arguments"] = {empty8, t},
    ["10 globals"] = {reads_globals(10), {}},
  }
  for name, case in pairs(cases) do
    local config, args = case[1]{grid = 1, block = 32}, case[2]
    config(table.unpack(args))
    local prepared = case[1]:prepare{grid = 1, block = 32}(table.unpack(args))
    local a, b, c, d, e, f, g, h = table.unpack(args)
    local once, many = {reps = 1}, {reps = n} -- between events: a launch is longer than its kernel
    local loop_us = ct.bench(function() config:enqueue(n, table.unpack(args)) end, once) * 1e3 / n
    local call = a and function() config(a, b, c, d, e, f, g, h) end or function() config() end
    local lua_us = ct.bench(call, many) * 1e3
    local prepared_us = ct.bench(prepared, many) * 1e3
    local k = case[1]
    local fresh = a and function() k{grid = 1, block = 32}(a, b, c, d, e, f, g, h) end
      or function() k{grid = 1, block = 32}() end
    local fresh_us = ct.bench(fresh, many) * 1e3
    local line = "launch, %s: %.2f us from Lua, %.2f us prepared, %.2f us by k{...}(...), "
      .. "%.2f us in a C loop: Lua adds %.2f us"
    say(line, name, lua_us, prepared_us, fresh_us, loop_us, lua_us - loop_us)
  end
end

function M.saxpy()
  if not need_cuda("saxpy") then return end
  local n = 1 << 28
  local tile, blockIdx, threadIdx = ct.tile, ct.blockIdx, ct.threadIdx
  local fragment_like, copy, axpby = ct.fragment_like, ct.copy, ct.axpby
  local kernel = ct.kernel("saxpy", function(a, x, y)
    local tx = tile(tile(x, {1024}, {blockIdx.x}), {4}, {threadIdx.x})
    local ty = tile(tile(y, {1024}, {blockIdx.x}), {4}, {threadIdx.x})
    local rx, ry = fragment_like(tx), fragment_like(ty)
    copy(tx, rx)
    copy(ty, ry)
    axpby(a, rx, 1, ry)
    copy(ry, ty)
  end)
  local bandwidth = copy_bandwidth()
  local x, y = ct.rand(ct.f32, {n}), ct.rand(ct.f32, {n})
  local ms = ct.bench(kernel:prepare{grid = n // 1024, block = 256}(2.0, x, y))
  say("saxpy 2^28: %.4f ms, %.3f TB/s = %.3f of the device copy (%.3f TB/s)", ms,
    12 * n / ms * 1e-9, 12 * n / ms * 1e3 / bandwidth, bandwidth * 1e-12)
end

-- Kernels that memory bounds, beside the device's copy.
for name, run in pairs(require "memory") do
  M[name] = function()
    if need_cuda(name) then run(copy_bandwidth()) end
  end
end

return M
