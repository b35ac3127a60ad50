-- libraries.lua: products of cuBLAS and of each of cuBLASLt's algorithms as functions that launch
-- them at least cost, in a queue of their own (bench_tools.c): who calls waits between the queue's
-- work and the product's.
local ct = require "cuttle"
local tools = require "tools"
local M = {}

-- The libraries' numbers of an element type, of what sums are kept in, of alpha and beta;
-- `only_lt`: cublasGemmEx does not multiply them.
local R_32F <const>, R_64F <const>, R_32I <const> = 0, 1, 10
local COMPUTE_32F <const>, COMPUTE_64F <const>, COMPUTE_32I <const>, COMPUTE_TF32 <const> =
  68, 70, 72, 77
local kinds <const> = {
  f64 = { data = R_64F, compute = COMPUTE_64F, scale = R_64F, results = { f64 = true } },
  f32 = { data = R_32F, compute = COMPUTE_32F, scale = R_32F, results = { f32 = true } },
  tf32 = { data = R_32F, compute = COMPUTE_TF32, scale = R_32F,
           results = { f32 = true, tf32 = true } },
  f16 = { data = 2, compute = COMPUTE_32F, scale = R_32F, results = { f32 = true, f16 = true } },
  bf16 = { data = 14, compute = COMPUTE_32F, scale = R_32F, results = { f32 = true, bf16 = true } },
  i8 = { data = 3, compute = COMPUTE_32I, scale = R_32I, results = { i32 = true } },
  i32 = { data = R_32I, results = {} },
  f8e4m3 = { data = 28, compute = COMPUTE_32F, scale = R_32F, only_lt = true,
             results = { f32 = true, f16 = true, bf16 = true } },
}

local queue

--- The queue of the current device; raises where there is none.
function M.queue()
  queue = queue or assert(tools.queue())
  return queue
end

-- {====== Problems ======

-- The address of a tensor's element 0: what a kernel in CUDA C gets for it.
local address_kernel

local function address_of(t)
  address_kernel = address_kernel or ct.cuda_kernel("address_of", [[
extern "C" __global__ void address_of(const void* p, unsigned long long* out) {
  *out = (unsigned long long)p;
}]])
  local out <close> = ct.zeros(ct.i64, 1)
  address_kernel{grid = 1, block = 1}(t, out)
  return out[0]
end

-- Whether a dense matrix is row-major, and the elements between its columns or rows.
local function lines_of(t)
  local stride = ct.stride(t)
  local is_row_major = stride[1] ~= 1
  return is_row_major, math.max(is_row_major and stride[1] or stride[2],
    ct.size(t, is_row_major and 1 or 0))
end

-- C (M,N) = A (M,K) * B (N,K)' as the libraries take it; nil where their types are none of theirs.
-- C is column-major.
local function problem(A, B, C, with_lt)
  local kind, result = kinds[A.dtype.name], kinds[C.dtype.name]
  if not (kind and kind.results[C.dtype.name]) or kind.only_lt and not with_lt then return nil end
  local a_is_row_major, lda = lines_of(A)
  local b_is_row_major, ldb = lines_of(B)
  return { m = ct.size(A, 0), n = ct.size(B, 0), k = ct.size(A, 1), lda = lda, ldb = ldb,
           ldc = ct.size(C, 0), trans_a = a_is_row_major, trans_b = not b_is_row_major,
           type = kind.data, result = result.data, compute = kind.compute, scale = kind.scale,
           A = address_of(A), B = address_of(B), C = address_of(C) }
end

-- {====== Launches ======

-- What a function of the tools gives: its failures, too, are nil and why.
local function softly(f, ...)
  local ok, result, why = pcall(f, ...)
  if ok then return result, why end
  return nil, result
end

local is_loaded

-- Has the product load cuBLAS, wherever it finds it: then the tools find it by its name.
local function load_cublas()
  if is_loaded then return end
  local one <close> = ct.zeros(ct.f32, {1, 1})
  is_loaded = ct.reference.library(one, one) == "cuBLAS"
end

--- A function that launches cublasGemmEx's default on C = A * B', or nil and why not.
function M.cublas(A, B, C)
  local p = problem(A, B, C, false)
  if not p then return nil, "cublasGemmEx has no product of these types" end
  load_cublas()
  return softly(M.queue().cublas, M.queue(), p)
end

--- A list of functions that launch each of the algorithms that cuBLASLt's heuristics name, the
--- best-liked first, or nil and why not. Options: algorithms, workspace (bytes), fast_sums.
function M.cublas_lt(A, B, C, options)
  local p = problem(A, B, C, true)
  if not p then return nil, "cublasLt has no product of these types" end
  load_cublas()
  for key, value in pairs(options) do p[key] = value end
  return softly(M.queue().cublas_lt, M.queue(), p)
end

--- The same launch between two waits, so that it is ordered with the product's work.
function M.alone(launch)
  return function()
    ct.synchronize()
    launch()
    M.queue():wait()
  end
end

return M
