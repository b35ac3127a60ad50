-- stream_k.lua: C = A * B' if the tiles of C do not fill the GPU evenly. The steps along K of all
-- tiles form one sequence, and each block takes an equal part of it. A block that begins inside a
-- tile hands its sums to the block that began the tile, which waits for a flag and adds them up.
-- So blocks wait for later blocks, and all must run at once. The order of the additions is fixed:
-- every run gives the same bits. Usage: cuttle stream_k.lua [M N K [BLOCKS]]
local on_gpu = device().sm ~= nil
local M = tonumber(arg[1] or (on_gpu and 1100 or 130))
local N = tonumber(arg[2] or (on_gpu and 1300 or 150))
local K = tonumber(arg[3] or (on_gpu and 8000 or 100))
local bM, bN, bK = on_gpu and 128 or 64, on_gpu and 128 or 64, 8
local tA, tC = layout{32, 8}, layout{16, 16}

-- Where the part of a block begins; the next block's beginning is its end.
local function part_begin(block, n_all)
  return i32(cast(block, i64) * n_all // gridDim.x)
end

local stream_k = kernel("stream_k", function(A, B, C, partial, flags)
  local sA = shared(A.dtype, layout({bM, bK}, {1, bM + 1}))  -- padded: no bank conflicts
  local sB = shared(B.dtype, layout({bN, bK}, {1, bN + 1}))
  local tiles_m, steps = cdiv(size(A, 0), bM), cdiv(size(A, 1), bK)
  local n_all = tiles_m * cdiv(size(B, 0), bN) * steps
  local tAsA, tBsB = parallelize(sA, tA, threadIdx.x), parallelize(sB, tA, threadIdx.x)
  local tCsA = parallelize(sA, tC, threadIdx.x, {1, _})
  local tCsB = parallelize(sB, tC, threadIdx.x, {_, 1})
  local sums = fragment(f32, {bM // 16, bN // 16})
  local function place(block)                               -- of a block's sums, for this thread
    return parallelize(tile(partial(_, _, block), {bM, bN}, {0, 0}), tC, threadIdx.x)
  end

  local at, stop = part_begin(blockIdx.x, n_all), part_begin(blockIdx.x + 1, n_all)
  while at < stop do                                        -- one tile of C after the other
    local t = at // steps
    local m, n = t % tiles_m, t // tiles_m
    local first, last = at - t * steps, min(steps, stop - t * steps)
    clear(sums)
    for k in range(first, last) do
      copy(parallelize(tile(guard(A), {bM, bK}, {m, k}), tA, threadIdx.x), tAsA)
      copy(parallelize(tile(guard(B), {bN, bK}, {n, k}), tA, threadIdx.x), tBsB)
      cp_async_wait(0)
      sync_threads()
      gemm(tCsA, tCsB, sums)
      sync_threads()
    end
    if first > 0 then                                       -- another block began this tile
      copy(sums, place(blockIdx.x))
      fence()
      sync_threads()
      if threadIdx.x == 0 then atomic_store(flags, blockIdx.x, 1) end
    else
      local block = blockIdx.x
      while last < steps do                                 -- later blocks have the rest of it
        block = block + 1
        if threadIdx.x == 0 then
          while atomic_load(flags, block) == 0 do end
          flags[block] = 0                                  -- for the next launch
        end
        sync_threads()
        axpby(1.0, place(block), 1.0, sums)
        last = min(steps, part_begin(block + 1, n_all) - t * steps)
      end
      copy(sums, parallelize(tile(guard(C), {bM, bN}, {m, n}), tC, threadIdx.x))
    end
    at = (t + 1) * steps
  end
end)

local A, B, C = rand(f32, {M, K}), rand(f32, {N, K}), zeros(f32, {M, N})
local n_tiles = cdiv(M, bM) * cdiv(N, bN)
local n_blocks = tonumber(arg[4] or (on_gpu and device().n_sms or 13))
local partial, flags = zeros(f32, {bM, bN, n_blocks}), zeros(i32, n_blocks)
local launch = stream_k:prepare{grid = n_blocks, block = 256, cooperative = true}(
  A, B, C, partial, flags)
launch()
launch()                                                    -- with the flags of the first launch
local ok, worst = allclose(C, reference.matmul(A, B))
print(("stream-K %dx%dx%d, %d tiles on %d blocks of %s: %s"):format(M, N, K, n_tiles, n_blocks,
  device().name, ok and "correct" or worst))
local ms = bench(launch)
print(("%.4f ms, %.1f GFLOP/s"):format(ms, 2 * M * N * K / ms * 1e-6))
os.exit(ok, true)
