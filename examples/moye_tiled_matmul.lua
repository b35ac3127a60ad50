-- moye_tiled_matmul.lua: MoYe's page on tiled copies and tiled MMAs. First six threads copy a small
-- array, step by step on the host. Then C = A * B' as in moye_matmul.lua: a tiled copy and a tiled
-- MMA partition it, while the next tile travels through registers. Copies have several widths, and
-- are coalesced or not. Usage: cuttle moye_tiled_matmul.lua [M N K]
local beside_blas = require "cuttle.beside_blas"

-- {====== A tiled copy of 4x9 elements by six threads, each of 2x3 ======

local src = view(arange(f64, 36):to("cpu"), layout{4, 9})
local dst = zeros(f64, {4, 9}):to("cpu")
local six = tiled_copy(atom("UniversalCopy<u64>", f64), row_major{2, 3}, layout{2, 3})
print("who copies what:")
for i = 0, 3 do
  local row = {}
  for j = 0, 8 do row[j + 1] = right_inverse(six.layout_tv)(i + 4 * j) % 6 end -- (thread, value)
  print("  " .. table.concat(row, " "))
end
for i = 0, six.threads - 1 do
  local thr = six:get_slice(i)
  local mine, there = thr:partition_S(src), thr:partition_D(dst)    -- (CPY,CPY_M,CPY_K)
  copy(mine, there)
  if i == 1 then print(("thread 1: %s, and so far\n%s"):format(mine.layout, dst)) end
end
local all_ok = allclose(src, dst)

-- {====== The matrix product ======

local bM, bN, bK = 128, 128, 8
local sA_layout = layout({bM, bK}, {1, bM + 1})     -- padded: no bank conflicts of reads
local sB_layout = layout({bN, bK}, {1, bN + 1})
local mma = tiled_mma("UniversalFMA<f32>", {32, 8})

local function make_matmul(copy_a, copy_b)
  return kernel("tiled_matmul", function(A, B, C)
    local sA, sB = shared(A.dtype, sA_layout), shared(B.dtype, sB_layout)
    local gA = tile(A, {bM, bK}, {blockIdx.x, _})                   -- (bM,bK,k)
    local gB = tile(B, {bN, bK}, {blockIdx.y, _})                   -- (bN,bK,k)
    local gC = tile(C, {bM, bN}, {blockIdx.x, blockIdx.y})          -- (bM,bN)

    local thr_copy_a, thr_copy_b = copy_a:get_slice(threadIdx.x), copy_b:get_slice(threadIdx.x)
    local tAgA = thr_copy_a:partition_S(gA)                         -- (CPY,CPY_M,CPY_K,k)
    local tAsA = thr_copy_a:partition_D(sA)                         -- (CPY,CPY_M,CPY_K)
    local tBgB = thr_copy_b:partition_S(gB)                         -- (CPY,CPY_N,CPY_K,k)
    local tBsB = thr_copy_b:partition_D(sB)                         -- (CPY,CPY_N,CPY_K)
    local tArA, tBrB = fragment_like(tAsA), fragment_like(tBsB)

    local thr_mma = mma:get_slice(threadIdx.x)
    local tCsA = thr_mma:partition_A(sA)                            -- (MMA,MMA_M,MMA_K)
    local tCsB = thr_mma:partition_B(sB)                            -- (MMA,MMA_N,MMA_K)
    local tCgC = thr_mma:partition_C(gC)                            -- (MMA,MMA_M,MMA_N)
    local tCrC = thr_mma:fragment_C(tCgC)
    clear(tCrC)

    local k_max = size(tAgA, 3)
    copy(copy_a, tAgA(_, _, _, 0), tArA)
    copy(copy_b, tBgB(_, _, _, 0), tBrB)
    for k in range(k_max) do
      sync_threads()                                                -- the tile before is used up
      copy(tArA, tAsA)
      copy(tBrB, tBsB)
      sync_threads()
      local k_next = where(k + 1 < k_max, k + 1, k)
      copy(copy_a, tAgA(_, _, _, k_next), tArA)                     -- meanwhile
      copy(copy_b, tBgB(_, _, _, k_next), tBrB)
      gemm(mma, tCsA, tCsB, tCrC)
    end
    copy(tCrC, tCgC)
  end)
end

-- The last number: how many neighbouring elements a thread takes. If these are more than an access
-- has, the threads of a warp are no neighbours in it.
local copies = {
  {"4 bytes", "UniversalCopy<u32>", 1},
  {"8 bytes, not coalesced", "UniversalCopy<u64>", 4},
  {"8 bytes", "UniversalCopy<u64>", 2},
  {"16 bytes", "UniversalCopy<u128>", 4},
}

local on_gpu = device().sm ~= nil
local M = tonumber(arg[1] or (on_gpu and 2048 or 256))
local N = tonumber(arg[2] or (on_gpu and 2048 or 128))
local K = tonumber(arg[3] or (on_gpu and 256 or 64))
local A, B, C = rand(f32, {M, K}), rand(f32, {N, K}), zeros(f32, {M, N})
for _, variant in ipairs(copies) do
  local name, atom_name, values = table.unpack(variant)
  local by = tiled_copy(atom(atom_name, f32), layout{32, 8}, layout{values, 1})
  local launch = make_matmul(by, by):prepare{
    grid = {cdiv(M, bM), cdiv(N, bN)}, block = mma.threads}(A, B, C)
  clear(C)
  all_ok = beside_blas("tiled_matmul, copies of " .. name, launch, A, B, C) and all_ok
end
os.exit(all_ok, true)
