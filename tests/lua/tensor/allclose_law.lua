-- Kernels of compare.lua find what allclose finds on the host: random types, layouts and values,
-- with NaN, infinities, subnormal numbers, and many that differ by equally much.
local compare = require "cuttle.compare"
local on_gpu = device().sm ~= nil
local here = on_gpu and "cuda" or "cpu"
math.randomseed(2111)
local random = math.random
local function any(list) return list[random(#list)] end

local floats <const> = { f64, f32, tf32, f16, bf16, f8e4m3, f8e5m2, f8ue4m3, f6e2m3, f6e3m2,
  f4e2m1 }
local integers <const> = { i64, i32, i16, i8, u64, u32, u16, u8 }
local wide <const> = { 0.0, -0.0, 1.0, 1.0, 1.0 + 2.0 ^ -10, -1.0, 1.5, 0.1, 3.0e-39,
  5.0e-324, 1.0e-7, 60000.0, math.huge, -math.huge, 0 / 0, 1.0e300, 1.7e308, -1.7e308 }
local tame <const> = { 1.0, 1.0, 1.0, 1.0, 1.0 + 2.0 ^ -10, 1.0 + 2.0 ^ -20, 1.25, 2.0 }

local function is_float(dtype)
  for _, t in ipairs(floats) do if t == dtype then return true end end
  return false
end

local function value(dtype, from)
  if dtype == bool then return random(2) == 1 end
  if is_float(dtype) then return any(from) end
  if dtype == i64 then
    return any { 1 << 60, (1 << 60) + 1, -(1 << 60), -1, 0, 1, 1, math.mininteger }
  end
  if dtype == u64 then return any { 1 << 60, (1 << 60) + 1, -1, 0, 1, 1 } end
  local least = dtype.name:sub(1, 1) == "u" and 0 or -1
  return any { least, 0, 1, 1, 1, 2, 100 }
end

-- The same elements on the host and where kernels run: those of `like`, and others in their place.
local function memory(dtype, n, from, share, like)
  local t = zeros(dtype, n):to "cpu"
  if like then copy(like, t) end
  for i = 0, n - 1 do
    if random() < share then t[i] = value(dtype, from) end
  end
  return { host = t, there = t:to(here) }
end

-- Modes of these sizes, by strides of any kind, 0 as well; indices are below n.
local function strided(sizes, n)
  local shape, strides = {}, {}
  for i, size in ipairs(sizes) do
    local parts = size % 4 == 0 and random(2) == 1 and { 4, size // 4 } or { size }
    local of_parts = {}
    for j, part in ipairs(parts) do
      of_parts[j] = random(5) == 1 and 0 or random(0, (n - 1) // (4 * #sizes * part))
    end
    shape[i], strides[i] = #parts > 1 and parts or size, #parts > 1 and of_parts or of_parts[1]
  end
  return layout(shape, strides)
end

local function any_layout(sizes, n)
  local kind = random(4)
  return kind == 1 and layout(sizes) or kind == 2 and row_major(sizes) or strided(sizes, n)
end

local N <const> = 2048
-- One of two parts of the memory, under that layout.
local function part_of(m, part, of)
  return view(view(m.host, {N, 2})(_, part), of), view(view(m.there, {N, 2})(_, part), of)
end

local function unsigned(v)
  local tens = (v >> 1) // 5
  return tens > 0 and ("%d%d"):format(tens, v - 10 * tens) or tostring(v)
end

-- What `allclose` says, from what kernels find.
local function told(n_differ, at, a, b, tolerance)
  if n_differ == 0 then return true end
  local function text(t)
    local v = t[at]
    if t.dtype == bool then return tostring(v) end
    if not is_float(t.dtype) then return (t.dtype == u64 and unsigned or tostring)(v) end
    return (t.dtype == f64 and "%.17g" or "%.9g"):format(v)
  end
  local coordinate = tostring(idx2crd(at, a.shape)):gsub("{", "("):gsub("}", ")"):gsub(" ", "")
  return false, ("%d of %d elements differ by more than %g + %g * |b|; the worst is %s: %s and %s")
    :format(n_differ, size(a), tolerance.atol, tolerance.rtol, coordinate, text(a), text(b))
end

local all = { bool }
for _, list in ipairs { floats, floats, integers } do table.move(list, 1, #list, #all + 1, all) end
local tolerances <const> = { { rtol = 0, atol = 0 }, { rtol = 0, atol = 0 },
  { rtol = 1e-4, atol = 1e-5 }, { rtol = 0, atol = 0.25 }, { rtol = 0.25, atol = 0 },
  { rtol = 1e9, atol = 0 }, { rtol = 0, atol = 1e-300 } }
local seen = { equal = 0, close = 0, apart = 0 }

local function try(i)
  local from = any { wide, tame, tame }
  local ta = all[1 + i % #all]
  local tb = random(4) == 1 and any(all) or ta
  local m = memory(ta, 2 * N, from, 1)
  local other = memory(tb, 2 * N, from, any { 0, 0.001, 0.02, 1 }, ta == tb and m.host)
  local sizes = any {
    { 1 }, { 33 }, { 512 }, { 1024 }, { 16, 20 }, { 8, 4, 12 }, { 1, 700 }, { 12, 12 } }
  local of = any_layout(sizes, N)
  local part = random(0, 1)
  local a, a_there = part_of(m, part, of)
  local b, b_there = part_of(other, part, random(2) == 1 and of or any_layout(sizes, N))
  local tolerance = any(tolerances)
  local is_exact = not is_float(ta) and not is_float(tb) and tolerance.rtol + tolerance.atol == 0
  local n_differ, at = compare.worst(a_there, b_there, tolerance.rtol, tolerance.atol, is_exact)
  local ok, why = allclose(a, b, tolerance)
  local ok_there, why_there = told(n_differ, at, a, b, tolerance)
  local kind = n_differ > 0 and "apart"
    or allclose(a, b, { rtol = 0, atol = 0 }) and "equal" or "close"
  seen[kind] = seen[kind] + 1
  if ok ~= ok_there or why ~= why_there then
    print(("case %d, %s and %s: %s; on the device %s"):format(i, a.layout, b.layout, why or "equal",
      why_there or "equal"))
  end
  if on_gpu then
    compare.least = 1
    local same, reason = allclose(a_there, b_there, tolerance)
    local usual, cause = allclose(a_there, b_there)
    local wanted, text = allclose(a, b)
    if same ~= ok or reason ~= why then print(i, reason or "equal", why or "equal") end
    if usual ~= wanted or cause ~= text then print(i, cause or "equal", text or "equal") end
  end
end

-- On a GPU each layout is another kernel, which takes time to compile.
local n_cases = on_gpu and 40 or 600
for i = 1, n_cases do
  try(i)
  if i % 50 == 0 then collectgarbage() end
end
local function is_frequent(kind, share) return seen[kind] > share * n_cases end
print(is_frequent("equal", 0.1), is_frequent("close", 0.01), is_frequent("apart", 0.3)) -- expect: true	true	true

-- As far apart as is allowed, to the last bit: the product and the sum are rounded one by one.
local near, far = zeros(f64, 200):to "cpu", zeros(f64, 200):to "cpu"
for i = 0, 199 do
  near[i] = -random(1 << 18) * 2.0 ^ -20
  far[i] = near[i] + (0.001 + 0.9 * -near[i])
end
print(allclose(far, near, { rtol = 0.9, atol = 0.001 })) -- expect: true
print(compare.worst(far:to(here), near:to(here), 0.9, 0.001, false)) -- expect: 0	-1
