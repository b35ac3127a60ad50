-- Rows of products by the option `bits`, bit for bit: of any number of rows, any strides of A and
-- C, alone and in a batch, and by all configurations of the contract. On a GPU each is compiled, so
-- there are fewer.
local configs, operator = require "cuttle.matmul_choice", require "cuttle.matmul"
local here = zeros(f32, 1).device
local on_cpu = here == "cpu"
local N <const>, MOST <const> = 40, 4096

-- A tensor of those strides on the device.
local function on(values, dtype, by_rows, ld)
  local m, k = size(values, 0), size(values, 1)
  local stride = by_rows and {ld or k, 1} or {1, ld or m}
  local flat = zeros(f32, math.max(m * stride[1], k * stride[2])):to("cpu")
  local t = view(flat, layout({m, k}, stride))
  copy(values, t)
  return view(reference.cast(flat, dtype):to(here), layout({m, k}, stride))
end

local words <const> = {[8] = u8, [16] = u16, [32] = u32, [64] = u64}
local function bits_of(t)
  local out, all = {}, recast(t:to("cpu"), words[t.dtype.bits])
  for m = 0, size(t, 0) - 1 do out[m] = table.concat(all(m, _):totable(), " ") end
  return out
end

-- The bits of each row by `options`, of m rows of the values, and the problem.
local function rows(c, m, options, a_rows, c_rows, ld)
  local A = on(view(c.values, layout({m, c.k}, {c.k, 1})), c.dtype, a_rows, ld)
  local C = zeros(c.out, c_rows and row_major{m, N} or layout{m, N}):to(here)
  return bits_of(matmul(A, c.B, C, options)), operator.problem(A, c.B, C)
end

local function agree(c, got, what)
  for m, row in pairs(got) do
    if row ~= c.first[m] then
      print(c.dtype, c.k, what, "row " .. m)
      return
    end
  end
end

local function case(dtype, k, b_rows, n_rows)
  local c = {dtype = dtype, k = k, values = randn(f32, row_major{n_rows, k}):to("cpu"),
             out = dtype.bits == 16 and f32 or operator.result_type(dtype)}
  if dtype == i8 then
    c.values = reference.cast(rand(i32, row_major{n_rows, k}, -9, 9):to("cpu"), f32)
  end
  c.B = on(view(c.values, layout({N, k}, {k, 1})), dtype, b_rows)
  return c
end

-- All numbers of rows and all strides. `may_lack`: the contract may have no configuration for an A
-- that is not contiguous along K.
local function check_sizes(c, options, sizes, may_lack)
  for _, m in ipairs(sizes) do
    for strides = 0, on_cpu and 3 or 1 do
      local a_rows, c_rows = strides % 2 == 0, strides % 3 == 0
      local ok, got = pcall(rows, c, m, options, a_rows, c_rows, m == 7 and c.k + 3 or nil)
      if ok then agree(c, got, ("M = %d, strides %d"):format(m, strides)) end
      assert(ok or may_lack and not a_rows and got:find("no configuration for f32", 1, true), got)
    end
  end
end

-- All configurations: each has the bits, or is refused.
local function check_configs(c, options, all)
  local p = configs.facts(select(2, rows(c, 9, options, true, true)))
  local n_kept, n_refused = 0, 0
  for _, row in ipairs(configs.list) do
    if all and configs.can_compute(row, p) or row.device == p.target then
      local ok, got = pcall(rows, c, 9, {bits = options.bits, config = row.name}, true, true)
      if ok then agree(c, got, row.name) end
      assert(ok or got:find("breaks the contract bits", 1, true)
        or got:find("is not for this problem", 1, true), got)
      if ok then n_kept = n_kept + 1 else n_refused = n_refused + 1 end
    end
  end
  assert(n_kept > 0)
  return n_refused
end

local function check(dtype, k, b_rows, like, sizes, n_rows)
  local c, options = case(dtype, k, b_rows, n_rows), {bits = like or "batch_invariant"}
  c.first = rows(c, n_rows, options, true, true)
  check_sizes(c, options, sizes, like ~= nil)
  c.n_refused = check_configs(c, options, on_cpu and like ~= nil)
  return c
end

local few <const> = {1, 7, 8, 33, 70}
local types = on_cpu and {f32, f16, bf16, tf32, f8e4m3, i8, f64} or {f32, f16, tf32, f8e4m3}
for _, dtype in ipairs(types) do
  for b = 0, on_cpu and 1 or 0 do check(dtype, 96, b == 0, nil, few, 80) end
end
check(f16, 100, false, nil, {1, 9, 64}, 64)
check(f32, 72, true, nil, {1, 40, 128}, 130)
local many <const> = on_cpu and {1, 2, 500, 1023, 4095}
  or {1, 2, 3, 16, 31, 64, 129, 500, 1000, 2047, 4096}
check(f16, 64, true, nil, many, MOST)
check(f32, 64, true, nil, on_cpu and {1, 1023} or many, on_cpu and 1030 or MOST)

-- With what is done with the sums, and a C of 16 bits.
local function check_epilogue(dtype, out, m, like)
  local c = case(dtype, 96, true, 70)
  local options = {bits = like or "batch_invariant", alpha = 1.5, beta = 0.5,
                   bias = view(c.B(_, 3), layout(N, stride(c.B)[1])),
                   epilogue = function(v, i, j) return max(v, 0.0) + j - i * 0.25 end}
  c.out = out
  c.first = rows(c, 70, options, true, true)
  check_sizes(c, options, {1, m}, false)
end
check_epilogue(f16, f16, 13)
check_epilogue(f32, f32, 13)
if on_cpu then check_epilogue(f16, f16, 13, "hopper 64x64x64") end

-- A batch: C (M,N,L) holds the bits of the products one by one.
local function check_batch(dtype, m, options)
  local c, L = case(dtype, 96, true, math.max(3 * m, N)), 3
  local all = on(c.values, dtype, true)
  local A = view(all, layout({m, c.k, L}, {c.k, 1, m * c.k}))
  local C = zeros(f32, layout{m, N, L}):to(here)
  matmul(A, c.B, C, options)
  for l = 0, L - 1 do
    c.first = bits_of(matmul(A(_, _, l), c.B, zeros(f32, layout{m, N}):to(here), options))
    agree(c, bits_of(C(_, _, l)), "batch " .. l)
  end
end
for _, dtype in ipairs{f16, f32} do
  check_batch(dtype, 5, {bits = "batch_invariant"})
  check_batch(dtype, 64, {bits = "batch_invariant"})
end
if on_cpu then check_batch(bf16, 5, {bits = "hopper 64x64x64"}) end

-- Like a configuration, a product with K in parts, or the order of a launch: the bits are its own.
local function same_as(dtype, like, options, others)
  local c = check(dtype, 96, true, like, {1, 12, 66}, 66)
  agree(c, rows(c, 66, options, true, true), "its own")
  local other, differs = rows(c, 66, others, true, true), false
  for m, row in pairs(other) do differs = differs or row ~= c.first[m] end
  print(differs, c.n_refused > 0)
end
if on_cpu or device().sm >= 80 then
  same_as(f16, "mma 64x64x64", {config = "mma 64x64x64", split = 1},
    {config = "simple 64x64x8", split = 1})
else
  print "true\ttrue"
end
-- expect: true	true
same_as(f32, {config = "simple 64x64x16", split = 4}, {config = "simple 64x64x16", split = 4},
  {split = 1})
-- expect: true	true
local sliced <const> = "simt 128x64x32 turned, 2 slices"
if on_cpu then
  same_as(bf16, "hopper 64x64x64", {config = "hopper 64x64x64", split = 1}, {split = 1})
  same_as(f32, sliced, {config = sliced, split = 1}, {split = 1})
else
  print "true\ttrue\ntrue\ttrue"
end
-- expect: true	true
-- expect: true	true

-- K stays whole where a GPU would cut it.
local function n_kernels(options)
  local A, B = zeros(f32, row_major{16, 4096}), zeros(f32, row_major{N, 4096})
  return #select(3, operator.prepare(A, B, zeros(f32, row_major{16, N}), options))
end
print(n_kernels{bits = "batch_invariant"}, n_kernels{} == (on_cpu and 1 or 2))
-- expect: 1	true

-- A configuration may be a table, shipped or not.
local mine = {name = "mine", template = "cuttle.gemm_simple", tile = {32, 32, 32}, threads = {8, 4},
              stages = 2, order = "columns"}
local c = case(f32, 96, true, 40)
c.first = rows(c, 40, {bits = mine}, true, true)
agree(c, rows(c, 9, {bits = "batch_invariant", config = mine}, true, true), "mine")
mine.tile = {32, 32, 64}
print((select(2, pcall(rows, c, 9, {bits = "batch_invariant", config = mine}, true, true))
  :gsub("^%S+ ", "")))
-- expect: matmul: configuration 'mine' breaks the contract bits = "batch_invariant": at the level 'zeros after K' it has some, and the contract none
