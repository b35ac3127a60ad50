-- sgemm_steps.lua: from a naive product of matrices to a fast one in the ten steps of Simon Boehm's
-- "How to Optimize a CUDA Matmul Kernel for cuBLAS-like Performance": C = A * B, f32, row-major.
-- Steps 3 to 10 are one kernel: only layouts change, which determine where a thread's elements of C
-- are, who copies what, and how shared memory is stored; the last step changes the loop. Each step
-- is checked. The table lists its time and, on a GPU, compares it with cuBLAS in the same run.
-- Usage: cuttle sgemm_steps.lua [size]      a multiple of 128
--
-- Boehm's table, TFLOP/s of an A6000: naive 0.3, coalesced 2.0, shared memory 3.0, 1D tiles 8.5,
-- 2D tiles 16.0, vectorised 18.2, bank conflicts 16.2 and 16.5, autotuned 19.7, warp tiles 21.8,
-- double buffering 17.3. So two of his steps are slower than those before: his ways around bank
-- conflicts cost instructions, and his double buffering has no warp tiles. Here the first is a
-- layout and the second keeps the warp tiles: each step should be as fast as the one before.
local on_gpu = device().sm ~= nil
local S = tonumber(arg[1] or (on_gpu and 4096 or 128))

-- {====== Steps 1 and 2: a thread for each element of C ======

-- place(x, y) is the row and the column of a thread; the threads of a warp are neighbours along x.
local function by_elements(name, place)
  return kernel(name, function(A, B, C)
    local i, j = place(blockIdx.x * 32 + threadIdx.x, blockIdx.y * 32 + threadIdx.y)
    local sum = 0.0
    for k in axes(A, 1) do sum = sum + A[{i, k}] * B[{j, k}] end
    C[{i, j}] = sum
  end)
end

-- {====== Steps 3 to 10: a tile of C for each block, through shared memory ======

-- As everywhere in CuTe A is (M,K), B is (N,K), C is (M,N).
local function by_tiles(name, p)
  local bM, bN, bK, mma, options = p.bM, p.bN, p.bK, p.mma, {order = p.order}
  return kernel(name, function(A, B, C)
    local sA, sB = shared(f32, p.sA), shared(f32, p.sB)                -- (bM,bK), (bN,bK)
    local gA = tile(A, {bM, bK}, {blockIdx.y, _})                      -- (bM,bK,k)
    local gB = tile(B, {bN, bK}, {blockIdx.x, _})                      -- (bN,bK,k)
    local gC = tile(C, {bM, bN}, {blockIdx.y, blockIdx.x})             -- (bM,bN)

    local copy_a, copy_b = p.copy_a:get_slice(threadIdx.x), p.copy_b:get_slice(threadIdx.x)
    local tAgA, tAsA = copy_a:partition_S(gA), copy_a:partition_D(sA)  -- (V,M,K,k), (V,M,K)
    local tBgB, tBsB = copy_b:partition_S(gB), copy_b:partition_D(sB)  -- (V,N,K,k), (V,N,K)
    local tArA = fragment_like(tAgA(_, _, _, 0))

    local thr = mma:get_slice(threadIdx.x)
    local tCsA, tCsB, tCgC = thr:partition_A(sA), thr:partition_B(sB), thr:partition_C(gC)
    local tCrC = thr:fragment_C(tCgC)
    clear(tCrC)

    if p.stages then                                                   -- step 10: slots in sA, sB
      local tCrA = thr:partition_fragment_A(sA(_, _, 0))               -- (V,M,K)
      local tCrB = thr:partition_fragment_B(sB(_, _, 0))               -- (V,N,K)
      pipeline(size(tAgA, 3), {
        stages = p.stages, blocks = bK,
        load = function(k, slot)
          copy(tBgB(_, _, _, k), tBsB(_, _, _, slot))
          copy(tAgA(_, _, _, k), tArA)
        end,
        store = function(slot) copy(tArA, tAsA(_, _, _, slot)) end,
        fetch = function(kk, slot)
          copy(tCsA(_, _, kk, slot), tCrA(_, _, kk))
          copy(tCsB(_, _, kk, slot), tCrB(_, _, kk))
        end,
        compute = function(kk) gemm(mma, tCrA(_, _, kk), tCrB(_, _, kk), tCrC, options) end,
      })
    else
      for k in axes(tAgA, 3) do
        copy(tBgB(_, _, _, k), tBsB)
        if p.turns_a then                                              -- from step 6 on
          copy(tAgA(_, _, _, k), tArA)
          copy(tArA, tAsA)
        else
          copy(tAgA(_, _, _, k), tAsA)
        end
        cp_async_wait(0)
        sync_threads()
        gemm(mma, tCsA, tCsB, tCrC, options)
        sync_threads()
      end
    end
    copy(select(tCrC, 0, 2, 1), select(tCgC, 0, 2, 1))                 -- along N, as C lies
  end)
end

-- {====== Layouts ======

local word, vector = atom("UniversalCopy<u32>", f32), atom("UniversalCopy<u128>", f32)

-- Which of n rows or columns a thread has, as (thread, value) -> row: eight that follow each other,
-- or twice four, half a tile apart, so that neighbours read neighbouring 16 bytes.
local function eight(n) return layout({n // 8, 8}, {8, 1}) end
local function twice_four(n) return layout({n // 8, 4, 2}, {4, 1, n // 2}) end

-- Copies of single elements, neighbours along K of A and along N of B, where these are contiguous.
local function scalar(p)
  local n_threads = size(p.threads)
  p.sA, p.sB = row_major{p.bM, p.bK}, layout{p.bN, p.bK}
  p.copy_a = tiled_copy(word, row_major{n_threads // p.bK, p.bK})
  p.copy_b = tiled_copy(word, layout{p.bN, n_threads // p.bN})
  p.mma = tiled_mma("UniversalFMA<f32>", p.threads, {p.rows, p.columns})
  return p
end

-- Copies of 16 bytes. A is turned on its way, so that both operands lie in shared memory with K
-- slowest and a thread reads 16 bytes of each at once. p.pad moves the columns of A apart.
local function vectorised(p)
  local n_threads, pad, slots = size(p.threads), p.pad or 0, p.stages or 1
  p.sA = layout({p.bM, p.bK, slots}, {1, p.bM + pad, (p.bM + pad) * p.bK})
  p.sB = layout{p.bN, p.bK, slots}
  if not p.stages then p.sA, p.sB = p.sA(_, _, 0), p.sB(_, _, 0) end
  p.copy_a = tiled_copy(vector, row_major{n_threads // 2, 2}, row_major{1, 4})
  p.copy_b = tiled_copy(vector, layout{p.bN // 4, 4 * n_threads // p.bN}, layout{4, 1})
  p.mma = tiled_mma("UniversalFMA<f32>", p.threads, {p.rows, p.columns})
  p.turns_a = true
  return p
end

-- {====== The steps ======

-- Step 8: tiles of blocks, still with threads of 8 x 8 elements in rows over the whole tile.
local function block_tilings()
  local list = {}
  for _, t in ipairs{{128, 128}, {64, 128}, {64, 64}} do
    for _, bK in ipairs{8, 16} do
      for _, order in ipairs{"columns", "serpentine"} do
        table.insert(list, vectorised{bM = t[1], bN = t[2], bK = bK, pad = 4, order = order,
                                      threads = row_major{t[1] // 8, t[2] // 8},
                                      rows = twice_four(t[1]), columns = twice_four(t[2])})
      end
    end
  end
  return list
end

-- Steps 9 and 10: a block's tile is wM x wN tiles of warps, which are 4 x 8 lanes. A thread has 8
-- columns and 4 * deep rows: (lane, warp, 4, deep) -> row.
local function warp_tiling(wM, wN, deep, p)
  p.bM, p.bN, p.pad = 16 * deep * wM, 64 * wN, 4
  p.threads = layout({{4, wM}, {8, wN}}, {{8, 32 * wN}, {1, 32}})
  p.rows = layout({4, wM, 4, deep}, {4, 16 * deep, 1, 16})
  p.columns = layout({8, wN, 4, 2}, {4, 64, 1, 32})
  return vectorised(p)
end

-- `variants`: {bK, stages}.
local function warp_tilings(variants)
  local list = {}
  for _, w in ipairs{{2, 2, 4}, {4, 2, 4}, {2, 2, 2}, {4, 2, 2}} do
    for _, order in ipairs{"columns", w[3] == 4 and "column_pairs" or "serpentine"} do
      for _, v in ipairs(variants) do
        local p = {bK = v[1], stages = v[2], order = order}
        table.insert(list, warp_tiling(w[1], w[2], w[3], p))
      end
    end
  end
  return list
end

local steps = {
  {"naive", elements = function(x, y) return x, y end},
  {"coalesced", elements = function(x, y) return y, x end},
  {"shared memory", scalar{bM = 32, bN = 32, bK = 32, threads = row_major{32, 32}}},
  {"1D block tiling", scalar{bM = 64, bN = 64, bK = 8, threads = row_major{8, 64},
                             rows = eight(64)}},
  {"2D block tiling", scalar{bM = 128, bN = 128, bK = 8, threads = row_major{16, 16},
                             rows = eight(128), columns = eight(128)}},
  {"vectorised", vectorised{bM = 128, bN = 128, bK = 8, threads = row_major{16, 16},
                            rows = eight(128), columns = eight(128)}},
  {"no bank conflicts", vectorised{bM = 128, bN = 128, bK = 8, threads = row_major{16, 16}, pad = 4,
                                   rows = twice_four(128), columns = twice_four(128)}},
  {"autotuned", table.unpack(block_tilings())},
  {"warp tiling", table.unpack(warp_tilings{{8}, {16}})},
  {"double buffering", table.unpack(warp_tilings{{16, 2}, {16, 3}})},
}

-- {====== Running ======

local A, B = rand(f32, row_major{S, S}), rand(f32, {S, S})   -- B is (N,K): in memory K rows of N
local transposed = reference.matmul(B, A)                    -- in memory what a row-major C is
local want = view(transposed, row_major{S, S})
local all_ok = true

-- The time of a kernel, whose result must be right.
local function time(k, grid, block)
  local C = full(f32, row_major{S, S}, -1)
  local launch = k:prepare{grid = grid, block = block}(A, B, C)
  launch()
  local ok, worst = allclose(C, want)
  if not ok then print(("%s: %s"):format(k, worst)) end
  all_ok = all_ok and ok
  local ms = bench(launch)
  C:close()
  return ms
end

local function describe(p)
  local text = ("%dx%dx%d, %d"):format(p.bM, p.bN, p.bK, p.mma.threads)
  if p.order then text = text .. ", " .. p.order end
  if p.stages then text = ("%s, %d slots"):format(text, p.stages) end
  return text
end

-- The time of a step: of the fastest of its configurations, and which one that is. What is fast
-- depends on the device; the CPU engine only shows that it works.
local function run(name, step)
  if step.elements then
    return time(by_elements(name, step.elements), {S // 32, S // 32}, {32, 32}), "32x32, 1024"
  end
  local best_ms, best = math.huge, nil
  for i = 2, on_gpu and #step or math.min(#step, 3) do
    local p = step[i]
    if S % p.bM == 0 then
      local ms = time(by_tiles(name, p), {S // p.bN, S // p.bM}, p.mma.threads)
      if ms < best_ms then best_ms, best = ms, p end
    end
  end
  return best_ms, describe(best)
end

local function report(name, ms, blas_ms, note)
  print(("%-22s %10.4f %10.1f %9s  %s"):format(name, ms, 2 * S ^ 3 / ms * 1e-6,
    blas_ms and ("%.3f"):format(blas_ms / ms) or "-", note))
end

print(("C = A * B, row-major, %dx%dx%d f32 on %s"):format(S, S, S, device().name))
print(("%-22s %10s %10s %9s  %s"):format("step", "ms", "GFLOP/s", "of cuBLAS", "tile, threads"))
local blas_ms
if reference.library(B, A) == "cuBLAS" then
  blas_ms = bench(function() reference.matmul(B, A, transposed) end)
end
for i, step in ipairs(steps) do
  local ms, note = run("sgemm_" .. i, step)
  report(("%2d %s"):format(i, step[1]), ms, blas_ms, note)
end
if blas_ms then report("   cuBLAS", blas_ms, blas_ms, "") end
print(all_ok and "all correct" or "wrong")
os.exit(all_ok, true)
