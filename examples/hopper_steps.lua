-- hopper_steps.lua: from a naive product of bf16 matrices to one that is faster than cuBLAS on a
-- Hopper GPU, in thirteen steps: C = A * B', A and B contiguous along K, C row-major, sums in f32.
-- From step 2 on, tensor cores multiply; each step changes a field of a table or a few lines that
-- read it. Each step is checked. On a GPU, the table compares its speed with cuBLAS's, sustained
-- and in bursts (run `make bench-tools` first). Usage: cuttle hopper_steps.lua [S [K]]
-- needs sm_90a
package.path = (arg[0]:match "^.*/" or "./") .. "../scripts/bench/?.lua;" .. package.path
local compare = require "data".compare
local on_gpu = device().sm ~= nil
local regimes = on_gpu and require "regimes"
local S = tonumber(arg[1] or (on_gpu and 8192 or 256))
local K = tonumber(arg[2] or arg[1] or (on_gpu and S or 128))
local GROUP = 128                                       -- threads of a warp group
local bK = 64                                           -- 128 bytes, what a swizzled line holds
local k_major = gmma_layout(bf16, "K", 128)

-- {====== Step 1: a thread for each element of C ======

local function by_elements(name)
  return kernel(name, function(A, B, C)
    local i, j = blockIdx.y * 32 + threadIdx.y, blockIdx.x * 32 + threadIdx.x
    local sum = 0.0
    for k in axes(A, 1) do sum = sum + A[{i, k}] * B[{j, k}] end
    C[{i, j}] = cast(sum, bf16)
  end)
end

-- The product of tiles (rows,BLK_K) and (columns,BLK_K) by n warp groups.
local function make_mma(p, n)
  return tiled_mma(("SM90_64x%dx16_F32BF16BF16_SS"):format(p.bN), {n, 1, 1})
end

-- {====== Steps 2 to 4: one warp group does it all ======

local function by_one_group(name, p)
  local bM, bN, stages, mma = p.bM, p.bN, p.stages, make_mma(p, 1)
  return kernel(name, function(A, B, C)
    local sA = shared(bf16, tile_to_shape(k_major, {bM, bK, stages}))    -- (BLK_M,BLK_K,PIPE)
    local sB = shared(bf16, tile_to_shape(k_major, {bN, bK, stages}))    -- (BLK_N,BLK_K,PIPE)
    local full = mbarrier(stages, 1)
    sync_threads()
    local gA = tile(tma_tensor(A), {bM, bK}, {blockIdx.y, _})            -- (BLK_M,BLK_K,k)
    local gB = tile(tma_tensor(B), {bN, bK}, {blockIdx.x, _})            -- (BLK_N,BLK_K,k)
    local gC = tile(C, {bM, bN}, {blockIdx.y, blockIdx.x})               -- (BLK_M,BLK_N)
    local thr = mma:get_slice(threadIdx.x)
    local tCsA, tCsB = thr:partition_A(sA), thr:partition_B(sB)          -- (V,M|N,K,PIPE)
    local tCrC = fragment(f32, mma:partition_shape_C{bM, bN})
    local k_tiles = size(gA, 2)

    local function load(k, slot)
      if threadIdx.x == 0 then
        full[slot]:arrive_expect_tx((bM + bN) * bK * bf16.bytes)
        tma_load(gA(_, _, k), sA(_, _, slot), full[slot])
        tma_load(gB(_, _, k), sB(_, _, slot), full[slot])
      end
    end

    for k = 0, stages - 2 do
      if k < k_tiles then load(k, k) end
    end
    local state = pipeline_state(stages)
    local free = stages - 1
    for k in range(k_tiles) do
      if k + stages - 1 < k_tiles then load(k + stages - 1, free) end
      full[state.slot]:wait(state.parity)
      wgmma_fence()
      gemm(mma, tCsA(_, _, _, state.slot), tCsB(_, _, _, state.slot), tCrC, {accumulate = k > 0})
      wgmma_commit()
      wgmma_wait(0)
      sync_threads()                                    -- all have read: the slot is free
      free = state.slot
      state:advance()
    end
    copy(cast(tCrC, bf16), thr:partition_C(gC))
  end)
end

-- {====== Steps 5 to 13: one warp group loads, two multiply ======

local function by_roles(name, p)
  local bM, bN, stages, mma = p.bM, p.bN, p.stages, make_mma(p, 2)
  local by_matrices = tiled_copy_C(atom("SM90_U32x4_STSM_N", bf16), mma)
  return kernel(name, function(A, B, C)
    local sA = shared(bf16, tile_to_shape(k_major, {bM, bK, stages}))
    local sB = shared(bf16, tile_to_shape(k_major, {bN, bK, stages}))
    local sC = p.by_tma and shared(bf16, tile_to_shape(tile_to_shape(k_major, {64, bN}), {bM, bN}))
    local full, empty = mbarrier(stages, 1), mbarrier(stages, 2)
    sync_threads()
    if p.pdl then
      grid_dependency_wait()
      grid_dependency_launch()
    end
    local gA = tile(tma_tensor(A), {bM, bK}, {_, _})                     -- (BLK_M,BLK_K,m,k)
    local gB = tile(tma_tensor(B), {bN, bK}, {_, _})                     -- (BLK_N,BLK_K,n,k)
    local k_tiles = size(gA, 3)
    local walk = {tiles = {size(gA, 2), size(gB, 2)}, order = p.order or "columns", group = 16}

    if threadIdx.x < GROUP then
      if p.registers then setmaxnreg(p.registers[1]) end
      if threadIdx.x == 0 then
        local state = pipeline_state(stages, {parity = 1})               -- all slots are empty
        for m, n in raster(walk) do
          for k in range(k_tiles) do
            local slot = state.slot
            empty[slot]:wait(state.parity)
            full[slot]:arrive_expect_tx((bM + bN) * bK * bf16.bytes)
            tma_load(gA(_, _, m, k), sA(_, _, slot), full[slot])
            tma_load(gB(_, _, n, k), sB(_, _, slot), full[slot])
            state:advance()
          end
        end
      end
    else
      if p.registers then setmaxnreg(p.registers[2]) end
      local i = threadIdx.x - GROUP
      local group, is_first = shfl_idx(i // GROUP, 0), i % GROUP == 0
      local thr = mma:get_slice(i)
      local tCsA, tCsB = thr:partition_A(sA), thr:partition_B(sB)        -- (V,M|N,K,PIPE)
      local tCrC = fragment(f32, mma:partition_shape_C{bM, bN})
      local state, before = pipeline_state(stages), 0
      for m, n in raster(walk) do
        for k in range(k_tiles) do
          local slot = state.slot
          full[slot]:wait(state.parity)
          wgmma_fence()
          gemm(mma, tCsA(_, _, _, slot), tCsB(_, _, _, slot), tCrC, {accumulate = k > 0})
          wgmma_commit()
          if p.behind then                              -- one product stays under way
            wgmma_wait(1)
            if k > 0 and is_first then empty[before]:arrive() end
            before = slot
          else
            wgmma_wait(0)
            if is_first then empty[slot]:arrive() end
          end
          state:advance()
        end
        if p.behind then
          wgmma_wait(0)
          if is_first then empty[before]:arrive() end
        end
        if p.by_tma then
          local stored, mine = named_barrier(1 + group, GROUP), tile(sC, {64, bN}, {group, 0})
          if is_first then tma_store_wait(0) end
          stored:sync()
          if p.by_matrices then
            local copier = by_matrices:get_slice(i)
            copy(by_matrices, copier:retile_S(cast(tCrC, bf16)), copier:partition_D(sC))
          else
            copy(cast(tCrC, bf16), thr:partition_C(sC))
          end
          fence_proxy_async()
          stored:sync()
          if is_first then
            tma_store(mine, tile(tma_tensor(C), {64, bN}, {2 * m + group, n}))
            tma_store_commit()
            if not p.under_next then tma_store_wait(0) end
          end
        else
          copy(cast(tCrC, bf16), thr:partition_C(tile(C, {bM, bN}, {m, n})))
        end
      end
      if p.under_next and is_first then tma_store_wait(0) end
    end
  end)
end

-- {====== The steps ======

-- The fields of the step before, and what is new.
local function with(before, new)
  local p = {}
  for key, value in pairs(before) do p[key] = value end
  for key, value in pairs(new) do p[key] = value end
  return p
end

local steps = {{"naive", {}}}
local function step(name, new)
  steps[#steps + 1] = {name, with(steps[#steps][2], new)}
end
step("tensor cores", {bM = 64, bN = 64, stages = 1})
step("larger tile", {bM = 128, bN = 128})
step("ring of 4 stages", {stages = 4})
step("roles", {roles = true})
step("256 columns, registers", {bN = 256, stages = 3, registers = {40, 232}})
step("one product behind", {behind = true})             -- hopper_gemm.lua is faster without it
step("C by TMA", {by_tma = true})
step("by stmatrix", {by_matrices = true})
step("persistent", {blocks = 132})
step("stores under products", {under_next = true})
step("squares of tiles", {order = "groups", blocks = 128})
step("launched early", {pdl = true})

-- {====== Running ======

local A, B = randn(bf16, row_major{S, K}), randn(bf16, row_major{S, K})
local C = zeros(bf16, row_major{S, S})
local transposed = reference.matmul(B, A)               -- in memory what a row-major C is
local want = view(transposed, row_major{S, S})
local all_ok = true

-- All of C is compared where it lies, so that the host need not read it.
local function is_right(n)
  if n == S then return compare(C, want).relative < 5e-3 end
  return (allclose(tile(C, {n, n}, {0, 0}), tile(want, {n, n}, {0, 0}),
    {rtol = 1.6e-2, atol = 2e-2}))
end

-- A kernel to be timed, whose first n x n elements must be right.
local function candidate(name, k, launch, n, note)
  fill(C, -1)
  local run = k:prepare(launch)(A, B, C)
  run()
  if not is_right(n) then
    print(("%s: C is wrong"):format(k))
    all_ok = false
  end
  local c = on_gpu and regimes.candidate(name, run) or {name = name, launch = run}
  c.n, c.note = n, note
  return c
end

-- A step: what computes n rows and columns of C, and its tile.
local function prepare(i, name, p)
  local title, internal = ("%2d %s"):format(i, name), "hopper_" .. i
  if not p.bM then                                      -- too slow for all of it
    local n = math.min(S, 1024)
    return candidate(title, by_elements(internal), {grid = {n // 32, n // 32}, block = {32, 32}},
      n, ("32x32, of %dx%d elements"):format(n, n))
  end
  local note = ("%dx%dx%d, %d stages"):format(p.bM, p.bN, bK, p.stages)
  local high, wide = cdiv(S, p.bM), cdiv(S, p.bN)
  if not p.roles then
    local launch = {grid = {wide, high}, block = GROUP}
    return candidate(title, by_one_group(internal, p), launch, S, note)
  end
  local grid = min(high * wide, p.blocks or high * wide)
  local launch = {grid = grid, block = 3 * GROUP, pdl = p.pdl}
  return candidate(title, by_roles(internal, p), launch, S, note)
end

local list, blas = {}, nil
for i, s in ipairs(steps) do list[i] = prepare(i, s[1], s[2]) end
if reference.library(B, A) == "cuBLAS" then
  blas = regimes.candidate("   cuBLAS", function() reference.matmul(B, A, transposed) end)
  blas.n, blas.note = S, ""
  list[#list + 1] = blas
end

-- All in one run and in random order, sustained and in bursts: a warm device is slower. The CPU
-- engine knows no such difference.
local numbers = {sus = {rounds = 2, heat_ms = 500, warm_ms = 125, batch_ms = 250},
                 bur = {rounds = 2, idle = 200, warm = 3, reps = 10}}
for _, regime in ipairs(on_gpu and {"sus", "bur"} or {}) do regimes.time(list, regime, numbers) end
for _, c in ipairs(on_gpu and {} or list) do
  local ms = bench(c.launch, {batches = 1, reps = 1})
  c.ms = {sus = ms, bur = ms}
end

print(("C = A * B', row-major, %dx%dx%d bf16 on %s"):format(S, S, K, device().name))
print(("%-26s %19s %19s"):format("", "sustained", "in bursts"))
print(("%-26s"):format("step") .. ("%10s %9s"):rep(2):format("TFLOP/s", "of cuBLAS", "TFLOP/s",
  "of cuBLAS") .. "  tile")
local function teraflops(ms)
  local x = 2 * S ^ 2 * K / ms * 1e-9
  return (x < 0.1 and "%10.2g" or "%10.1f"):format(x)
end
for _, c in ipairs(list) do
  local line = ("%-26s"):format(c.name)
  for _, regime in ipairs{"sus", "bur"} do
    local whole_ms = c.ms[regime] * (S / c.n) ^ 2
    line = line .. ("%10s %9s"):format(teraflops(whole_ms), blas
      and ("%.3f"):format(blas.ms[regime] / whole_ms) or "-")
  end
  print(line .. "  " .. c.note)
end
print(all_ok and "all correct" or "wrong")
os.exit(all_ok, true)
