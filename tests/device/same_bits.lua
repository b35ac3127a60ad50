-- same_bits.lua: what the kernels compute on the CPU engine and on a CUDA device is the same, bit for bit.
-- Prints TAP; without a device every line is a skip.
local tap = dofile "tests/support/tap.lua"
local check = tap.ok

local has_cuda = #devices() > 1
if not has_cuda then
  tap.skip_all "no CUDA device"
end

device("cpu")
manual_seed(7)

-- Runs `launch(args...)` on copies of the host tensors on both engines; compares all tensors.
local function same(name, k, config, ...)
  local host = {...}
  local function on(where)
    local copies = {}
    for i, a in ipairs(host) do
      copies[i] = type(a) == "userdata" and getmetatable(a) ~= nil and a.to and a:to(where) or a
    end
    k(config)(table.unpack(copies))
    return copies
  end
  local ok, message = pcall(function()
    local c, g = on("cpu"), on("cuda")
    for i, t in ipairs(c) do
      if t ~= host[i] then
        local equal, worst = allclose(t, g[i]:to("cpu"), {rtol = 0, atol = 0})
        if not equal then error("argument " .. i .. ": " .. worst, 0) end
      end
    end
  end)
  check(ok, name, message)
end

local function matmul(bM, bN, bK, tC)
  local tA = layout{32, 8}
  local sA_layout, sB_layout = layout({bM, bK}, {1, bM + 1}), layout({bN, bK}, {1, bN + 1})
  return kernel("matmul", function(A, B, C)
    local sA, sB = shared(A.dtype, sA_layout), shared(B.dtype, sB_layout)
    local gA, gB = tile(A, {bM, bK}, {blockIdx.x, _}), tile(B, {bN, bK}, {blockIdx.y, _})
    local gC = tile(C, {bM, bN}, {blockIdx.x, blockIdx.y})
    local tAgA, tAsA = parallelize(gA, tA, threadIdx.x), parallelize(sA, tA, threadIdx.x)
    local tBgB, tBsB = parallelize(gB, tA, threadIdx.x), parallelize(sB, tA, threadIdx.x)
    local tCsA = parallelize(sA, tC, threadIdx.x, {1, _})
    local tCsB = parallelize(sB, tC, threadIdx.x, {_, 1})
    local tCgC = parallelize(gC, tC, threadIdx.x)
    local tCrC = fragment_like(tCgC)
    clear(tCrC)
    for k in axes(tAgA, 2) do
      copy(tAgA(_, _, k), tAsA)
      copy(tBgB(_, _, k), tBsB)
      cp_async_wait(0)
      sync_threads()
      gemm(tCsA, tCsB, tCrC)
      sync_threads()
    end
    copy(tCrC, tCgC)
  end)
end

local mm = {grid = {4, 2}, block = 256}
same("matmul f32 512x256x64", matmul(128, 128, 8, layout{16, 16}), mm, randn(f32, {512, 64}),
  randn(f32, {256, 64}), zeros(f32, {512, 256}))
same("matmul f64 256x128x64", matmul(64, 64, 8, layout{16, 16}), mm, randn(f64, {256, 64}),
  randn(f64, {128, 64}), zeros(f64, {256, 128}))
same("matmul i32 256x128x64", matmul(64, 64, 8, layout{16, 16}), mm, rand(i32, {256, 64}, -9, 9),
  rand(i32, {128, 64}, -9, 9), zeros(i32, {256, 128}))

-- Arithmetic, element by element, each on values that try its corners.
local n = 1024
local one = {grid = 4, block = 256}
local binary = {
  add = function(a, b) return a + b end,
  sub = function(a, b) return a - b end,
  mul = function(a, b) return a * b end,
  div = function(a, b) return a / b end,
  fma = function(a, b) return a * b + a end,
  fms = function(a, b) return a - a * b end,
  floordiv = function(a, b) return a // b end,
  floormod = function(a, b) return a % b end,
  min = function(a, b) return min(a, b) end,
  max = function(a, b) return max(a, b) end,
  less = function(a, b) return where(a < b, a, b) end,
  choose = function(a, b) return a < b and a * 2 or b - 1 end,
}
local int_only = {
  band = function(a, b) return a & b end,
  bxor = function(a, b) return a ~ b end,
  shl = function(a, b) return a << (b & 63) end,
  shr = function(a, b) return a >> (b & 63) end,
  neg = function(a, b) return -a - ~b end,
}
local unary = {
  sqrt = function(a) return sqrt(abs(a)) end,
  floor = function(a) return floor(a) + ceil(a) end,
  to_i32 = function(a) return cast(cast(a, i32), f32) end,
  to_i64 = function(a) return cast(cast(a * 1e12, i64), f32) end,
}

local function elementwise(op)
  return kernel("elementwise", function(x, y, z)
    local i = blockIdx.x * blockDim.x + threadIdx.x
    z[i] = op(x[i], y[i])
  end)
end

local function sorted(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = name end
  table.sort(names)
  return ipairs(names)
end

for _, dtype in ipairs{f32, f64, i32, i64} do
  local is_int = dtype == i32 or dtype == i64
  local x = is_int and rand(dtype, {n}, -1000, 1000) or randn(dtype, {n})
  local y = is_int and rand(dtype, {n}, 1, 50) or randn(dtype, {n})
  for _, name in sorted(binary) do
    if not (is_int and name == "div") then
      same(name .. " " .. tostring(dtype), elementwise(binary[name]), one, x, y, zeros(dtype, {n}))
    end
  end
  for _, name in sorted(int_only) do
    if is_int then
      local out = zeros(dtype, {n})
      same(name .. " " .. tostring(dtype), elementwise(int_only[name]), one, x, y, out)
    end
  end
end
for _, name in sorted(unary) do
  same(name .. " f32", elementwise(unary[name]), one, randn(f32, {n}), randn(f32, {n}),
    zeros(f32, {n}))
end

-- A loop whose last step passes the end of int.
same("last step", kernel("last_step", function(y, last)
  for i in range(blockIdx.x * blockDim.x + threadIdx.x, last, 1 << 30) do y[i % 1024] = i end
end), one, zeros(i32, {n}), (1 << 31) - 1)
tap.done()
