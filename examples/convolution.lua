-- convolution.lua: a convolution is a matrix product whose first operand is a layout of the images:
-- pixels of the result by taps of the filter. Windows overlap, and so do the strides of the two
-- modes; step and dilation of the convolution are factors of these strides. Nothing is copied, and
-- the kernel is an ordinary matrix product, except that a tile has a part of each nested mode.
-- Padding is a border of zeros around the images; guard handles sizes that the tiles do not divide.
-- The operator `matmul` takes the same tensors unchanged.
-- Usage: cuttle convolution.lua [images height width channels filters]
local on_gpu = device().sm ~= nil
local function number(i, gpu, cpu) return tonumber(arg[i] or (on_gpu and gpu or cpu)) end
local n_images, height, width = number(1, 32, 2), number(2, 56, 9), number(3, 56, 11)
local n_channels, n_filters = number(4, 64, 6), number(5, 128, 20)

-- {====== The product ======

local bM, bN, bK = 64, 64, 8
local mma = tiled_mma("UniversalFMA<f32>", row_major{8, 16},
                      {layout({8, 8}, {8, 1}), layout({16, 4}, {4, 1})})
local copies = tiled_copy(atom("UniversalCopy<u32>", f32), row_major{16, 8})

-- C = A * B' by tiles of tM x tK of A, which are bM and bK, or tuples of as many elements.
local function make_gemm(name, tM, tK)
  return kernel(name, function(A, B, C)
    local sA = shared(f32, layout({bM, bK}, {1, bM + 4}))
    local sB = shared(f32, layout({bN, bK}, {1, bN + 4}))
    local gA = tile(guard(A), {tM, tK}, {blockIdx.x, _})            -- (bM,bK,k)
    local gB = tile(guard(B), {bN, tK}, {blockIdx.y, _})            -- (bN,bK,k)
    local gC = tile(guard(C), {tM, bN}, {blockIdx.x, blockIdx.y})   -- (bM,bN)
    local thr_copy, thr_mma = copies:get_slice(threadIdx.x), mma:get_slice(threadIdx.x)
    local tAgA, tAsA = thr_copy:partition_S(gA), thr_copy:partition_D(sA)
    local tBgB, tBsB = thr_copy:partition_S(gB), thr_copy:partition_D(sB)
    local tCsA, tCsB = thr_mma:partition_A(sA), thr_mma:partition_B(sB)
    local tCgC = thr_mma:partition_C(gC)
    local tCrC = thr_mma:fragment_C(tCgC)
    clear(tCrC)
    for k in axes(tAgA, 3) do
      copy(tAgA(_, _, _, k), tAsA)
      copy(tBgB(_, _, _, k), tBsB)
      cp_async_wait(0)
      sync_threads()
      gemm(mma, tCsA, tCsB, tCrC)
      sync_threads()
    end
    copy(select(tCrC, 0, 2, 1), select(tCgC, 0, 2, 1))              -- along N, as C lies
  end)
end

local product = make_gemm("product", bM, bK)
local convolution = make_gemm("convolution", {8, 8, 1}, {bK, 1, 1}) -- 8 x 8 pixels, 8 channels

-- {====== The layouts ======

-- x is (channel,column,row,image), the result ((q,p,image),(channel,s,r)): what is x at column
-- q * step + s * dilation and row p * step + r * dilation.
local function im2col(x, Q, P, c)
  local channel, column, row, image = table.unpack(x.stride)
  return layout({{Q, P, size(x, 3)}, {size(x, 0), c.S, c.R}},
                {{column * c.step, row * c.step, image},
                 {channel, column * c.dilation, row * c.dilation}})
end

-- {====== Running ======

-- x with a border of zeros of `pad` on each side, as what fills it leaves it.
local function padded_images(pad)
  local x = rand(f32, {n_channels, width + 2 * pad, height + 2 * pad, n_images})
  for i = 0, pad - 1 do
    clear(x(_, i, _, _))
    clear(x(_, width + 2 * pad - 1 - i, _, _))
    clear(x(_, _, i, _))
    clear(x(_, _, height + 2 * pad - 1 - i, _))
  end
  return x
end

-- An element of the result as the sum over its window, in double precision.
local function direct(x, w, q, p, image, filter, c)
  local sum = 0.0
  for r = 0, c.R - 1 do
    for s = 0, c.S - 1 do
      for ch = 0, n_channels - 1 do
        sum = sum + x[{ch, q * c.step + s * c.dilation, p * c.step + r * c.dilation, image}]
          * w[{ch, s, r, filter}]
      end
    end
  end
  return sum
end

-- Compares y, or on a GPU some of its elements, with sums that are made here.
local function check(x, w, y, c)
  x, w, y = x:to("cpu"), w:to("cpu"), y:to("cpu")
  for i = 0, size(y) - 1, math.max(1, size(y) // 2000) do
    local filter, q, p, image = table.unpack(idx2crd(i, shape(y)))
    local want, got = direct(x, w, q, p, image, filter, c), y[i]
    if math.abs(got - want) > 1e-4 * want then
      return ("filter %d at (%d,%d) of image %d is %g, expected %g"):format(filter, q, p, image,
        got, want)
    end
  end
end

local all_ok = true
local function run(c)
  local function extent(n, taps)
    return (n + 2 * c.pad - c.dilation * (taps - 1) - 1) // c.step + 1
  end
  local Q, P = extent(width, c.S), extent(height, c.R)
  local x, w = padded_images(c.pad), rand(f32, {n_channels, c.S, c.R, n_filters})
  local y = full(f32, {n_filters, Q, P, n_images}, -1)
  local A = view(x, im2col(x.layout, Q, P, c))
  local B = select(group_modes(w, 0, 3), 1, 0)      -- (filter,(channel,s,r))
  local C = select(group_modes(y, 1, 4), 1, 0)      -- ((q,p,image),filter)
  local n_tiles = size(layout(cdiv({Q, P, n_images}, {8, 8, 1})))
  local launch = convolution:prepare{
    grid = {n_tiles, cdiv(n_filters, bN)}, block = mma.threads}(A, B, C)
  launch()
  local wrong = check(x, w, y, c)
  all_ok = all_ok and not wrong
  print(("%dx%d taps, step %d, padding %d, dilation %d: %s"):format(c.S, c.R, c.step, c.pad,
    c.dilation, wrong or "correct"))
  local ms = bench(launch)
  print(("  %.4f ms, %.1f GFLOP/s; A is %s"):format(ms, 2 * size(C) * size(A, 1) / ms * 1e-6,
    A.layout))
  clear(y)
  matmul(A, B, C)
  wrong = check(x, w, y, c)
  all_ok = all_ok and not wrong
  ms = bench((require "cuttle.matmul".prepare(A, B, C)))
  print(("  by matmul: %s, %.4f ms, %.1f GFLOP/s"):format(wrong or "correct", ms,
    2 * size(C) * size(A, 1) / ms * 1e-6))
end

print(("%d images of %dx%dx%d, %d filters, f32 on %s"):format(n_images, width, height, n_channels,
  n_filters, device().name))
run{S = 3, R = 3, step = 1, pad = 1, dilation = 1}
run{S = 3, R = 3, step = 2, pad = 1, dilation = 1}
run{S = 3, R = 2, step = 1, pad = 2, dilation = 2}
run{S = 1, R = 1, step = 1, pad = 0, dilation = 1}

local A, B, C = rand(f32, {100, 40}), rand(f32, {72, 40}), zeros(f32, row_major{100, 72})
product{grid = cdiv({100, 72}, {bM, bN}), block = mma.threads}(A, B, C)
local ok, worst = allclose(C, reference.matmul(A, B))
print("a product of matrices by the same kernel: " .. (ok and "correct" or worst))
os.exit(ok and all_ok, true)
