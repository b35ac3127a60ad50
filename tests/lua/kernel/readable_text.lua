-- The CUDA C as a programmer would write it: names that say what a value is for, reductions in one variable, no loop
-- of one turn, no long line. Where a shuffle is written does not change when the lanes come to it.
local function text_of(body, block, ...)
  return kernel("k", body, { static_shapes = true }){ grid = 1, block = block }:source(...)
end
local function has(text, what) return text:find(what, 1, true) ~= nil end
local function count(text, what) return select(2, text:gsub(what, "")) end

-- The steps of a reduction are one variable with the script's name.
local sums = text_of(function(x, y)
  local total = warp_reduce(x[threadIdx.x], "add")
  y[threadIdx.x] = x[threadIdx.x] / total
end, 32, zeros(f32, 32), zeros(f32, 32))
print(count(sums, "total %+= __shfl_xor_sync%(0xffffffffu, total, %d+%);")) -- expect: 5
print(count(sums, "= __shfl"), has(sums, "const float total")) -- expect: 5	false

-- A value that is still needed keeps its name.
local kept = text_of(function(x)
  local i = threadIdx.x
  local a = x[i] + x[i + 1]
  local b = a + shfl_xor(a, 1)
  x[i] = a * b
end, 32, zeros(f32, 64))
print(has(kept, "const float b = a + __shfl_xor_sync(0xffffffffu, a, 1);")) -- expect: true

-- A shuffle stays before a barrier, a write, and a condition that only some lanes fulfil.
local stays = text_of(function(x, n)
  local i = threadIdx.x
  local a = shfl_xor(x[i], 1)
  sync_threads()
  x[i] = a
  local b = shfl_xor(x[i], 2)
  x[i] = where(i < n, b, 0)
  local c = shfl_xor(x[i], 4)
  if i < n then x[i] = c end
  x[i] = i % 2 == 0 and shfl_xor(x[i], 2, { mask = 0x55555555 }) or 1.0
end, 64, zeros(f32, 64), 5)
local at = {}
for place in stays:gmatch "()const float [^\n]*= __shfl_xor_sync" do at[#at + 1] = place end
print(#at, at[1] < stays:find("__syncthreads", 1, true), count(stays, "[?{] [^\n]*__shfl"))
-- expect: 4	true	0

-- Index arithmetic is named after its tensor; comparisons have no name.
local named = text_of(function(x)
  local s = shared(f32, 256)
  local i, j = threadIdx.x % 16, threadIdx.x // 16
  s[i * 16 + j] = x[threadIdx.x]
  if threadIdx.x == 0 then x[1] = s[i * 16 + j] end
  if threadIdx.x == 0 then x[2] = s[i * 16 + j] end
end, 256, zeros(f32, 256))
print(has(named, "const int s_at = i * 16 + j;"), count(named, "if %(tid_x == 0%) {"),
  count(named, "%f[%w_][tv]_?%d* =")) -- expect: true	2	0

-- One turn is no loop.
local product = text_of(function(x, y)
  local a, b, c = fragment(f32, { 1, 4 }), fragment(f32, { 4, 4 }), fragment(f32, { 1, 4 })
  copy(x, a)
  copy(y, b)
  clear(c)
  gemm(a, b, c)
  copy(c, x)
end, 1, zeros(f32, { 1, 4 }), zeros(f32, { 4, 4 }))
print(count(product, "< 1; ")) -- expect: 0

-- Bytes of registers are packed by a function.
local bytes = text_of(function(x)
  local r = fragment(u8, 16)
  for i = 0, 15 do r[i] = i end
  copy(r, tile(x, { 16 }, { threadIdx.x }))
end, 4, zeros(u8, 64))
print(count(bytes, "make_uint4%(pack_bytes%("), count(bytes, "%] << 8")) -- expect: 1	0

-- A sum whose operands show that it fits is a plain one, up to the last number of the type.
local plain = text_of(function(x)
  local i = x[0]
  x[1] = where(i >= 0, i, 0) // 16 * 16 + threadIdx.x
end, 16, zeros(i32, 64))
print(count(plain, "unsigned")) -- expect: 0

-- The least i32 is added: it has no opposite to subtract.
local least = text_of(function(x, n)
  x[1] = (n & 7) + cast(-2^31, i32)
end, 1, zeros(i32, 2), 5)
print(count(least, "LL")) -- expect: 0

-- No line of code is longer than 100 columns.
local long = text_of(function(a, b, c, d, e)
  for i = 0, 3 do
    a[i] = b[i * 4] * c[i * 4 + 1] + b[i * 4 + 1] * c[i * 4] + d[threadIdx.x * 4 + i] * e[i] * 3
  end
  cuda("/* $a, as it is: this text of the script is not cut, however long it is, anywhere */;",
    {a = a[0]})
end, 32, zeros(f32, 64), zeros(f32, 64), zeros(f32, 64), zeros(f32, 128), zeros(f32, 64))
local longest = 0
for line in long:gmatch "[^\n]+" do
  local code = line:gsub("  // .*", "")
  if not line:find("/*", 1, true) then longest = math.max(longest, #code) end
end
print(longest > 80 and longest <= 100, count(long, "/%* [^\n]*anywhere %*/")) -- expect: true	1
