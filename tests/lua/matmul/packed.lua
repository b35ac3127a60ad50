-- Products with packed weights (packed_weights.lua): of every type, group and zero points, with few
-- rows and many, against plain Lua in numbers that are exact: activations are small integers, scales
-- powers of two. On a GPU with --device=cuda.
local packed = require "cuttle.packed_weights"
local formats = require "cuttle.packed_formats"
local operator = require "cuttle.matmul"
local here = zeros(f32, 1).device
local function host(t) return here == "cpu" and t or t:to("cpu") end
local function random(t, low, high, of)
  local x = zeros(t, row_major(of)):to("cpu")
  local r = rand(i32, size(x), low, high):to("cpu")
  for i = 0, size(x) - 1 do x[{i // of[2], i % of[2]}] = r[i] end
  return x
end
local function powers(t, of)
  local x = random(t, -2, 3, of)
  for i = 0, size(x) - 1 do
    local at = {i // of[2], i % of[2]}
    x[at] = 2.0 ^ x[at]
  end
  return x
end

-- Codes, scales and zero points on the host, the packed weight, and what it stands for.
local function make(name, n, k, group, scale_type, has_zeros)
  local format = formats.formats[name]
  local of = {n, k // group}
  local w = {codes = random(u8, 0, 1 << format.bits, {n, k}), scales = powers(scale_type, of),
             zeros = has_zeros and random(u8, 0, 1 << format.bits, of) or nil}
  w.packed = packed.pack_weights(w.codes:to(here), {type = name, scales = w.scales:to(here),
    zero_points = w.zeros and w.zeros:to(here)})
  w.values = zeros(f64, row_major{n, k}):to("cpu")
  for i = 0, n - 1 do
    for j = 0, k - 1 do
      local at = {i, j // group}
      local zero = format.is_integer and (has_zeros and w.zeros[at] or format.zero) or 0
      w.values[{i, j}] = (format.value(w.codes[{i, j}]) - zero) * w.scales[at]
    end
  end
  return w
end

-- Codes that come back.
local function try_back(name, group, has_zeros)
  for _, T in ipairs{f16, bf16} do
    local w = make(name, 20, 256, group, f32, has_zeros)
    local at = reference.difference(host(w.packed:dequantize(T)), reference.cast(w.values, T))
    if at then print(name, T, group, has_zeros, at) end
  end
end
for _, name in ipairs{"u4", "u8", "f4e2m1", "f8e4m3", "nf4"} do
  try_back(name, 32, false)
  try_back(name, 16, false)
  if formats.formats[name].is_integer then try_back(name, 128, true) end
end
print "back"                                                          -- expect: back

-- Products: of f4e2m1 and integers each sum is exact.
local function try(name, m, n, k, group, T, scale_type, has_zeros, config)
  local w = make(name, n, k, group, scale_type, has_zeros)
  local x, scale = random(T, -4, 5, {m, k}), nil
  local want = reference.matmul(reference.cast(x, f64), w.values)
  if T.bits == 8 then
    scale = rand(i32, m, 1, 4)
    for i = 0, m - 1 do
      for j = 0, n - 1 do want[{i, j}] = want[{i, j}] * scale[i] end
    end
    scale = reference.cast(scale:to("cpu"), f32):to(here)
  end
  local X = x:to(here)
  local how = {alpha = 2.0, bias = ones(f32, n), config = config, scale_a = scale,
               epilogue = function(v, i, j) return v + i - j end}
  for _, l in ipairs{row_major{m, n}, layout{m, n}} do
    local C = matmul(X, w.packed, full(f32, l, -1), how)
    local got, wrong = host(C), 0
    for i = 0, m - 1 do
      for j = 0, n - 1 do
        if got[{i, j}] ~= 2 * want[{i, j}] + 1 + i - j then wrong = wrong + 1 end
      end
    end
    if wrong > 0 then print(name, m, n, k, group, T, wrong) end
  end
end
try("u4", 1, 40, 256, 128, bf16, bf16, false)
try("u4", 3, 70, 320, 64, bf16, f16, true)
try("u4", 9, 20, 128, 32, f16, f32, false)
try("u4", 64, 33, 256, 256, f16, f16, true)
try("u8", 20, 36, 192, 64, bf16, bf16, true)
try("u8", 2, 16, 1088, 1088, f16, bf16, false)
try("f4e2m1", 33, 16, 128, 32, f16, f8ue8m0, false)
try("f4e2m1", 8, 150, 64, 32, bf16, f32, false)
try("f4e2m1", 9, 40, 128, 16, bf16, f8ue4m3, false)
try("f4e2m1", 3, 20, 64, 16, f16, f8ue4m3, false, {strips = 2, step = 64})
try("u8", 17, 36, 128, 16, f16, f32, true)
try("u4", 5, 70, 512, 128, bf16, bf16, true, {strips = 4, step = 128, warps = 4, stages = 3})
try("u4", 21, 40, 128, 64, f16, bf16, false, {strips = 2, columns = 1})
try("u4", 1, 40, 256, 128, f8e4m3, bf16, false)
try("u4", 9, 70, 320, 64, f8e4m3, f32, true)
try("u8", 20, 36, 192, 64, f8e4m3, f16, true)
try("f4e2m1", 9, 40, 128, 16, f8e4m3, f8ue4m3, false)
try("u4", 9, 70, 320, 64, i8, f32, true)
try("f4e2m1", 3, 40, 128, 32, i8, bf16, false)
try("f8e4m3", 2, 40, 64, 64, bf16, bf16, false)
try("f4e2m1", 33, 16, 128, 32, f8e4m3, f8ue8m0, false, {strips = 2, columns = 1})
print "products"                                                      -- expect: products

-- NVFP4: what the quantiser makes, whose scale of the whole tensor is a number.
do
  local rows = require "cuttle.rows"
  local W, Z = randn(bf16, row_major{40, 128}):to(here), randn(bf16, row_major{3, 128}):to(here)
  local global = rows.nvfp4_global(W)
  local codes, scales = rows.quantize_nvfp4(W, global)
  local w = packed.pack_weights(codes, {scales = scales})
  print(w.type, w.group, allclose(matmul(Z, w, zeros(f32, row_major{3, 40}), {alpha = global[0]}),
    reference.matmul(Z, W), {rtol = 0.1, atol = 6.0}))                -- expect: f4e2m1	16	true
end

-- Numbers of nf4 are rounded to A's type, so their sums are near.
local rounded = make("nf4", 48, 256, 64, bf16, false).packed
local X = randn(bf16, row_major{7, 256})
local want = reference.matmul(X, rounded:dequantize(bf16))
print((allclose(matmul(X, rounded, zeros(f32, row_major{7, 48})), want))) -- expect: true

-- Pairs of columns, several outputs and sums of rows, with few rows.
local pairs_of = make("u4", 72, 128, 64, f16, false)
local Z = random(f16, -2, 3, {5, 128}):to(here)
local function gated(W)
  local sums, peak = zeros(f32, 5), zeros(f32, 1)
  local how = {glu = true, operands = {factor = 0.5},
    outputs = {sums = {sums, "row_sum"}, peak = {peak, "max"}}, epilogue = function(gate, up, e)
      local x = (gate + up) * e.factor
      e.sums, e.peak = x, abs(x)
      return x
    end}
  local C = matmul(Z, W, zeros(f32, row_major{5, 36}), how)
  return C, sums, peak, select(2, operator.prepare(Z, W, how))
end
local list, wanted = {gated(pairs_of.packed)}, {gated(pairs_of.packed:dequantize(f16))}
for i = 1, 3 do print(reference.difference(host(list[i]), host(wanted[i])), list[4]) end
-- expect: nil	packed 16x8x128, u4
-- expect: nil	packed 16x8x128, u4
-- expect: nil	packed 16x8x128, u4

-- Many rows, batches and rows of A anywhere: by way of a matrix of A's type.
local w = make("u4", 32, 128, 64, bf16, false).packed
local matrix = w:dequantize(bf16)
local function same(A, C, options)
  local _, name = operator.prepare(A, w, C, options)
  local D = matmul(A, w, options)
  local at = reference.difference(host(D), host(matmul(A, matrix, options)))
  if at or name:find "^dequantized, " == nil then print(name, at) end
end
same(randn(bf16, row_major{80, 128}))
same(randn(bf16, layout{4, 128}))
same(randn(bf16, {3, 128, 2}))

-- The same of f8e4m3, which is exact in 16 bits.
for _, modes in ipairs{row_major{80, 128}, layout{4, 128}, layout{3, 128, 2}} do
  local A = reference.cast(rand(i32, cosize(modes), -8, 9):to("cpu"), bf16)
  local wide, narrow = view(A:to(here), modes), view(reference.cast(A, f8e4m3):to(here), modes)
  local of_bf16 = matmul(wide, w)
  local got = tensor(bf16, of_bf16.layout):to(here)
  local _, name = operator.prepare(narrow, w, got)
  print(name:match "^%a+", reference.difference(host(matmul(narrow, w, got)), host(of_bf16)))
end
-- expect: dequantized	nil
-- expect: packed	nil
-- expect: dequantized	nil
same(randn(bf16, row_major{3, 128}), nil, {bits = "batch_invariant"})
print(matmul(zeros(bf16, row_major{0, 128}), w).layout)                -- expect: (0,32):(1,0)

-- Codes as words of eight, and as f4e2m1.
local codes, scales = random(u8, 0, 16, {24, 64}):to(here), ones(f32, 24)
local words = zeros(u32, row_major{24, 8}):to("cpu")
for i = 0, 24 * 64 - 1 do
  local at = {i // 64, i % 64 // 8}
  words[at] = words[at] | host(codes)[{i // 64, i % 64}] << 4 * (i % 8)
end
words = words:to(here)
local narrow = recast(words, f4e2m1)
for _, form in ipairs{{words, "u4"}, {recast(words, i32), "u4"}, {narrow, "f4e2m1"}} do
  local a = packed.pack_weights(form[1], {type = form[2], scales = scales})
  local b = packed.pack_weights(codes, {type = form[2], scales = scales})
  print(reference.difference(host(a.codes), host(b.codes)), a.type, a.group)
end
-- expect: nil	u4	64
-- expect: nil	u4	64
-- expect: nil	f4e2m1	64

-- A packed weight again from its fields.
for _, of in ipairs{make("u4", 40, 128, 32, f16, true).packed,
                    make("f8e4m3", 20, 64, 64, bf16, false).packed} do
  local function flat(t) return t and view(t, size(t)) end
  local again = packed.weight_of{type = of.type, shape = of.shape, scales = flat(of.scales),
    codes = recast(flat(of.codes), i32), zeros = flat(of.zeros), most_zero = of.most_zero,
    spread = of.spread}
  print(again.type, again.group, again.spread == of.spread,
    reference.difference(host(again:dequantize(f16)), host(of:dequantize(f16))))
end
-- expect: u4	32	true	nil
-- expect: f8e4m3	64	true	nil

-- How far scales are apart in 128 of K of a row, if they are powers of two: where all numbers are 0
-- they do not count.
local function spread_of(name, group, exponents, scale_type, last)
  local codes, scales = full(u8, row_major{17, 256}, 1), ones(f32, row_major{17, 256 // group})
  for j, exponent in ipairs(exponents) do scales[{16, j - 1}] = 2.0 ^ exponent end
  for k = 256 - group, 255 do codes[{16, k}] = last or 1 end
  return packed.pack_weights(codes:to(here), {type = name, scales = scales:to(here),
    scale_type = scale_type}).spread
end
print(spread_of("f4e2m1", 32, {3, -4}, bf16), spread_of("f4e2m1", 64, {0, 2, -9, 1}, f32))
-- expect: 7	10
print(spread_of("f4e2m1", 32, {5, 5, 5, 5}),
  spread_of("f4e2m1", 32, {0, 0, 0, 0, 0, 0, 0, -99}, f32, 8))
-- expect: 0	0
print(spread_of("f4e2m1", 32, {math.log(3, 2)}), spread_of("f4e2m1", 32, {-40}, f16),
  spread_of("f4e2m1", 128, {1}), spread_of("u4", 32, {1}))
-- expect: 255	255	255	255

-- Codes of floats: no further away than half a step of what the group's largest element, or its
-- range, makes it.
-- Scales and zero points of square blocks are those of each of their rows; the last block has fewer.
local function try_blocks(n, G)
  local function of(rows, columns)
    return G and layout({rows, columns, G}, {columns, 1, rows * columns})
      or row_major{rows, columns}
  end
  local function bytes(l)
    return view(reference.cast(rand(i32, cosize(l), 0, 256):to("cpu"), u8), l)
  end
  local blocks = of(cdiv(n, 64), 3)
  local codes, by, points = bytes(of(n, 192)), view(rand(f32, cosize(blocks)):to("cpu"), blocks),
    bytes(blocks)
  local rows, points_of_rows = zeros(f32, of(n, 3)):to("cpu"), zeros(u8, of(n, 3)):to("cpu")
  for g = 0, (G or 1) - 1 do
    for i = 0, n - 1 do
      for j = 0, 2 do
        rows[{i, j, G and g}], points_of_rows[{i, j, G and g}] = by[{i // 64, j, G and g}],
          points[{i // 64, j, G and g}]
      end
    end
  end
  local function numbers(scales, zero_points)
    local p = packed.pack_weights(codes:to(here), {type = "u8", scales = scales:to(here),
      zero_points = zero_points:to(here), scale_type = bf16})
    return p, host(p:dequantize(bf16))
  end
  local p, got = numbers(by, points)
  local _, want = numbers(rows, points_of_rows)
  print(p.group, p.scales.dtype, reference.difference(got, want))
end
try_blocks(150)                                                       -- expect: 64	bf16	nil
try_blocks(64, 3)                                                     -- expect: 64	bf16	nil

local floats = randn(f32, row_major{20, 128})

local function half_range(of, i, g, has_zeros)
  local low, high = 0, 0
  for k = 64 * g, 64 * g + 63 do
    low, high = math.min(low, of[{i, k}]), math.max(high, of[{i, k}])
  end
  return has_zeros and (high - low) / 2 or math.max(-low, high)
end

local function try_floats(name, step, has_zeros)
  local found, by, zero = packed.quantize_weights(floats, {type = name, group = 64,
    zero_points = has_zeros, scale_type = f32})
  local p = packed.pack_weights(found, {type = name, scales = by, zero_points = zero})
  local back, of = host(p:dequantize(f16)), host(floats)
  for i = 0, 19 do
    for g = 0, 1 do
      local most = half_range(of, i, g, has_zeros)
      for k = 64 * g, 64 * g + 63 do
        local apart = math.abs(back[{i, k}] - of[{i, k}]) / most
        if apart > 1.02 * step + 1e-3 then print(name, has_zeros, i, k, apart) end
      end
    end
  end
end
for name, step in pairs{u4 = 1 / 15, u8 = 1 / 255, f4e2m1 = 1 / 6, f8e4m3 = 1 / 28, nf4 = 0.16} do
  try_floats(name, step, false)
  if formats.formats[name].is_integer then try_floats(name, step, true) end
end
print "floats"                                                        -- expect: floats
