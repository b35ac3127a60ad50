-- scale_a and scale_b of matmul: for all of an operand, for rows, for 128 of K of each row, and for
-- 128x128, on every template, with tiles that overhang, C by rows and by columns, batches, groups
-- and K in parts. Elements are small integers and scales powers of two, so that every number is
-- exact: the oracle is the product of scaled operands in f64. On a GPU with --device=cuda.
local here = zeros(f32, 1).device

local function small(dtype, l)
  return view(reference.cast(rand(i32, cosize(l), -3, 4):to("cpu"), dtype):to(here), l)
end

local function by_rows(m, n, l) return layout({m, n, l}, {n, 1, m * n}) end

local function powers(extents)
  local l = layout(extents)
  local x = zeros(f32, l):to("cpu")
  local flat, exponents = view(x, layout(size(l))), rand(i32, size(l), -2, 3):to("cpu")
  for i = 0, size(l) - 1 do flat[i] = 2.0 ^ exponents[i] end
  return x
end

-- What an operand's element (i,k) of batch l is multiplied by.
local function factor(s, rows, i, k, l)
  if type(s) == "number" then return s end
  if s == nil then return 1.0 end
  local n, deep = size(s, 0), rank(s) > 1 and size(s, 1) or 1
  local row = n == 1 and 0 or n == rows and i or i // 128
  if rank(s) == 1 then return s[row] end
  local column = deep == 1 and 0 or k // 128
  return rank(s) == 2 and s[{row, column}] or s[{row, column, size(s, 2) > 1 and l or 0}]
end

local function scaled(x, s, l)
  local out = reference.cast(x(_, _, l), f64):to("cpu")
  local rows, columns, strides = size(out, 0), size(out, 1), stride(out)
  for i = 0, rows - 1 do
    for k = 0, columns - 1, 128 do
      local by, n = factor(s, rows, i, k, l), math.min(128, columns - k)
      transform(view(out, layout(n, strides[2]), i * strides[1] + k * strides[2]),
        function(v) return v * by end)
    end
  end
  return out
end

local function on_device(s) return type(s) == "number" and s or s and s:to(here) end

local exactly <const> = {rtol = 0, atol = 0}

local function try(dtype, m, n, k, scale_a, scale_b, options)
  options = options or {}
  local l = options.l or 1
  local A, B = small(dtype, by_rows(m, k, l)), small(dtype, by_rows(n, k, l))
  local C = zeros(options.c or f32, options.by_columns and layout{m, n, l} or by_rows(m, n, l))
  matmul(A, B, C, { scale_a = on_device(scale_a), scale_b = on_device(scale_b),
    config = options.config, split = options.split, blocks = 2, alpha = 2 })
  for q = 0, l - 1 do
    local want = reference.matmul(scaled(A, scale_a, q), scaled(B, scale_b, q))
    transform(want, function(v) return 2 * v end)
    local same, what = allclose(C(_, _, q):to("cpu"), reference.cast(want, C.dtype), exactly)
    if not same then print(dtype, m, n, k, options.config, q, what) end
  end
end

local sm = device().sm or 90
-- Blocks of a cluster share the columns; one of the two here has no rows.
local pairs_of_blocks = { name = "pairs", template = "cuttle.gemm_hopper", tile = { 128, 128, 128 },
  schedule = "cooperative", stages = 4, store = { 1, 2 }, order = "groups", group = 8, blocks = 132,
  cluster = 2, scaled = true }
try(f8e4m3, 20, 30, 200, 2.0, powers{1})
try(f8e4m3, 20, 30, 200, powers{20}, powers{30, 1}, { by_columns = true })
try(f8e4m3, 20, 140, 260, powers{20, 3}, powers{2, 3})
try(f8e5m2, 134, 36, 260, powers{2, 3}, powers{36, 3}, { by_columns = true })
try(f8e4m3, 20, 36, 260, powers{20, 3, 2}, powers{1, 3, 1}, { l = 2 })
try(f8e4m3, 20, 30, 256, powers{20}, nil, { split = 2 })
try(bf16, 20, 30, 64, powers{20}, powers{30})
try(i8, 20, 30, 64, powers{20}, 0.5)
if sm >= 89 then
  try(f8e4m3, 36, 140, 260, powers{36, 3}, powers{2, 3}, { config = "mma 64x64x128, f8" })
  try(f8e5m2, 36, 70, 260, powers{36, 3}, powers{70, 3}, { config = "mma 64x64x128, f8" })
end
if sm == 90 then
  for _, by_columns in ipairs { false, true } do
    try(f8e4m3, 72, 144, 272, powers{72, 3}, powers{2, 3},
      { config = "hopper 128x128x128, scaled", by_columns = by_columns })
    try(f8e4m3, 272, 144, 272, powers{272, 3}, powers{2, 3},
      { config = "hopper 256x128x128, scaled", by_columns = by_columns })
  end
  try(f8e4m3, 144, 272, 400, powers{144, 4}, powers{272, 4},
    { config = "hopper 256x128x128, scaled" })
  -- Several tiles of a block, and K of one slot, of two, three and more.
  for _, k in ipairs { 128, 256, 384, 768, 1312 } do
    try(f8e4m3, 400, 272, k, powers{400, cdiv(k, 128)}, powers{3, cdiv(k, 128)},
      { config = "hopper 256x128x128, scaled", c = bf16 })
  end
  -- Parts of a tile in rows of one instruction each, with scales of rows and of blocks of rows.
  for _, k in ipairs { 128, 400, 768 } do
    for _, rows_of_b in ipairs { 272, 3 } do
      try(f8e4m3, 400, 272, k, powers{400, cdiv(k, 128)}, powers{rows_of_b, cdiv(k, 128)},
        { config = "hopper 128x256x128, scaled", c = bf16, by_columns = k == 400 })
    end
  end
  try(f8e4m3, 144, 144, 272, powers{144, 3}, powers{144, 3}, { config = pairs_of_blocks })
  try(f8e4m3, 72, 80, 272, powers{72, 3}, powers{80, 3}, { config = "hopper 64x64x128, scaled",
    l = 2 })
  try(f8e4m3, 64, 64, 128, powers{64}, powers{64}, { config = "hopper 64x64x128, scaled" })
  try(f8e4m3, 64, 64, 256, powers{64, 2}, powers{64, 2}, { config = "hopper 64x64x128, scaled" })
end

-- Groups of rows: B has scales of its own in each group.
local X, W = small(f8e4m3, row_major{24, 256}), small(f8e4m3, by_rows(16, 256, 3))
local sx, sw = powers{24, 2}, powers{1, 2, 3}
local ends = from_table(i32, {5, 5, 22}):to(here)
local x = scaled(view(X, by_rows(24, 256, 1)), sx, 0)
local want = { [0] = reference.matmul(x, scaled(W, sw, 0)),
               [2] = reference.matmul(x, scaled(W, sw, 2)) }
local function try_groups(config)
  local Y = matmul(X, W, zeros(f32, row_major{24, 16}), { groups = ends, config = config,
    scale_a = on_device(sx), scale_b = on_device(sw) }):to("cpu")
  local wrong = 0
  for m = 0, 21 do
    for n = 0, 15 do
      if Y[{m, n}] ~= want[m < 5 and 0 or 2][{m, n}] then wrong = wrong + 1 end
    end
  end
  if wrong > 0 then print("groups", config, wrong) end
end
try_groups()
if sm >= 89 then try_groups "mma 64x64x128, f8" end
if sm == 90 then try_groups "hopper 64x64x128, scaled" end

-- A new C is bf16. Quantised in the epilogue, C may be f8, too; its scale comes from a maximum.
local A, B = small(f8e4m3, row_major{8, 32}), small(f8e4m3, row_major{8, 32})
print(matmul(A, B, {scale_a = 0.5}).dtype)  -- expect: bf16
local peak = zeros(f32, 1)
local Q = matmul(A, B, zeros(f8e4m3, row_major{8, 8}), {scale_a = 0.5, operands = {to = 0.25},
  outputs = {peak = {peak, "max"}}, epilogue = function(v, e)
    e.peak = abs(v)
    return v * e.to
  end})
local most, is_near = 0, true
local P = reference.matmul(reference.cast(A, f32), reference.cast(B, f32)):to("cpu")
for i = 0, 63 do
  local v = P[{i % 8, i // 8}] / 2
  most = math.max(most, math.abs(v))
  local q = reference.cast(Q, f32)[{i % 8, i // 8}]
  is_near = is_near and math.abs(q - v / 4) <= math.abs(v) / 64
end
print(peak[0] == most, is_near)  -- expect: true	true

do -- alpha is multiplied by the scales of all rows, or by one of a row, before any sum is
  local prepare = require "cuttle.matmul".prepare
  local F, G = tensor(f8e4m3, row_major{128, 128}), tensor(bf16, row_major{128, 128})
  for _, n in ipairs{1, 128} do
    local scale = tensor(f32, n)
    local _, _, steps = prepare(F, F, G, {scale_a = scale, scale_b = scale,
      config = "hopper 128x128x128"})
    local step = steps[1]
    local text = step.kernel(step.launch):source(table.unpack(step.args))
    print(n, text:find "%* %(*alpha %* [%w_]+%[" ~= nil, text:find "%* alpha[^%w_ ]" ~= nil)
  end
end
-- expect: 1	true	false
-- expect: 128	true	false
