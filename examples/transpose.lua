-- transpose.lua: B = A' in six steps, each with one change; the bandwidth of each is compared with
-- the device's own copy in the same run.
--   naive       straight from A to B: a warp reads 32 neighbours and writes to 32 columns
--   shared      through a tile in shared memory, so that both sides are read and written in rows of
--               neighbours; but a warp reads the tile across, 32 words apart, all from one bank
--   padded      columns of the tile 33 words apart: each row in another bank
--   swizzled    the same without the memory for padding: the layout permutes each column
--   along B     blocks that run at the same time write neighbouring parts of B
--   vectorised  tiles of 64x64: a thread reads 4x4 elements by accesses of 16 bytes and transposes
--               them in registers, so accesses of shared memory have 16 bytes as well
-- Usage: cuttle transpose.lua [M N], multiples of 64
local M = tonumber(arg[1] or (device().sm and 16384 or 1024))
local N = tonumber(arg[2] or M)
local t, threads = {32, 32}, layout{32, 8}

local naive = kernel("transpose_naive", function(A, B)
  local gA = tile(A, t, {blockIdx.x, blockIdx.y})
  local gB = select(tile(B, t, {blockIdx.y, blockIdx.x}), 1, 0)
  copy(parallelize(gA, threads, threadIdx.x), parallelize(gB, threads, threadIdx.x))
end)

-- stored: the tile's layout in shared memory; along: A's mode that blocks go along first.
local function through_shared(name, stored, along)
  return kernel("transpose_" .. name, function(A, B)
    local i, j = blockIdx.x, blockIdx.y
    if along == 1 then i, j = j, i end
    local gA, gB = tile(A, t, {i, j}), tile(B, t, {j, i})
    local s = shared(A.dtype, stored)
    copy(parallelize(gA, threads, threadIdx.x), parallelize(s, threads, threadIdx.x))
    sync_threads()
    local sT = select(s, 1, 0)
    copy(parallelize(sT, threads, threadIdx.x), parallelize(gB, threads, threadIdx.x))
  end)
end

-- Column j of s is row j of A's tile, in 16 chunks of 4 elements. The swizzle exclusive-ors the
-- chunk's number with (j // 4) % 8: the 8 threads whose accesses are served together write to
-- columns 4 apart, and so to different banks.
local vectorised = kernel("transpose_vectorised", function(A, B)
  local gA = tile(A, {64, 64}, {blockIdx.y, blockIdx.x})
  local gB = tile(B, {64, 64}, {blockIdx.x, blockIdx.y})
  local s = shared(A.dtype, composition(swizzle(3, 2, 6), layout{64, 64}))
  local i, j = threadIdx.x % 16, threadIdx.x // 16
  local r = fragment(A.dtype, {4, 4})
  copy(tile(gA, {4, 4}, {i, j}), r)
  copy(select(r, 1, 0), tile(s, {4, 4}, {j, i}))
  sync_threads()
  copy(tile(s, {4, 4}, {i, j}), tile(gB, {4, 4}, {i, j}))
end)

local plain, padded = layout(t), layout(t, {1, t[1] + 1})
local swizzled = composition(swizzle(5, 0, 5), plain)
local steps = { -- what, kernel, tile, A's mode that blocks go along first
  {"naive", naive, 32, 0},
  {"shared", through_shared("shared", plain, 0), 32, 0},
  {"padded", through_shared("padded", padded, 0), 32, 0},
  {"swizzled", through_shared("swizzled", swizzled, 0), 32, 0},
  {"along B", through_shared("along_b", swizzled, 1), 32, 1},
  {"vectorised", vectorised, 64, 1},
}

local A, B = rand(f32, {M, N}), zeros(f32, {N, M})
local expected = view(A, layout({N, M}, {M, 1}))
local all_ok = true

local function report(what, ms, copy_ms, note)
  print(("  %-12s %9.4f ms %8.1f GB/s   %.3f of the copy%s"):format(what, ms, 8 * M * N / ms * 1e-6,
    copy_ms / ms, note))
end

print(("transpose %dx%d f32 on %s"):format(M, N, device().name))
local flat = zeros(f32, {M, N})
local copy_ms = bench(function() copy(A, flat) end)
report("device copy", copy_ms, copy_ms, "")
for _, step in ipairs(steps) do
  local what, k, size_of_tile, along = table.unpack(step)
  local grid = {M // size_of_tile, N // size_of_tile}
  if along == 1 then grid = {grid[2], grid[1]} end
  fill(B, 0)
  local launch = k:prepare{grid = grid, block = 256}(A, B)
  launch()
  local ok = allclose(B, expected, {rtol = 0, atol = 0})
  report(what, bench(launch), copy_ms, ok and "" or ", WRONG")
  all_ok = all_ok and ok
end
os.exit(all_ok, true)
