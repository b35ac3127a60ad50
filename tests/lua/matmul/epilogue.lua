-- Epilogues of matmul with named operands: outputs of C's shape, sums and maxima of rows, columns
-- and all of C, on every template, with tiles that overhang, C by rows and by columns, batches and
-- K in parts; glu, whose columns in pairs make one. Against plain loops over reference.matmul.
-- Elements are small integers and factors powers of two, so every number is exact. On a GPU with
-- --device=cuda.
local here = zeros(f32, 1).device

local function small(dtype, l)
  return view(reference.cast(rand(i32, cosize(l), -2, 3):to("cpu"), dtype):to(here), l)
end

local function by_rows(m, n, l) return layout({m, n, l}, {n, 1, m * n}) end

-- What the reductions must be, of a matrix of v.
local function reduce(v, m, n)
  local r = { row_sum = {}, row_max = {}, column_sum = {}, column_max = {}, sum = { [0] = 0 },
              max = { [0] = -math.huge } }
  local function take(name, i, x)
    local old = r[name .. "_sum"][i]
    r[name .. "_sum"][i] = (old or 0) + x
    r[name .. "_max"][i] = math.max(r[name .. "_max"][i] or -math.huge, x)
  end
  for i = 0, m - 1 do
    for j = 0, n - 1 do
      local x = v[{i, j}]
      take("row", i, x)
      take("column", j, x)
      r.sum[0], r.max[0] = r.sum[0] + x, math.max(r.max[0], x)
    end
  end
  return r
end

local ops = { "row_sum", "row_max", "column_sum", "column_max", "sum", "max" }

local function ending(v, e)
  for _, op in ipairs(ops) do e[op] = v end
  e.pre = v + e.bias[e.n]
  return max(v, 0.0) * e.scale[e.m] + e.shift
end

local function try(dtype, m, n, k, is_by_rows, options)
  local l = options.l or 1
  local A, B = small(dtype, by_rows(m, k, l)), small(dtype, by_rows(n, k, l))
  local order = is_by_rows and by_rows(m, n, l) or layout{m, n, l}
  local C, pre = zeros(f32, order), zeros(f32, layout{m, n, l})
  local bias, scale = small(f32, layout(n)), small(f32, layout(m))
  local outputs = { pre = pre }
  local extent = { row = m, column = n, sum = 1, max = 1 }
  for _, op in ipairs(ops) do
    outputs[op] = { zeros(f32, {extent[op:match "^%a+"], l}), op }
  end
  matmul(A, B, C, { config = options.config, split = options.split, blocks = options.blocks,
    epilogue = ending,
    operands = { bias = bias, scale = scale, shift = 0.5 }, outputs = outputs })
  for q = 0, l - 1 do
    local v = reference.matmul(reference.cast(A(_, _, q), f32), reference.cast(B(_, _, q), f32))
      :to("cpu")
    local want, wrong = reduce(v, m, n), 0
    for _, op in ipairs(ops) do
      local got = outputs[op][1]:to("cpu")
      for i, x in pairs(want[op]) do wrong = wrong + (got[{i, q}] == x and 0 or 1) end
    end
    local c, p, b, s = C:to("cpu"), pre:to("cpu"), bias:to("cpu"), scale:to("cpu")
    for i = 0, m - 1 do
      for j = 0, n - 1 do
        local x = v[{i, j}]
        local is_right = c[{i, j, q}] == math.max(x, 0) * s[i] + 0.5 and p[{i, j, q}] == x + b[j]
        wrong = wrong + (is_right and 0 or 1)
      end
    end
    if wrong > 0 then print(dtype, m, n, k, is_by_rows, options.config, q, wrong) end
  end
end

local sm = device().sm or 90
for is_by_rows = 0, 1 do
  local r = is_by_rows == 1
  try(f32, 37, 45, 20, r, {})
  try(f32, 64, 66, 32, r, { l = 2 })
  try(f16, 70, 40, 64, r, { split = 2 })
  if sm >= 80 then
    try(f32, 70, 66, 32, r, { config = "simt 64x64x16 turned" })
    if r then try(f32, 130, 40, 64, r, { config = "simt 128x64x32 turned, 2 slices" }) end
    try(f32, 36, 40, 32, r, { config = "dots 32x16x32" })
    try(f16, 70, 66, 64, r, { config = "mma 64x64x64" })
  end
  if sm == 90 then
    try(f16, 72, 136, 64, r, { config = "hopper 64x64x64", l = 2, blocks = 4 }) -- of many tiles
    try(bf16, 136, 136, 64, r, { config = "hopper 128x128x64", blocks = 2 })
    try(f16, 200, 136, 64, r, { config = "hopper 192x128x64, ping-pong", blocks = 1 })
  end
end

-- Columns 2n and 2n + 1 of the product make column n of C.
local function gated(gate, up, e)
  e.peak = abs(gate)
  e.pre = gate - up
  return max(gate, 0.0) * up + e.n
end

local function try_glu(dtype, m, n, k, config)
  local A, B = small(dtype, row_major{m, k}), small(dtype, row_major{2 * n, k})
  local bias, pre, peak = small(f32, layout(2 * n)), zeros(f32, {m, n}), zeros(f32, m)
  local C = matmul(A, B, zeros(f32, row_major{m, n}), { glu = true, config = config, bias = bias,
    blocks = 2,
    outputs = { pre = pre, peak = { peak, "row_max" } }, epilogue = gated }):to("cpu")
  local v = reference.matmul(reference.cast(A, f32), reference.cast(B, f32)):to("cpu")
  local b, p, top, wrong = bias:to("cpu"), pre:to("cpu"), peak:to("cpu"), 0
  for i = 0, m - 1 do
    local most = 0
    for j = 0, n - 1 do
      local g, u = v[{i, 2 * j}] + b[2 * j], v[{i, 2 * j + 1}] + b[2 * j + 1]
      most = math.max(most, math.abs(g))
      if C[{i, j}] ~= math.max(g, 0) * u + j or p[{i, j}] ~= g - u then wrong = wrong + 1 end
    end
    if top[i] ~= most then wrong = wrong + 1 end
  end
  if wrong > 0 then print("glu", dtype, m, n, k, config, wrong) end
end
try_glu(f32, 37, 20, 30)
if sm >= 80 then
  try_glu(f32, 70, 50, 32, "simt 64x64x16 turned")
  try_glu(f16, 37, 44, 64, "mma 64x64x64")
end
if sm == 90 then
  try_glu(f16, 72, 24, 64, "hopper 16x64x64")
  try_glu(bf16, 72, 104, 64, "hopper 64x64x64")
  try_glu(f16, 136, 104, 64, "hopper 192x128x64, ping-pong")
  local hopper, operator = require "cuttle.gemm_hopper", require "cuttle.matmul"
  local W = zeros(f8e4m3, row_major{64, 128})
  print(hopper.trouble({ tile = {16, 64, 128} }, operator.problem(W, W, -- expect: a block has 8 bytes of a row of C, and stores 32 or more
    zeros(f8e4m3, row_major{64, 32}), { glu = true, epilogue = gated, outputs = {
      peak = { zeros(f32, 64), "row_max" }, pre = zeros(f32, {64, 32}) } })))
end
-- Blocks that share K store parts of the columns.
if sm == 90 then
  local A, B, bias = small(bf16, row_major{72, 200}), small(bf16, row_major{208, 200}),
    small(f32, layout(208))
  local function made(config, outputs)
    return matmul(A, B, zeros(f32, row_major{72, 104}), { glu = true, config = config, bias = bias,
      alpha = 2, outputs = outputs, epilogue = function(g, u, e)
        if outputs.peak then e.peak = g end
        e.pre = g - u
        return max(g, 0.0) * u + e.n
      end })
  end
  local one, other = zeros(f32, {72, 104}), zeros(f32, {72, 104})
  local config <const> = "hopper 64x128x64, K in 2"
  local C, D = made(config, { pre = one }), made("mma 64x64x64", { pre = other })
  print(reference.difference(C, D), reference.difference(one, other)) -- expect: nil	nil
  print((select(2, pcall(made, config, { pre = one, peak = { zeros(f32, 1), "max" } }))
    :match "K = 200.*; (.*)")) -- expect: an output is a sum or maximum, for which blocks that share K have no parts
end
print(matmul(ones(f16, {4, 8}), ones(f16, {6, 8}), { glu = true, -- expect: (4,3):(3,1)
  epilogue = function(g, u) return g + u end }).layout)

-- A function of an element may be used with other operands; without names it is of (v, m, n, l).
local A = ones(f32, {4, 4})
local function scaled(v, e) return v * e.by end
print(matmul(A, A, { epilogue = scaled, operands = { by = 2 } })[0],
  matmul(A, A, { epilogue = scaled, operands = { by = 0.5 } })[0])     -- expect: 8.0	2.0

-- A branch may assign an output that has a value before it.
local R, kept = randn(f32, {8, 8}), zeros(f32, {8, 8})
matmul(R, R, { outputs = { kept = kept }, epilogue = function(v, e)
  e.kept = 0.0
  if v > 0.0 then e.kept = v end
  return v
end })
print(allclose(kept, matmul(R, R, { epilogue = function(v) return max(v, 0.0) end }))) -- expect: true

-- The steps that join what was reduced are none of K in parts.
local total = zeros(f32, 1)
local launch, name, steps = require "cuttle.matmul".prepare(A, A, zeros(f32, {4, 4}), {
  outputs = { total = { total, "sum" } }, epilogue = function(v, e)
    e.total = v
    return v
  end })
launch()
launch()
print(name:find "K by", #steps, total[0])                              -- expect: nil	2	64.0
