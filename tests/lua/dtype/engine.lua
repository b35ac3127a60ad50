-- engine.lua: element types on the current device, CPU engine or GPU, against reference.cast and plain
-- Lua: every cast, copies of every width, products and sums of narrow elements, unsigned integers, views
-- as another type, launch scalars. Prints TAP; `CUTTLE_DEVICE=cuda cuttle tests/lua/dtype/engine.lua`.
local tap = dofile "tests/support/tap.lua"
local check = tap.ok

local all = { f64, f32, tf32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, u64, u32, u16, u8,
  bool, f8ue8m0, f8ue4m3, f6e2m3, f6e3m2 } -- f4e2m1: packed.lua
local uints = { [8] = u8, [16] = u16, [32] = u32, [64] = u64, [6] = u8 }
local current = dofile "tests/support/current_device.lua"
local host, upload, on_host = current.host, current.upload, current.on_host

local state = 12345
local function random_bits()
  state = state * 6364136223846793005 + 1442695040888963407
  return state ~ (state >> 29)
end

-- Inputs of a type by bits: all patterns of 8 and 16 bits; of wider ones special and random ones.
local N = 1 << 16
local function inputs(T)
  return on_host(function()
    local U = uints[T.bits]
    if T == bool then
      local t = zeros(bool, N)
      for i = 0, N - 1, 3 do t[i] = true end
      return t
    end
    local t = zeros(U, N)
    if T.bits <= 16 then
      for i = 0, N - 1 do t[i] = i & (1 << U.bits) - 1 end
      return recast(t, T)
    end
    local mask = T == tf32 and 0xFFFFE000 or T.bits == 32 and 0xFFFFFFFF or -1
    for i = 0, N - 1 do
      local bits = i % 5 == 0 and random_bits() or i % 5 == 1 and -(i >> 4) or i % 5 == 2 and i
        or random_bits() >> (random_bits() & 63)
      if i % 5 == 3 and T == f64 then -- f32s and halves between narrow numbers
        bits = string.unpack("<i8", string.pack("<d", (i - 30000) * 2.0 ^ (i % 40 - 30)))
      elseif i % 5 == 3 and T == f32 then
        bits = string.unpack("<I4", string.pack("<f", (i - 30000) * 2.0 ^ (i % 40 - 30)))
      end
      t[i] = bits & mask
    end
    return recast(t, T)
  end)
end

-- To all types in one kernel: a kernel for each pair would take a compiler long.
local casting = kernel("cast_to_all", function(x, ...)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  for n, y in ipairs { ... } do y[i] = cast(x[i], all[n]) end
end)

local function is_nan_of(T, t, i)
  return (T == f64 or T == f32) and t[i] ~= t[i]
end

-- NaN between f64 and f32 has whatever bits the device gives it.
local function first_difference(T, want, got)
  local U = uints[T.bits]
  local at = reference.difference(T == bool and want or recast(want, U),
    T == bool and got or recast(got, U))
  if at == nil or not (T == f64 or T == f32) then return at end
  for i = at, size(want) - 1 do
    local same = want[i] == got[i] or (is_nan_of(T, want, i) and is_nan_of(T, got, i))
    if not same then return i end
  end
end

for _, from in ipairs(all) do
  local x, got = inputs(from), {}
  for n, to in ipairs(all) do got[n] = zeros(to, N) end
  local ok, message = pcall(casting { grid = N // 256, block = 256 }, upload(x),
    table.unpack(got))
  for n, to in ipairs(all) do
    local want, y = on_host(reference.cast, x, to), host(got[n])
    local at = ok and first_difference(to, want, y)
    check(ok and not at, ("cast %s to %s"):format(from.name, to.name), not ok and message or at and
      ("element %d: %s gave %s, expected %s"):format(at, x[at], y[at], want[at]))
  end
end

-- Copies: global to shared to registers to global, of every element and vector width; bits unchanged.
-- All types in one kernel: tensors to copy from, then those to copy to.
local function copying(per_thread)
  return kernel("copy_" .. per_thread, function(...)
    local tensors = { ... }
    for n, T in ipairs(all) do
      local A, B = tensors[n], tensors[#all + n]
      local s = shared(T, 32 * per_thread)
      copy(tile(A, { 32 * per_thread }, { blockIdx.x }), s)
      sync_threads()
      local r = fragment(T, per_thread)
      copy(tile(s, { per_thread }, { threadIdx.x }), r)
      copy(r, tile(tile(B, { 32 * per_thread }, { blockIdx.x }), { per_thread }, { threadIdx.x }))
    end
  end)
end

for _, per_thread in ipairs { 1, 2, 4, 16 } do
  local from, tensors = {}, {}
  for n, T in ipairs(all) do
    from[n] = inputs(T)
    tensors[n], tensors[#all + n] = upload(from[n]), zeros(T, N)
  end
  copying(per_thread) { grid = N // (32 * per_thread), block = 32 }(table.unpack(tensors))
  for n, T in ipairs(all) do
    local x, y, U = from[n], host(tensors[#all + n]), uints[T.bits]
    local at = T == bool and reference.difference(x, y)
      or T ~= bool and reference.difference(recast(x, U), recast(y, U))
    check(not at, ("copy %s, %d elements a thread: bits unchanged"):format(T.name, per_thread), at)
  end
end

-- Products of narrow matrices, sums in the type that computes.
local computes = { f64 = f64, i64 = i64, u64 = u64, u32 = u32, f32 = f32 }
for _, T in ipairs(all) do
  local is_float = T.name:find("f") == 1 or T.name:find("f%d") ~= nil
  local C = computes[T.name] or (is_float and f32 or i32)
  if T ~= bool then
    local k = kernel("gemm_" .. T.name, function(A, B, out)
      local a, acc = fragment(T, { 4, 8 }), fragment(C, { 4, 4 })
      clear(acc)
      copy(tile(A, { 4, 8 }, { threadIdx.x, 0 }), a)
      gemm(a, tile(B, { 4, 8 }, { blockIdx.x, 0 }), acc)
      copy(acc, tile(out, { 4, 4 }, { threadIdx.x, blockIdx.x }))
    end)
    local A = on_host(function() return rand(T, { 64, 8 }, 0, 4) end)
    local B = on_host(function() return rand(T, { 16, 8 }, 0, 4) end)
    local out = zeros(C, { 64, 16 })
    k { grid = 4, block = 16 }(upload(A), upload(B), out)
    local want = on_host(function()
      return reference.matmul(reference.cast(A, C), reference.cast(B, C))
    end)
    check(allclose(host(out), want), ("gemm of %s into %s"):format(T.name, C.name),
      select(2, allclose(host(out), want)))
  end
end

-- Unsigned arithmetic against Lua's 64-bit integers.
for _, T in ipairs { u32, u64 } do
  local mask = T == u32 and 0xFFFFFFFF or -1
  local k = kernel("unsigned_" .. T.name, function(x, z, out)
    local i = threadIdx.x
    local a, b = x[i], z[i]
    out[{ i, 0 }] = a + b * 3
    out[{ i, 1 }] = a - b
    out[{ i, 2 }] = a // b
    out[{ i, 3 }] = a % b
    out[{ i, 4 }] = min(a, b)
    out[{ i, 5 }] = max(a, b)
    out[{ i, 6 }] = a >> 3
    out[{ i, 7 }] = a << (b & 63)
    out[{ i, 8 }] = cast(where(a < b, 1, 0), T)
    out[{ i, 9 }] = ~a ~ b
    out[{ i, 10 }] = -a
    out[{ i, 11 }] = abs(a)
  end)
  local x, z = on_host(zeros, T, 64), on_host(zeros, T, 64)
  for i = 0, 63 do
    x[i] = (random_bits() >> (i % 3 * 20)) & mask
    z[i] = ((random_bits() >> (i % 5 * 12)) & mask) | 1
  end
  local out = zeros(T, { 64, 12 })
  k { grid = 1, block = 64 }(upload(x), upload(z), out)
  out = host(out)
  local bad
  local width = T.bits
  local function udiv(a, b)
    if b < 0 then return math.ult(a, b) and 0 or 1 end
    local q = ((a >> 1) // b) << 1
    if not math.ult(a - q * b, b) then q = q + 1 end
    return q
  end
  for i = 0, 63 do
    local a, b = x[i], z[i]
    local n = b & 63
    local less = math.ult(a, b)
    local want = { a + b * 3, a - b, udiv(a, b), a - udiv(a, b) * b, less and a or b,
      less and b or a, a >> 3, n < width and a << n or 0, less and 1 or 0, ~a ~ b, -a, a }
    for j, w in ipairs(want) do
      if out[{ i, j - 1 }] ~= w & mask then
        bad = bad or ("row %d of a = %x, b = %x: %x, expected %x"):format(j - 1, a, b,
          out[{ i, j - 1 }], w & mask)
      end
    end
  end
  check(not bad, "arithmetic of " .. T.name, bad)
end

-- Views as another type, in global and in shared memory.
do
  local k = kernel("views", function(A, B)
    local s = shared(u8, 512)
    local words = recast(s, u32)
    words[threadIdx.x] = recast(A, u32)[threadIdx.x]
    sync_threads()
    local bytes = recast(B, u8)
    for j = 0, 3 do bytes[threadIdx.x * 4 + 3 - j] = s[threadIdx.x * 4 + j] end
  end)
  local A, B = on_host(rand, f32, 128), zeros(f32, 128)
  k { grid = 1, block = 128 }(upload(A), B)
  local a, b, bad = recast(A, u8), recast(host(B), u8), nil
  for i = 0, 511 do bad = bad or (b[i] ~= a[i ~ 3] and i) end
  check(not bad, "bytes swapped through views", bad)
  local lag = kernel("lag", function(C) -- a store through one view is seen through the other
    local bits = recast(C, u32)
    C[threadIdx.x] = 1.0
    bits[threadIdx.x] = bits[threadIdx.x] + 0x00800000
    C[threadIdx.x] = C[threadIdx.x] + 0.5
  end)
  local C = zeros(f32, 32)
  lag { grid = 1, block = 32 }(C)
  check(host(C)[31] == 2.5, "stores through views of two types keep their order", host(C)[31])
end

-- Numbers of each type as arguments of a launch.
for _, T in ipairs(all) do
  local k = kernel("scalar_" .. T.name, function(y, v) y[0] = v end)
  local y = zeros(T, 1)
  local v = T == bool and T(true) or T(T.name:find("^t?b?f") and 1.1 or 77)
  k { grid = 1, block = 1 }(y, v)
  check(host(y)[0] == v.value, "launch argument " .. tostring(v), host(y)[0])
end

tap.done()
