-- data.lua: what benchmarks do with data on the device itself, so that a comparison of all
-- of a large result takes no copy to the host: random normal elements, poison, and how two results
-- differ. Works on both engines.
local ct = require "cuttle"
local threadIdx, blockIdx, blockDim, gridDim = ct.threadIdx, ct.blockIdx, ct.blockDim, ct.gridDim
local range, size, cast, max, abs, sqrt, log, cos =
  ct.range, ct.size, ct.cast, ct.max, ct.abs, ct.sqrt, ct.log, ct.cos
local block_reduce, atomic_add, atomic_max = ct.block_reduce, ct.atomic_add, ct.atomic_max
local warp_reduce = ct.warp_reduce
local u32, f32, f64 = ct.u32, ct.f32, ct.f64
local M = {}

local THREADS <const> = 256

--- Has the type fractions?
function M.is_float(dtype) return dtype.name:find "^[iu]%d" == nil end

-- Blocks enough to fill a large device, each with a part of the n elements.
local function grid_of(n)
  return math.min(ct.cdiv(n, 4 * THREADS), ct.device().n_sms and 2048 or 8)
end

-- The tensor as n elements in a row; it is dense.
local function flat(t) return ct.view(t, ct.cosize(t.layout)) end

-- {====== Random normal elements ======

-- A step of PCG: from a counter to bits without order.
local function hash(x)
  local state = x * u32(747796405) + u32(2891336453)
  local word = ((state >> ((state >> u32(28)) + u32(4))) ~ state) * u32(277803737)
  return (word >> u32(22)) ~ word
end

local function unit(bits) return (cast(bits >> u32(8), f32) + 0.5) * 2.0 ^ -24 end

-- By Box and Muller, from two hashes of the element's index.
local function normal_of(i, seed)
  local a = hash(cast(i, u32) ~ seed)
  local b = hash(a ~ u32(0x9e3779b9))
  return sqrt(-2.0 * log(unit(a))) * cos(unit(b) * (2 * math.pi))
end

local fills = {} -- kernels by element type

local function fill_kernel(dtype)
  local scale = M.is_float(dtype) and 1.0 or 16.0
  fills[dtype] = fills[dtype] or ct.kernel("normal", function(x, seed)
    for i in range(blockIdx.x * blockDim.x + threadIdx.x, size(x), gridDim.x * blockDim.x) do
      x[i] = cast(normal_of(i, seed) * scale, x.dtype)
    end
  end)
  return fills[dtype]
end

--- A tensor of n elements of mean 0 and deviation 1, of integers 16; another for each seed.
function M.normal(dtype, n, seed)
  local t = ct.tensor(dtype, n)
  fill_kernel(dtype){grid = grid_of(n), block = THREADS}(t, u32(seed * 7919 + 1))
  return t
end

local uniform_kernel = ct.kernel("uniform", function(x, seed)
  for i in range(blockIdx.x * blockDim.x + threadIdx.x, size(x), gridDim.x * blockDim.x) do
    x[i] = cast(2.0 * unit(hash(cast(i, u32) ~ hash(seed))) - 1.0, x.dtype)
  end
end)

--- Fills a dense tensor with numbers from -1 to 1, others for each seed; returns it. They have no
--- period: sums of what repeats have few values, and one value counts for many elements.
function M.uniform(t, seed)
  uniform_kernel{grid = grid_of(size(t)), block = THREADS}(flat(t), u32(seed))
  return t
end

-- {====== Poison ======

local bits_of <const> = { [8] = "u8", [16] = "u16", [32] = "u32", [64] = "u64" }

local function as_bits(t) return ct.recast(flat(t), ct[bits_of[t.dtype.bits]]) end

local poison_kernel = ct.kernel("poison", function(x)
  for i in range(blockIdx.x * blockDim.x + threadIdx.x, size(x), gridDim.x * blockDim.x) do
    x[i] = cast(u32(0xffffffff), x.dtype)
  end
end)

--- Sets all bits of a dense tensor: NaN in each of the float types.
function M.poison(t)
  local x = as_bits(t)
  poison_kernel{grid = grid_of(size(x)), block = THREADS}(x)
end

-- {====== Differences ======

local compare_kernel = ct.kernel("compare", function(a_bits, b_bits, a, b, count, largest, squares)
  local n_unequal, most, sum, sum_b = u32(0), f32(0.0), f64(0.0), f64(0.0)
  for i in range(blockIdx.x * blockDim.x + threadIdx.x, size(a), gridDim.x * blockDim.x) do
    if a_bits[i] ~= b_bits[i] then
      local d = cast(a[i], f64) - cast(b[i], f64)
      n_unequal = n_unequal + u32(1)
      most = max(most, cast(abs(d), f32))
      sum = sum + d * d
    end
    local v = cast(b[i], f64)
    sum_b = sum_b + v * v
  end
  local all, top = block_reduce(n_unequal, "add"), block_reduce(most, "max")
  local all_sum, all_b = block_reduce(sum, "add"), block_reduce(sum_b, "add")
  if threadIdx.x == 0 then
    atomic_add(count, 0, all)
    atomic_max(largest, 0, top)
    atomic_add(squares, 0, all_sum)
    atomic_add(squares, 1, all_b)
  end
end)

--- How result a differs from b, dense tensors of one type and size: {n =, unequal = elements whose
--- bits differ, largest = difference, relative = root of the sum of squares, over that of b}. A NaN
--- on one side makes `relative` NaN.
function M.compare(a, b)
  local count, largest, squares = ct.zeros(u32, 1), ct.zeros(f32, 1), ct.zeros(f64, 2)
  local x, y = flat(a), flat(b)
  local n = size(x)
  compare_kernel{grid = grid_of(n), block = THREADS}(as_bits(a), as_bits(b), x, y, count, largest,
    squares)
  return { n = n, unequal = count[0], largest = largest[0],
           relative = squares[1] > 0 and math.sqrt(squares[0] / squares[1]) or squares[0] }
end

-- {====== Errors of products ======

local WARP <const>, SAMPLES <const> = 32, 4096

-- Each warp takes one element of C (M,N) = A (M,K) * B (N,K)' and sums its products in f64.
local sample_kernel = ct.kernel("sample", function(A, B, C, squares)
  local warp = blockIdx.x * (THREADS // WARP) + threadIdx.x // WARP
  local m = hash(cast(warp, u32)) % cast(size(C, 0), u32)
  local n = hash(~cast(warp, u32)) % cast(size(C, 1), u32)
  local sum = f64(0.0)
  for k in range(threadIdx.x % WARP, size(A, 1), WARP) do
    sum = sum + cast(A[{m, k}], f64) * cast(B[{n, k}], f64)
  end
  local exact = warp_reduce(sum, "add")
  if threadIdx.x % WARP == 0 then
    local d = cast(C[{m, n}], f64) - exact
    atomic_add(squares, 0, d * d)
    atomic_add(squares, 1, exact * exact)
  end
end)

--- How far C is from A * B' in double precision, over 4096 elements: root of the sum of squares,
--- over that of the exact ones.
function M.product_error(A, B, C)
  local squares = ct.zeros(f64, 2)
  sample_kernel{grid = SAMPLES * WARP // THREADS, block = THREADS}(A, B, C, squares)
  return math.sqrt(squares[0] / squares[1])
end

return M
