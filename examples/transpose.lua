-- transpose.lua: B = A' through shared memory, as in MoYe's manual: a tile is written to shared
-- memory row by row and read from it through the transposed layout; the padding keeps both free of
-- bank conflicts. Usage: cuttle transpose.lua [M N]
local M = tonumber(arg[1] or (device().sm and 16384 or 1024))
local N = tonumber(arg[2] or M)
local t = 32
local threads = layout{32, 8}
local stored = layout({t, t}, {1, t + 1})
local transposed = layout({t, t}, {t + 1, 1})

local transpose = kernel("transpose", function(A, B)
  local s = shared(A.dtype, stored)
  local gA = tile(A, {t, t}, {blockIdx.x, blockIdx.y})
  local gB = tile(B, {t, t}, {blockIdx.y, blockIdx.x})
  copy(parallelize(gA, threads, threadIdx.x), parallelize(s, threads, threadIdx.x))
  cp_async_wait(0)
  sync_threads()
  local sT = view(s, transposed)
  copy(parallelize(sT, threads, threadIdx.x), parallelize(gB, threads, threadIdx.x))
end)

local A, B = rand(f32, {M, N}), zeros(f32, {N, M})
local launch = transpose:prepare{grid = {M // t, N // t}, block = size(threads)}(A, B)
launch()

local ok = allclose(B, view(A, layout({N, M}, {M, 1})), {rtol = 0, atol = 0})
print(("transpose %dx%d f32 on %s: %s"):format(M, N, device().name, ok and "correct" or "wrong"))
local ms = bench(launch)
print(("%.4f ms, %.1f GB/s"):format(ms, 8 * M * N / ms * 1e-6))
os.exit(ok, true)
