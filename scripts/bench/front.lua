-- front.lua: what a kernel of 60 lines costs until it is CUDA C, in CPU
-- time, and that its later launches trace nothing. Each text is a new one to the loader: nothing
-- that was rewritten before is used.
local ct = require "cuttle"
local cpu_time = require "cpu_time"

-- A product with what such kernels have: tiles in shared memory, edges, registers, an epilogue.
local text <const> = [[
return function(A, B, C, bias, alpha, kind)
  local M, N, K = size(A, 0), size(B, 0), size(A, 1)
  local tM, tN, tK, rM, rN = 64, 64, 8, 4, 4
  local sA = shared(f32, layout({tM, tK}, {1, tM + 1}))
  local sB = shared(f32, layout({tN, tK}, {1, tN + 1}))
  local m0, n0 = blockIdx.x * tM, blockIdx.y * tN
  local tx, ty = threadIdx.x % 16, threadIdx.x // 16
  local acc = fragment(f32, {rM, rN})
  local a = fragment(f32, rM)
  local b = fragment(f32, rN)
  local function fetch(src, dst, first, rows, k0)
    for step = 0, size(dst) // 256 - 1 do
      local i = threadIdx.x + step * 256
      local row, col = i % tM, i // tM
      local inside = first + row < rows and k0 + col < K
      dst[{row, col}] = inside and src[{first + row, k0 + col}] or 0.0
    end
  end
  local function activate(v)
    if kind == 0 then
      return v
    elseif kind == 1 then
      return max(v, 0.0)
    elseif kind == 2 then
      return v / (1.0 + exp(-v))
    end
    local v3 = v * v * v
    return 0.5 * v * (1.0 + tanh(0.7978845608 * (v + 0.044715 * v3)))
  end
  clear(acc)
  for k0 = 0, K - 1, tK do
    fetch(A, sA, m0, M, k0)
    fetch(B, sB, n0, N, k0)
    sync_threads()
    for k in range(tK) do
      for i = 0, rM - 1 do
        a[i] = sA[{tx + 16 * i, k}]
      end
      for j = 0, rN - 1 do
        b[j] = sB[{ty + 16 * j, k}]
      end
      for i = 0, rM - 1 do
        for j = 0, rN - 1 do
          acc[{i, j}] = fma(a[i], b[j], acc[{i, j}])
        end
      end
    end
    sync_threads()
  end
  for i = 0, rM - 1 do
    for j = 0, rN - 1 do
      local m = m0 + tx + 16 * i
      local n = n0 + ty + 16 * j
      if m < M and n < N then
        local v = alpha * acc[{i, j}]
        C[{m, n}] = activate(v + bias[n])
      end
    end
  end
end
]]

-- The same with its innermost loop unrolled while tracing.
local unrolled <const> = text:gsub("in range%(tK%)", "= 0, tK - 1")

local median = require "cuttle.lists".median

local function ms_of(f) return cpu_time.seconds_of(f) * 1e3 end

-- The kernel anew: the comment makes another text of it.
local function make(source, i)
  local env = setmetatable({}, {__index = ct})
  local chunk = assert(load(("%s-- %d\n"):format(source, i), "=bench_front", "t", env))
  return ct.kernel("bench_front", chunk())
end

local function run_text(source, what)
  local M, N, K = 100, 90, 70
  local A, B = ct.rand(ct.f32, {M, K}), ct.rand(ct.f32, {N, K})
  local C, bias = ct.zeros(ct.f32, {M, N}), ct.zeros(ct.f32, {N})
  local config = {grid = {2, 2}, block = 256}
  local times = {}
  for i = 1, 51 do
    local k = make(source, i)
    times[i] = ms_of(function() k(config):source(A, B, C, bias, 1.0, 0) end)
  end
  local launch = make(source, 0)(config)
  local _, n_lines = source:gsub("\n", "")
  local _, n_ops = launch:ir(A, B, C, bias, 1.0, 0):gsub("\n", "")
  print(("front: %d lines, %d of IR (%s): rewritten, traced and emitted in %.2f ms, median of 51")
    :format(n_lines, n_ops, what, median(times)))
  launch(A, B, C, bias, 1.0, 0)
  local before = launch:info(A, B, C, bias, 1.0, 0).trace_ms
  for _ = 1, 9 do launch(A, B, C, bias, 1.0, 0) end
  print(("  its first launch is %s, nine more %s"):format(
    ct.allclose(C, ct.reference.matmul(A, B), {rtol = 1e-5, atol = 1e-5}) and "correct" or "WRONG",
    launch:info(A, B, C, bias, 1.0, 0).trace_ms == before and "trace nothing" or "TRACE AGAIN"))
end

local function run()
  run_text(text, "a loop in the kernel")
  run_text(unrolled, "the same unrolled")
end

return run
