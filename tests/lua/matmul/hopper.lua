-- The kernel of matmul for Hopper, with small tiles: its schedules, types and majornesses, K of more
-- tiles than its ring has stages and more tiles of C than blocks, sizes that the tiles divide and
-- others, batches, alpha, beta, bias and an epilogue, C by rows and by columns, in parts and as a
-- whole. Elements are small integers, so every sum is exact. On a GPU with --device=cuda: sm_90.
local sm = device().sm
if sm and sm ~= 90 then
  print("done")
  return
end
local here = zeros(f32, 1).device

local function small(dtype, l)
  local lo = dtype == u8 and 0 or -2
  return view(reference.cast(rand(i32, cosize(l), lo, 2):to("cpu"), dtype):to(here), l)
end

-- Strides are multiples of 16 bytes, as TMA wants them.
local function operand(dtype, rows, depth, n, by_k)
  local ld = cdiv(by_k and depth or rows, 16) * 16
  return small(dtype, layout({rows, depth, n}, by_k and {ld, 1, ld * rows} or {1, ld, ld * depth}))
end

-- What C must be, in its own type: sums are exact, and rounded once.
local function expected(p, before, l)
  local R = reference.matmul(reference.cast(p.A(_, _, l), f64), reference.cast(p.B(_, _, l), f64))
  for n = 0, p.bias and size(R, 1) - 1 or -1 do
    local bias = p.bias[n]
    transform(R(_, n), before(_, n, l), R(_, n), function(product, old)
      return math.abs(p.alpha * product + p.beta * old + bias)
    end)
  end
  return reference.cast(R, p.C.dtype)
end

local function try(dtype, out, config, a_by_k, b_by_k, ragged)
  local bM, bN, bK = table.unpack(config.tile)
  local off = ragged and 1 or 0
  local m, n, k = bM * 2 - 9 * off, bN * 2 - 5 * off, bK * (config.stages + 1) - 3 * off
  local ld = cdiv(ragged and n or m, 16) * 16
  local p = {A = operand(dtype, m, k, 2, a_by_k), B = operand(dtype, n, k, 2, b_by_k),
             C = small(out, ragged and layout({m, n, 2}, {ld, 1, ld * m})
                            or layout({m, n, 2}, {1, ld, ld * n})),
             alpha = ragged and 2 or 1, beta = ragged and 1 or 0,
             bias = ragged and small(f32, layout(n)) or nil}
  local before = reference.cast(p.C, f64)
  config.name, config.template, config.blocks = "tried", "cuttle.gemm_hopper", 2
  matmul(p.A, p.B, p.C, {config = config, alpha = p.alpha, beta = p.beta, bias = p.bias,
    epilogue = p.bias and abs or nil})
  for l = 0, ragged and 0 or 1 do
    local ok, worst = allclose(p.C(_, _, l), expected(p, before, l), {rtol = 0, atol = 0})
    if not ok then print(dtype, out, p.A.layout, p.B.layout, p.C.layout, config.schedule, worst) end
  end
end

local pair, whole = {schedule = "cooperative", tile = {64, 128, 64}, stages = 3, store = {1, 1},
                     order = "groups", group = 2, registers = {40, 232}, pdl = true},
  {schedule = "ping-pong", tile = {128, 64, 64}, stages = 2, store = {1, 2}, order = "hilbert"}
local one = {schedule = "cooperative", tile = {64, 64, 32}, stages = 2, store = {2, 1}, groups = 1,
             order = "columns"}
local high = {schedule = "cooperative", tile = {128, 64, 64}, stages = 2, store = {1, 2},
              groups = 1, order = "groups", group = 2, cluster = 2}
local parts = {schedule = "cooperative", tile = {64, 128, 64}, stages = 3, store = {1, 1},
               order = "columns", k_blocks = 2}
local function with(config, tile, across)
  local new = {}
  for key, value in pairs(config) do new[key] = value end
  new.tile, new.across = tile or new.tile, across
  return new
end

local cases = {
  {bf16, bf16, pair, 3}, {f16, f32, whole, 3}, {f16, f16, high, 3}, {tf32, f32, one, 0},
  {i8, i32, with(pair, {64, 128, 128}), 0}, {f8e4m3, f16, with(one, {64, 64, 128}), 0},
  {bf16, bf16, with(one, {32, 64, 64}), 0},
  -- Blocks of a cluster have parts of K.
  {bf16, bf16, parts, 3}, {f16, f32, with(parts, {32, 128, 64}), 0},
  -- What is contiguous along rows goes through registers or is transposed; and C stored across.
  {tf32, f32, with(one, {64, 64, 32}), 3}, {tf32, bf16, with(pair, {32, 128, 32}), 3},
  {tf32, f32, with(whole, {64, 64, 32}), 3}, {i8, i32, with(one, {128, 128, 128}), 3},
  {tf32, f32, with(one, {64, 64, 32}, true), 1}, {tf32, f16, with(pair, {64, 256, 32}, true), 1},
  {f16, bf16, with(whole, nil, true), 0},
}
for _, case in ipairs(cases) do
  local dtype, out, config, majors = table.unpack(case)
  for i = 0, majors do
    for ragged = 0, 1 do
      try(dtype, out, with(config, nil, config.across), i % 2 == 0, i // 2 == 0, ragged == 1)
    end
  end
end

-- What L2 brings from memory at once: of large tiles 256 bytes of what is contiguous along K.
local operator = require "cuttle.matmul"
local function check_maps(A, expected)
  local B, C = zeros(bf16, row_major{128, 64}), zeros(bf16, layout{256, 128})
  local _, _, steps = operator.prepare(A, B, C, {config = "hopper 256x128x64"})
  local step, bytes = operator.main(steps), {}
  local ir = step.kernel(step.launch):ir(table.unpack(step.args))
  for name, n in ir:gmatch "map %d of (%a) swizzle %d promotion (%d+)" do bytes[name] = n end
  local found = ("%s %s %s"):format(bytes.A, bytes.B, bytes.C)
  if found ~= expected then print(A.layout, found) end
end
check_maps(zeros(bf16, row_major{256, 64}), "256 256 0")
check_maps(zeros(bf16, layout{256, 64}), "128 256 0")
print("done")  -- expect: done
