-- cuda(...) and ptx(...) with several results and with tensors as operands: the twins on the CPU
-- engine and the texts on a GPU give what plain Lua gives.
local tap = dofile "tests/support/tap.lua"
local N <const> = 64

local function compare(name, got, want)
  local wrong
  for i = 0, N - 1 do
    if got[i] ~= want(i) then wrong = wrong or i end
  end
  tap.ok(wrong == nil, name,
    wrong and ("element %d: %s, not %s"):format(wrong, got[wrong], want(wrong)))
end

local function words(seed)
  local list = {}
  for i = 1, N do list[i] = (i * 2654435761 + seed) & 0xffffffff end
  return from_table(u32, list), list
end

local a, list_a = words(1)
local b, list_b = words(77)

-- Results by name come in the order of the text, those of a list in the order of the list.
local lo, hi, swapped = zeros(u32, N), zeros(u32, N), zeros(u32, N)
kernel("results", function(a, b, lo, hi, swapped)
  local i = threadIdx.x
  local l, h = ptx([[
    .reg .u64 wide;
    mul.wide.u32 wide, $x, $y;
    mov.b64 {$l, $h}, wide;
  ]], {h = u32, l = u32}, {x = a[i], y = b[i]}, function(x, y)
    local wide = cast(x, u64) * cast(y, u64)
    return cast(wide, u32), cast(wide >> 32, u32)
  end)
  lo[i], hi[i] = l, h
  local second, first = cuda("$2 = $x; $1 = $y;", {x = l, y = h}, {u32, u32},
    function(x, y) return y, x end)
  swapped[i] = second ~ (first << 1)
end){grid = 1, block = N}(a, b, lo, hi, swapped)
compare("the low half of a product", lo,
  function(i) return list_a[i + 1] * list_b[i + 1] & 0xffffffff end)
compare("the high half", hi,
  function(i) return list_a[i + 1] * list_b[i + 1] >> 32 & 0xffffffff end)
compare("a list of results", swapped, function(i)
  local wide = list_a[i + 1] * list_b[i + 1]
  return ((wide >> 32) ~ (wide << 1)) & 0xffffffff
end)

-- A result that is also an operand starts from it; a Lua number is an immediate operand.
local mixed = zeros(u32, N)
kernel("mixes", function(a, b, mixed)
  local i = threadIdx.x
  local v = ptx("lop3.b32 $v, $v, $y, $z, $table;", {v = u32},
    {v = a[i], y = b[i], z = cast(0x0f0f0f0f, u32), table = 0xEA},
    function(v, y, z) return (v & y) | z end)
  mixed[i] = ptx("prmt.b32 $1, $v, $w, 0x5140;", u32, {v = v, w = b[i]}, function(v, w)
    return (v & 0xff) | (w & 0xff) << 8 | (v >> 8 & 0xff) << 16 | (w >> 8 & 0xff) << 24
  end)
end){grid = 1, block = N}(a, b, mixed)
compare("a result that starts from an operand", mixed, function(i)
  local v, w = (list_a[i + 1] & list_b[i + 1]) | 0x0f0f0f0f, list_b[i + 1]
  return (v & 0xff) | (w & 0xff) << 8 | (v >> 8 & 0xff) << 16 | (w >> 8 & 0xff) << 24
end)

-- Every type that PTX has registers for.
for _, T in ipairs{f64, f32, i64, i32, u64, u32, i16, u16, f16, bf16} do
  local from, to = arange(T, N), zeros(T, N)
  local bits = T.bits
  kernel("moves", function(from, to)
    local i = threadIdx.x
    to[i] = ptx(("mov.b%d $1, $v;"):format(bits), T, {v = from[N - 1 - i]},
      function(v) return v end)
  end){grid = 1, block = N}(from, to)
  compare(("a register of type %s"):format(T), to, function(i) return from[N - 1 - i] end)
end

-- Addresses in global and shared memory, also of swizzled tensors and of parts: what follows sees
-- what the text wrote, and the text sees what went before.
local x, y, z = arange(f32, N), zeros(f32, N), zeros(f32, {2, N})
kernel("memory", function(x, y, z)
  local i = threadIdx.x
  y[i] = x[i] + 1.0
  local before = y[i]
  cuda("*$p = *$p * 2.0f + $v;", {p = {y, i}, v = before}, function(p, v) p[0] = p[0] * 2.0 + v end)
  local after = y[i]
  local s = shared(f32, L"Sw<2,0,3> o 0 o 64:1")
  ptx("st.shared.f32 [$p], $v;", nil, {p = {s, i}, v = after}, function(p, v) p[0] = v end)
  sync_threads()
  local q = ptx("ld.shared.f32 $1, [$p];", f32, {p = {s, N - 1 - i}}, function(p) return p[0] end)
  local row = z(1, _)
  ptx("st.global.f32 [$p], $v;", {}, {p = {row, i}, v = q}, function(p, v) p[0] = v end)
  z[{0, i}] = cuda("$p[0] - $first[0]", {p = {z, {1, i}}, first = x}, f32, function(p, first)
    return p[0] - first[0]
  end)
end){grid = 1, block = N}(x, y, z)
compare("a text that changes memory", y, function(i) return 3.0 * (i + 1) end)
compare("through shared memory", z(1, _), function(i) return 3.0 * (N - i) end)
compare("what it wrote is read again", z(0, _), function(i) return 3.0 * (N - i) end)

-- Vectors: the twin sees the elements from the address on.
local pairs_ = zeros(f32, N)
kernel("vectors", function(x, sums)
  local i = threadIdx.x
  local a, b, c, d = ptx("ld.global.v4.f32 {$1, $2, $3, $4}, [$p];", {f32, f32, f32, f32},
    {p = {x, i // 4 * 4}}, function(p) return p[0], p[1], p[2], p[3] end)
  sums[i] = a + 10 * b + 100 * c + 1000 * d
end){grid = 1, block = N}(x, pairs_)
compare("four results of a load", pairs_, function(i)
  local k = i // 4 * 4
  return 1111 * k + 10 + 200 + 3000.0
end)

-- The text.
local function source(f, ...)
  return kernel("text", f){grid = 1, block = 32}:source(...)
end
local function has(name, text, want)
  tap.ok(text:find(want, 1, true), name, text .. "\nhas not: " .. want)
end

local arithmetic = source(function(a)
  a[0] = ptx("add.u32 $1, $v, 5;", u32, {v = a[1]}, function(v) return v + 5 end)
end, a)
has("arithmetic may be moved", arithmetic,
  [[asm("add.u32 %0, %1, 5;" : "=r"(number) : "r"(a[1]));]])
local clock_text = source(function(a)
  a[0] = ptx("mov.u32 $now, %clock;", {now = u32}, function() return 0 end)
end, a)
has("what changes is volatile", clock_text, [[asm volatile("mov.u32 %0, %%clock;" : "=r"(now));]])
local loads = source(function(a, y)
  local i = threadIdx.x
  y[i] = ptx("ld.global.nc.f32 $1, [$p];", f32, {p = {a, i}}, function(p) return p[0] end)
end, x, y)
has("a load leaves memory as it is", loads, "const float* __restrict__ a")
has("so it needs no clobber", loads,
  [[asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(value) : "l"(&a[i]));]])
local stores = source(function(a, y)
  local v = a[0]
  ptx("st.global.f32 [$p], $v;", nil, {p = {a, threadIdx.x}, v = 1.0}, function(p, v) p[0] = v end)
  y[0] = a[0] - v
end, x, y)
has("a store changes memory", stores,
  [[asm volatile("st.global.f32 [%0], 0f3F800000;" : : "l"(&a[tid_x]) : "memory");]])
has("a load before it stays before it", stores, "const float v = a[0];")
tap.ok(not stores:find("const float* __restrict__ a", 1, true), "its tensor is not constant")

-- Operands come in the order of the text, whatever order the table has.
local ordered = source(function(a)
  a[0] = ptx("shf.l.wrap.b32 $r, $low, $high, $by;", {r = u32},
    {by = a[3], high = a[2], low = a[1]},
    function(by, high, low) return funnel_shift_l(low, high, by) end)
end, a)
has("operands in the order of the text", ordered, [["r"(a[1]), "r"(a[2]), "r"(a[3])]])

-- NVRTC takes all of it.
local compiles, why = pcall(function()
  return kernel("nothing", function(t) t[threadIdx.x] = 1.0 end){grid = 1, block = 32}:ptx(x)
end)
if compiles then
  local ptx_text = kernel("text", function(x, y)
    y[threadIdx.x] = cuda("__ldcs($p)", {p = {x, threadIdx.x}}, f32, function(p) return p[0] end)
  end){grid = 1, block = 32}:ptx(x, y)
  has("the address of an element in CUDA C", ptx_text, "ld.global.cs.f32")
else
  tap.skip("the address of an element in CUDA C", why:match "^[^\n;]*")
end
tap.done()
