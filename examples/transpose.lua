-- transpose.lua: B = A' through shared memory: a tile is written to it column by column and read
-- through its transposed view. Where the columns of the tile begin 32 words apart, the reads of a
-- warp meet in one bank; a row of padding keeps them apart, and so does a swizzle, without more
-- memory. Usage: cuttle transpose.lua [M N]
local M = tonumber(arg[1] or (device().sm and 16384 or 1024))
local N = tonumber(arg[2] or M)
local t = 32
local threads = layout{32, 8}
local stored = {
  {"plain", layout{t, t}},
  {"padded", layout({t, t}, {1, t + 1})},
  {"swizzled", composition(swizzle(5, 0, 5), layout{t, t})},
}

local function transpose(name, tile_layout)
  return kernel("transpose_" .. name, function(A, B)
    local s = shared(A.dtype, tile_layout)
    local gA = tile(A, {t, t}, {blockIdx.x, blockIdx.y})
    local gB = tile(B, {t, t}, {blockIdx.y, blockIdx.x})
    copy(parallelize(gA, threads, threadIdx.x), parallelize(s, threads, threadIdx.x))
    cp_async_wait(0)
    sync_threads()
    local sT = select(s, 1, 0)
    copy(parallelize(sT, threads, threadIdx.x), parallelize(gB, threads, threadIdx.x))
  end)
end

local all_ok = true
local A = rand(f32, {M, N})
for _, variant in ipairs(stored) do
  local name, tile_layout = variant[1], variant[2]
  local B = zeros(f32, {N, M})
  local launch = transpose(name, tile_layout):prepare{
    grid = {M // t, N // t}, block = size(threads)}(A, B)
  launch()
  local ok = allclose(B, view(A, layout({N, M}, {M, 1})), {rtol = 0, atol = 0})
  print(("transpose %dx%d f32, %s, on %s: %s"):format(M, N, name, device().name,
    ok and "correct" or "wrong"))
  local ms = bench(launch)
  print(("%.4f ms, %.1f GB/s"):format(ms, 8 * M * N / ms * 1e-6))
  all_ok = all_ok and ok
end
os.exit(all_ok, true)
