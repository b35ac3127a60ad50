-- needs sm_90
-- Products with packed weights by wgmma: numbers are exact, so each element is the rounded sum.
local packed = require "cuttle.packed_weights"
local formats = require "cuttle.packed_formats"
local operator = require "cuttle.matmul"
local here = zeros(f32, 1).device
local function host(t) return here == "cpu" and t or t:to("cpu") end
local function random(t, low, high, rows, columns)
  local x = zeros(t, row_major{rows, columns}):to("cpu")
  local r = rand(i32, rows * columns, low, high):to("cpu")
  for i = 0, rows * columns - 1 do x[{i // columns, i % columns}] = r[i] end
  return x
end

local function try(name, m, n, k, group, T, has_zeros, config, scale_type)
  local codes = random(u8, 0, 1 << formats.formats[name].bits, n, k):to(here)
  local scales = random(scale_type or T, 1, 3, n, k // group):to(here)
  local zero = has_zeros and random(u8, 0, 16, n, k // group):to(here) or nil
  local w = packed.pack_weights(codes, {type = name, scales = scales, zero_points = zero})
  local X = random(T, -2, 3, m, k):to(here)
  local how = {bias = ones(f32, n), alpha = 0.5, config = config,
               scale_a = T.bits == 8 and full(f32, m, 2.0) or nil,
               epilogue = function(v, i, j) return v + i - j end}
  local out = T.bits == 8 and bf16 or T
  local C, factor = zeros(out, row_major{m, n}), T.bits == 8 and 1.0 or 0.5
  local _, which = operator.prepare(X, w, C, how)
  matmul(X, w, C, how)
  local function wide(t) return reference.cast(host(t), f64) end
  local sums = reference.matmul(wide(X), wide(w:dequantize(out)))
  for i = 0, m - 1 do
    for j = 0, n - 1 do sums[{i, j}] = factor * sums[{i, j}] + 1 + i - j end
  end
  print(which, reference.difference(host(C), reference.cast(sums, out)))
end
try("u4", 70, 136, 256, 64, bf16, true, {groups = 1, columns = 64})
try("u4", 40, 128, 384, 128, f16, false, {groups = 2, columns = 32, stages = 2})
try("u8", 33, 72, 128, 32, bf16, false, {groups = 1, columns = 64})
try("f4e2m1", 260, 64, 128, 32, f16, false, {groups = 1, columns = 256, depth = 4})
try("u4", 70, 136, 512, 64, bf16, true, {groups = 1, columns = 64, k_blocks = 2})
try("u8", 130, 264, 256, 128, f16, false, {groups = 2, columns = 128, k_blocks = 2})
try("u4", 70, 72, 512, 128, bf16, true, {groups = 1, columns = 64, turn = 4, stages = 4, depth = 4})
try("u8", 40, 136, 1024, 32, f16, true, {groups = 2, columns = 64, k_blocks = 2, turn = 4,
  stages = 2, depth = 4})
-- expect: packed hopper 64x64x64, u4	nil
-- expect: packed hopper 128x32x64, u4	nil
-- expect: packed hopper 64x64x64, u8	nil
-- expect: packed hopper 64x256x64, f4e2m1	nil
-- expect: packed hopper 64x64x64, u4, K in 2	nil
-- expect: packed hopper 128x128x64, u8, K in 2	nil
-- expect: packed hopper 64x64x64, u4	nil
-- expect: packed hopper 128x64x64, u8, K in 2	nil

-- Activations of f8e4m3 and i8: groups larger than a step, two and four in a step; scales of any type.
try("u4", 70, 136, 512, 256, f8e4m3, true, {groups = 1, columns = 64}, bf16)
try("u4", 70, 136, 256, 64, f8e4m3, false, {groups = 2, columns = 64, stages = 2}, f32)
try("f4e2m1", 130, 72, 256, 32, f8e4m3, false, {groups = 2, columns = 128}, f16)
try("u4", 40, 136, 512, 128, f8e4m3, true, {groups = 1, columns = 64, k_blocks = 2}, f16)
-- expect: packed hopper 64x64x128, u4	nil
-- expect: packed hopper 128x64x128, u4	nil
-- expect: packed hopper 128x128x128, f4e2m1	nil
-- expect: packed hopper 64x64x128, u4, K in 2	nil
try("u4", 70, 136, 512, 128, i8, true, {groups = 2, columns = 64}, f32)
try("u4", 100, 72, 256, 64, i8, false, {groups = 1, columns = 128}, bf16)
-- expect: packed hopper 128x64x128, u4	nil
-- expect: packed hopper 64x128x128, u4	nil

-- Parts of the columns, one after another.
try("u4", 140, 136, 512, 128, f8e4m3, true, {groups = 2, columns = 128, parts = 2}, bf16)
try("u4", 200, 72, 256, 64, i8, false, {groups = 1, columns = 192, parts = 3}, bf16)
-- expect: packed hopper 128x128x128, u4	nil
-- expect: packed hopper 64x192x128, u4	nil
try("u4", 260, 72, 256, 128, f8e4m3, true, {groups = 2, columns = 256, parts = 2}, bf16)
try("u4", 200, 72, 512, 128, f8e4m3, false, {groups = 2, columns = 192, parts = 3, turn = 4,
  stages = 4, depth = 4}, bf16)
-- expect: packed hopper 128x256x128, u4	nil
-- expect: packed hopper 128x192x128, u4	nil

-- Two lines of activations in a step.
try("u4", 70, 72, 512, 64, bf16, true, {groups = 2, columns = 64, lines = 2, stages = 2})
try("u4", 70, 72, 1024, 256, bf16, false, {groups = 1, columns = 64, lines = 2, k_blocks = 2,
  turn = 4, stages = 2, depth = 4})
-- expect: packed hopper 128x64x128, u4	nil
-- expect: packed hopper 64x64x128, u4, K in 2	nil

-- Four blocks share K, and two share that of two tiles of columns.
try("u4", 70, 136, 1024, 128, f8e4m3, true, {groups = 2, columns = 64, k_blocks = 4}, bf16)
try("u4", 140, 136, 512, 128, f8e4m3, true, {groups = 2, columns = 128, k_blocks = 2}, bf16)
-- expect: packed hopper 128x64x128, u4, K in 4	nil
-- expect: packed hopper 128x128x128, u4, K in 2	nil

-- Zero points with which differences are not exact in f8e4m3: it takes another way. i8 has all.
local function with_zero(T, zero, config)
  local codes, W = random(u8, 0, 16, 72, 256), zeros(f64, row_major{72, 256}):to("cpu")
  for n = 0, 71 do
    for k = 0, 255 do W[{n, k}] = codes[{n, k}] - zero end
  end
  local w = packed.pack_weights(codes:to(here), {type = "u4", scales = ones(bf16, 72):to(here),
    zero_points = full(u8, 72, zero):to(here)})
  local X, how = random(T, -2, 3, 70, 256), {config = config, scale_a = full(f32, 70, 0.5)}
  local C = zeros(bf16, row_major{70, 72})
  local ok, why, which = pcall(operator.prepare, X:to(here), w, C, how)
  if not ok then return print(why:match "problem: (.*)") end
  matmul(X:to(here), w, C, how)
  local sums = reference.matmul(reference.cast(X, f64), W)
  for i = 0, 70 * 72 - 1 do sums[i] = 0.5 * sums[i] end
  local name = config and which:match "^[^,]+" or "by the rule"
  print(name, reference.difference(host(C), reference.cast(sums, bf16)))
end
with_zero(f8e4m3, 16, {groups = 1, columns = 64})
with_zero(f8e4m3, 17, {groups = 1, columns = 64})
with_zero(f8e4m3, 17)
with_zero(i8, 128, {groups = 1, columns = 64})
-- expect: packed hopper 64x64x128	nil
-- expect: a zero point is 17, and numbers are exact in f8e4m3 up to 16
-- expect: by the rule	nil
-- expect: packed hopper 64x64x128	nil

-- Scales of MXFP4: numbers have them as parts of the largest of 128 of K, also where K ends inside
-- of these, and matmul takes this way for many rows, too. Where scales are further apart it does
-- not.
local function with_scales(exponents, k, m, config)
  local codes, scales = random(u8, 0, 16, 72, k), zeros(f32, row_major{72, k // 32}):to("cpu")
  for n = 0, 71 do
    for j = 0, k // 32 - 1 do scales[{n, j}] = 2.0 ^ exponents[(n + j) % #exponents + 1] end
  end
  local w = packed.pack_weights(codes:to(here), {type = "f4e2m1",
    scales = reference.cast(scales, bf16):to(here)})
  local X, C = random(f8e4m3, -1, 2, m, k):to(here), zeros(bf16, row_major{m, 72})
  if not config then
    return print(w.spread, (operator.explain(X, w, C, {device = "H200"}).config:match "^%a+ ?%a+"))
  end
  matmul(X, w, C, {config = config})
  local function wide(t) return reference.cast(host(t), f64) end
  local sums = reference.matmul(wide(X), wide(w:dequantize(bf16)))
  print(w.spread, reference.difference(host(C), reference.cast(sums, bf16)))
end
with_scales({0, 3, 1, -1}, 320, 70, {groups = 1, columns = 64})        -- expect: 4	nil
with_scales({0, -2, 1, -1, 2}, 128, 140, {groups = 2, columns = 256, parts = 2})
-- expect: 4	nil
with_scales({0, -11}, 64, 600)                                        -- expect: 11	packed hopper
with_scales({0, -12}, 64, 600)                                        -- expect: 12	dequantized
