-- matmul of tensors whose modes are nested and have more than one stride: random contractions of
-- any types, in every majorness, with extents that no tile divides, windows that overlap, batches,
-- alpha, beta, bias and epilogues, against plain loops. Elements are small integers, so that all
-- sums are exact. On the CPU engine the configurations for GPUs are tried, too.
local configs, operator = require "cuttle.matmul_choice", require "cuttle.matmul"
local below = math.random
math.randomseed(tonumber(arg[2] or 20261128))

local here = zeros(f32, 1).device

local function one_of(list) return list[below(#list)] end

-- n as a product of at most so many factors.
local function factors(n, most)
  local list = {}
  for _ = 2, n == 0 and 1 or below(most) do
    local divisors = {}
    for d = 1, n do
      if n % d == 0 then divisors[#divisors + 1] = d end
    end
    list[#list + 1] = one_of(divisors)
    n = n // list[#list]
  end
  list[#list + 1] = n
  return list
end

local function entry(list) return #list == 1 and list[1] or list end

-- A layout of modes, a list of extents each, in some order in memory and perhaps with gaps.
local function strided(modes, may_overlap)
  local parts, shape, stride = {}, {}, {}
  for i, extents in ipairs(modes) do
    shape[i], stride[i] = entry(extents), {}
    for j, extent in ipairs(extents) do
      table.insert(parts, below(#parts + 1), { i, j, extent })
    end
  end
  local at, gap = below(8) == 1 and 2 or 1, one_of{ 0, 0, 1, 8 }
  for _, part in ipairs(parts) do
    stride[part[1]][part[2]] = at
    at = at * part[3] + (below(3) == 1 and gap or 0)
    if may_overlap and below(6) == 1 then at = math.max(1, at // 2) end
  end
  for i = 1, #modes do stride[i] = entry(stride[i]) end
  return layout(shape, stride)
end

-- Small integers of any type, on the device, and those as a function of their place.
local function small(dtype, l)
  local numbers = rand(i32, cosize(l), dtype.name:find "^u" and 0 or -3, 3):to("cpu")
  local whole = reference.cast(numbers, dtype):to(here)
  return view(whole, l), whole
end

local types = {
  { f32, { f32, f64, f16 } }, { f16, { f16, f32 } }, { bf16, { f32, bf16 } }, { f64, { f64 } },
  { tf32, { f32 } }, { f8e4m3, { f32 } }, { i8, { i32, f32 } }, { u8, { i32 } }, { i32, { i32 } },
  { i64, { i64 } },
}

local epilogues = {
  { f = function(v, m, n, l) return v + m - 2 * n + l end },
  { f = function(v, m, n, l, x, factor) return factor * v + x[m] end,
    operands = function(m) return { small(f32, layout(m)), 2 } end },
}

-- The value in plain Lua. An operand of the epilogue is a copy on the host.
local function expected(p, sum, m, n, l)
  local v = p.alpha * sum + p.beta * p.before(m, n, l)
  if p.bias then v = v + p.bias_here[n] end
  return p.epilogue and p.epilogue.f(v, m, n, l, table.unpack(p.operands_here)) or v
end

local function possible(p)
  local of, rows = operator.problem(p.A, p.B, p.C), {}
  for _, row in ipairs(configs.list) do
    if configs.can_compute(row, of) and (row.device == "cuda" or here == "cpu") then
      rows[#rows + 1] = row.name
    end
  end
  return rows
end

local function random_problem()
  local row = below(3) == 1 and one_of(types) or types[below(3)]
  local m, n = factors(one_of{ 1, 6, 24, 33, 40, 70 }, 3), factors(one_of{ 2, 8, 35, 48 }, 3)
  local k = factors(one_of{ 0, 1, 5, 16, 36, 64 }, 3)
  local l = below(4) == 1 and factors(one_of{ 2, 4 }, 2) or nil
  local p = { m = m, n = n, k = k, l = l, alpha = one_of{ 1, 2, -1 }, beta = one_of{ 0, 0, 1 } }
  p.A = small(row[1], strided({ m, k, l }, true))
  p.B = small(row[1], strided({ n, k, l }, true))
  local out = one_of(row[2])
  p.C, p.whole = small(out, strided { m, n, l })
  p.bias = below(4) == 1 and small(out, layout(size(p.C, 1))) or nil
  p.bias_here = p.bias and p.bias:to("cpu")
  p.epilogue = out.bits >= 32 and below(4) == 1 and one_of(epilogues) or nil
  p.operands = p.epilogue and p.epilogue.operands and p.epilogue.operands(size(p.C, 0)) or {}
  p.operands_here = { p.operands[1] and p.operands[1]:to("cpu"), p.operands[2] }
  p.config = below(2) == 1 and one_of(possible(p)) or nil
  return p
end

-- An element by its coordinates: of a whole, on the host, by the tensor's own layout.
local function reader(t, whole)
  local values, l = whole:to("cpu"), t.layout
  local numbers = {}
  for i, x in ipairs(values:totable()) do numbers[i - 1] = x end
  local m, n, b = get_mode(l, 0), get_mode(l, 1), rank(l) > 2 and get_mode(l, 2) or nil
  return function(i, j, k) return numbers[m(i) + n(j) + (b and b(k) or 0)] end, numbers
end

local function flat(t) return view(t, layout(cosize(t.layout))) end

local function wrong_of(p, before)
  local a, b = reader(p.A, flat(p.A)), reader(p.B, flat(p.B))
  local c, after = reader(p.C, p.whole)
  local mine = {}
  local function along_k(read, i, l)
    local list = {}
    for k = 0, size(p.A, 1) - 1 do list[k] = read(i, k, l) end
    return list
  end
  for l = 0, (p.l and size(p.C, 2) or 1) - 1 do
    local columns = {}
    for n = 0, size(p.C, 1) - 1 do columns[n] = along_k(b, n, l) end
    for m = 0, size(p.C, 0) - 1 do
      local row = along_k(a, m, l)
      for n = 0, size(p.C, 1) - 1 do
        local sum, column = 0, columns[n]
        for k = 0, size(p.A, 1) - 1 do sum = sum + row[k] * column[k] end
        local want, got = expected(p, sum, m, n, l), c(m, n, l)
        if want ~= got and reference.cast(from_table(f64, { want }), p.C.dtype)[0] ~= got then
          return ("(%d,%d,%d) is %s, expected %s"):format(m, n, l, got, want)
        end
        mine[get_mode(p.C.layout, 0)(m) + get_mode(p.C.layout, 1)(n)
          + (p.l and get_mode(p.C.layout, 2)(l) or 0)] = true
      end
    end
  end
  for i, v in pairs(after) do
    if not mine[i] and v ~= before[i] then return "written outside of C" end
  end
end

local function check(p)
  local before
  p.before, before = reader(p.C, p.whole)
  matmul(p.A, p.B, p.C, { alpha = p.alpha, beta = p.beta, bias = p.bias, config = p.config,
    epilogue = p.epilogue and p.epilogue.f, operands = p.epilogue and p.operands or nil })
  local wrong = wrong_of(p, before)
  if wrong then
    print(("%s: A %s %s B %s C %s %s alpha %s beta %s%s%s: %s"):format(p.config or "chosen",
      p.A.dtype, p.A.layout, p.B.layout, p.C.dtype, p.C.layout, p.alpha, p.beta,
      p.bias and " bias" or "", p.epilogue and " epilogue" or "", wrong))
  end
  return p
end

local n_nested = 0
for _ = 1, tonumber(arg[1] or here == "cpu" and 50 or 40) do -- on a GPU each is compiled
  local p = check(random_problem())
  if operator.problem(p.A, p.B, p.C).nested then n_nested = n_nested + 1 end
end
print(n_nested > 20)    -- expect: true

do -- a C of rows and columns with two strides each: TMA stores boxes that lie in one part
  local matmul, explain = require "cuttle.matmul".matmul, require "cuttle.matmul".explain
  local BOXES <const> = "hopper 256x128x64, C in boxes"
  local function operands(b, s, m, h, d)
    local A = view(randn(bf16, b * s * m), layout({{s, b}, m}, {{m, s * m}, 1}))
    local B = view(randn(bf16, m * h * d), layout({{d, h}, m}, {{1, d}, h * d}))
    local function C()
      local strides = {{d, h * s * d}, {1, s * d}}
      return view(zeros(bf16, b * s * h * d), layout({{s, b}, {d, h}}, strides))
    end
    return A, B, C
  end
  for _, case in ipairs{{2, 256, 192, 4, 128}, {3, 64, 64, 3, 256}, {1, 128, 72, 5, 128}} do
    local A, B, C = operands(table.unpack(case))
    local c, same = matmul(A, B, C(), {config = BOXES}), matmul(A, B, C(), {config = "cpu 32x32x8"})
    print(allclose(c, same, {rtol = 2.0 ^ -7, atol = 2.0 ^ -4}))
  end
  -- expect: true
  -- expect: true
  -- expect: true
  for _, case in ipairs{{2, 96, 64, 2, 128}, {2, 128, 64, 2, 64}} do
    local A, B, C = operands(table.unpack(case))
    print((select(2, pcall(matmul, A, B, C(), {config = BOXES})):match "on cpu; (.*)"))
  end
  -- expect: it stores boxes of 64, adjacent or multiples of 16 bytes apart
  -- expect: it stores boxes of 128, adjacent or multiples of 16 bytes apart
  for _, d in ipairs{128, 64} do
    local A, B, C = operands(2, 1024, 2048, 16, d)
    local config = explain(A, B, C(), {device = "h200"}).config
    print(d, config.name or config)
  end
  -- expect: 128	hopper 256x128x64, C in boxes
  -- expect: 64	mma 128x64x64
end

-- The kernels for Hopper that gather: one operand or both, contiguous along K or along their rows,
-- where tiles overhang.
local operands = {
  { L"((7,6),(32,2,2)):((32,320),(1,32,320))", L"(24,128):(128,1)" },
  { L"((5,3),(64,2)):((64,960),(1,320))", L"(136,(64,2)):(1,(8704,136))" },
  { L"((16,9),(5,4)):((1,320),(16,80))", L"((8,3),(5,4)):((1,160),(8,40))" },
}
local function try_hopper(name, dtype, layouts, C, beta)
  local p = { alpha = 1, beta = beta, operands = {}, operands_here = {}, config = name }
  p.A, p.B = small(dtype, layouts[1]), small(dtype, layouts[2])
  p.C, p.whole = small(f32, C)
  for _, row in ipairs(possible(p)) do
    if row == name then return check(p) end
  end
end
for i, layouts in ipairs(operands) do
  local m, n = size(layouts[1], 0), size(layouts[2], 0)
  try_hopper("hopper 128x128x64, gather", i == 2 and bf16 or f16, layouts, row_major{m, n}, i % 2)
  try_hopper("hopper 256x128x64, gather", f16, layouts, layout{m, n}, i % 2)
end

-- A C is made where none is given, and a product that is prepared is the same.
local A = small(f16, L"((8,4),(16,3)):((16,1000),(1,128))")
local B = small(f16, L"((4,6),(16,3)):((16,400),(1,64))")
local C = matmul(A, B)
local D = zeros(f32, C.layout)
local launch = operator.prepare(A, B, D)
launch()
print(C.layout, (allclose(C, D)))   -- expect: (32,24):(1,32)	true

-- A mode of modes without elements has no strides: nothing is divided by its extents.
local function without_sums(k)
  local modes = L(k)
  local X = view(ones(f32, 64), layout({{2, 2}, modes.shape}, {{1, 8}, modes.stride}))
  local Y = view(ones(f32, 64), layout({5, modes.shape}, {1, modes.stride}))
  local Z = matmul(X, Y, ones(f32, {4, 5}), {beta = 2.0})
  return Z[{0, 0}] == 2 and Z[{3, 4}] == 2
end
print(without_sums "(0,3)", without_sums "(3,0)", without_sums "(3,0,2)") -- expect: true	true	true
