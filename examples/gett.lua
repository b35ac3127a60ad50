-- gett.lua: the tensor contraction at the end of CuTe's gemm tutorial. The kernel of sgemm_1, line
-- for line, multiplies tensors whose mode M is (m0,m1); only the problem's layouts and the tile
-- (64,2) of that mode show this. NT: m0 and N are contiguous in A and B; TN: K is.
-- Usage: cuttle gett.lua [m0 m1 N K] [NT|TN]
local beside_blas = require "cuttle.beside_blas"
local bM, bN, bK = {64, 2}, 128, 8
local tC = layout{16, 16}
local variants = {
  NT = {sA = layout{bM, bK}, sB = layout{bN, bK}, tA = layout{32, 8}, tB = layout{32, 8}},
  TN = {sA = row_major{bM, bK}, sB = row_major{bN, bK},
        tA = row_major{32, 8}, tB = row_major{32, 8}},
}

local function make_gemm(v)
  local sA_layout, sB_layout, tA, tB = v.sA, v.sB, v.tA, v.tB
  return kernel("gett", function(alpha, A, B, beta, C)
    local gA = tile(A, {bM, bK}, {blockIdx.x, _})                 -- (BLK_M,BLK_K,k)
    local gB = tile(B, {bN, bK}, {blockIdx.y, _})                 -- (BLK_N,BLK_K,k)
    local gC = tile(C, {bM, bN}, {blockIdx.x, blockIdx.y})        -- (BLK_M,BLK_N)
    local sA = shared(A.dtype, sA_layout)                         -- (BLK_M,BLK_K)
    local sB = shared(B.dtype, sB_layout)                         -- (BLK_N,BLK_K)

    local tAgA = parallelize(gA, tA, threadIdx.x)                 -- (THR_M,THR_K,k)
    local tAsA = parallelize(sA, tA, threadIdx.x)                 -- (THR_M,THR_K)
    local tBgB = parallelize(gB, tB, threadIdx.x)                 -- (THR_N,THR_K,k)
    local tBsB = parallelize(sB, tB, threadIdx.x)                 -- (THR_N,THR_K)
    local tCsA = parallelize(sA, tC, threadIdx.x, {1, _})         -- (THR_M,BLK_K)
    local tCsB = parallelize(sB, tC, threadIdx.x, {_, 1})         -- (THR_N,BLK_K)
    local tCgC = parallelize(gC, tC, threadIdx.x)                 -- (THR_M,THR_N)
    local tCrC = fragment_like(tCgC)
    clear(tCrC)

    for k_tile in axes(tAgA, 2) do
      copy(tAgA(_, _, k_tile), tAsA)
      copy(tBgB(_, _, k_tile), tBsB)
      cp_async_commit()
      cp_async_wait(0)
      sync_threads()
      gemm(tCsA, tCsB, tCrC)
      sync_threads()
    end
    axpby(alpha, tCrC, beta, tCgC)
  end)
end

local on_gpu = device().sm ~= nil
local m0 = tonumber(arg[1] or (on_gpu and 640 or 64))
local m1 = tonumber(arg[2] or (on_gpu and 8 or 4))
local N = tonumber(arg[3] or (on_gpu and 5120 or 256))
local K = tonumber(arg[4] or (on_gpu and 4096 or 64))

-- Between the columns of m0 there is room, so that (m0,m1) is no single mode.
local function strides_of_A(name)
  if name == "NT" then return {{1, m0 + 4}, (m0 + 4) * m1} end
  return {{K, K * (m0 + 4)}, 1}
end

local function run(name)
  local order = name == "NT" and col_major or row_major
  local A = rand(f32, layout({{m0, m1}, K}, strides_of_A(name)))
  local C = zeros(f32, layout({{m0, m1}, N}, {{1, m0 + 4}, (m0 + 4) * m1}))
  local B, gemm_device = rand(f32, order{N, K}), make_gemm(variants[name])
  local grid = {size(cdiv({m0, m1}, bM)), cdiv(N, bN)}
  local launch = gemm_device:prepare{grid = grid, block = size(tC)}(1.0, A, B, 0.0, C)
  local flat = zeros(f32, order{m0 * m1, K})            -- as a matrix, for cuBLAS
  copy(A, flat)
  local ok = beside_blas("gett " .. name, launch, flat, B, C)
  clear(C)                                              -- and by the operator, as it is
  return beside_blas("matmul " .. name, require "cuttle.matmul".prepare(A, B, C), flat, B, C) and ok
end

local all_ok = true
for _, name in ipairs(arg[5] and {arg[5]} or {"NT", "TN"}) do all_ok = run(name) and all_ok end
os.exit(all_ok, true)
