-- tiled_copy.lua: CuTe's tutorial of that name: copies a matrix tile by tile, with accesses of 16
-- bytes. The host divides the tensors into tiles, ((128,64), m, n), and passes them in this form.
-- Usage: cuttle tiled_copy.lua [M N]
local M, N = tonumber(arg[1] or 256), tonumber(arg[2] or 512)
local block = {128, 64}
local threads, values = layout{32, 8}, layout{4, 1}
local copy_16 = tiled_copy(atom("UniversalCopy<u128>", f32), threads, values)

-- Each thread takes its elements by ones.
local plain = kernel("copy_plain", function(S, D)
  local tile_S = S({_, _}, blockIdx.x, blockIdx.y)              -- (BLK_M,BLK_N)
  local tile_D = D({_, _}, blockIdx.x, blockIdx.y)
  local thr_S = parallelize(tile_S, threads, threadIdx.x)       -- (THR_M,THR_N)
  local thr_D = parallelize(tile_D, threads, threadIdx.x)
  local fragment = fragment_like(thr_S)
  copy(thr_S, fragment)
  copy(fragment, thr_D)
end, {static_shapes = true})

-- Four neighbouring rows at once.
local vectorised = kernel("copy_vectorised", function(S, D)
  local tile_S = S({_, _}, blockIdx.x, blockIdx.y)              -- (BLK_M,BLK_N)
  local tile_D = D({_, _}, blockIdx.x, blockIdx.y)
  local thr_copy = copy_16:get_slice(threadIdx.x)
  local thr_S = thr_copy:partition_S(tile_S)                    -- (CPY,CPY_M,CPY_N)
  local thr_D = thr_copy:partition_D(tile_D)
  local fragment = fragment_like(thr_D)
  copy(copy_16, thr_S, fragment)
  copy(copy_16, fragment, thr_D)
end, {static_shapes = true})

if not evenly_divides({M, N}, block) then
  error(("tiles of %dx%d do not divide %dx%d"):format(block[1], block[2], M, N), 0)
end
local S, all_ok = rand(f32, {M, N}), true
local function run(name, k)
  local D = zeros(f32, {M, N})
  local tiled_S, tiled_D = tiled_divide(S, block), tiled_divide(D, block)  -- ((BLK_M,BLK_N),m,n)
  local grid = {size(tiled_D, 1), size(tiled_D, 2)}
  local launch = k:prepare{grid = grid, block = size(threads)}(tiled_S, tiled_D)
  launch()
  local ok = allclose(D, S, {rtol = 0, atol = 0})
  local ms = bench(launch)
  print(("%-10s %dx%d f32 on %s: %s, %.4f ms, %.1f GB/s"):format(name, M, N, device().name,
    ok and "correct" or "wrong", ms, 8 * M * N / ms * 1e-6))
  all_ok = all_ok and ok
end
run("by ones", plain)
run("16 bytes", vectorised)
os.exit(all_ok, true)
