-- The table of mixed types in docs/kernels_values.md, row by row: the type of an operation's result, as bits
-- that differ when it is another one; and what a Lua number becomes.
local all = { f64 = f64, f32 = f32, f16 = f16, bf16 = bf16, f8e4m3 = f8e4m3, i64 = i64, i32 = i32,
  i8 = i8, u64 = u64, u32 = u32, u8 = u8 }

-- The name of the type of a run-time value: the only one that it can be stored in and loaded from.
local function type_of(a, b)
  local found
  local k = kernel("mixed", function(x, y)
    local name = tostring(x[0] + y[0])
    found = found or name:match("run%-time (%w+)")
  end)
  local ok, message = pcall(k { grid = 1, block = 1 }, ones(all[a], 1), ones(all[b], 1))
  return ok and found or tostring(message):match("%+: .*")
end

print(type_of("f16", "f16"), type_of("bf16", "f16"), type_of("f8e4m3", "f64")) -- expect: f32	f32	f64
print(type_of("i8", "i8"), type_of("u8", "u8"), type_of("i8", "u8"))           -- expect: i32	i32	i32
print(type_of("u32", "u32"), type_of("u32", "u64"), type_of("u64", "u64"))     -- expect: u32	u64	u64
print(type_of("u32", "i32"), type_of("u32", "i64"), type_of("u8", "u32"))      -- expect: i64	i64	u32
print(type_of("u64", "f32"), type_of("i8", "f16"), type_of("u32", "f64"))      -- expect: f32	f32	f64
print(type_of("u64", "i32")) -- expect: +: u64 and i32; no integer type holds both, so cast one of them
print(type_of("i8", "u64")) -- expect: +: i32 and u64; no integer type holds both, so cast one of them
print(type_of("u8", "u64"), type_of("u64", "u8"))  -- expect: u64	u64

-- A Lua number takes the run-time operand's type, or the destination's.
local k = kernel("constants", function(h, u, out)
  h[0] = 0.1            -- rounded to f16
  h[1] = where(u[0] > 3, h[0], 2)
  u[0] = 4294967295
  u[1] = u[0] + 1       -- modulo 2^32
  u[2] = u[0] >> 28
  u[3] = u[0] // 2
  out[0] = u[0] - (1 << 40)
  out[1] = u[0] * -1    -- i64
end)
local h, u, out = zeros(f16, 2), zeros(u32, 4), zeros(i64, 2)
k { grid = 1, block = 1 }(h, u, out)
print(h[0], h[1])              -- expect: 0.0999755859375	2.0
print(u[0], u[1], u[2], u[3])  -- expect: 4294967295	0	15	2147483647
print(out[0], out[1])          -- expect: -1095216660481	-4294967295

-- Sums of narrow elements are not rounded on the way; the cast at the end rounds once.
local sum = kernel("sum", function(x, y)
  local s = 0.0
  for i = 0, size(x) - 1 do s = s + x[i] end
  y[0] = f16(s)
end)
local y = zeros(f16, 1)
sum { grid = 1, block = 1 }(full(f16, 4097, 0.25), y)
print(y[0])  -- expect: 1024.0

-- Variables of narrow and unsigned types.
local steps = kernel("steps", function(x, n, r)
  local largest = x[0]
  local hash = u32(2166136261)
  for i = 1, n do
    if x[i] > largest then largest = x[i] end
    hash = (hash ~ u32(i)) * 16777619
  end
  x[0] = largest
  r[0] = hash
  r[1] = n > 3 and x[0] > 1 and hash or 7
end)
local x, r = from_table(f8e4m3, { 1, 3, 2, 448, 5 }), zeros(u32, 2)
steps { grid = 1, block = 1 }(x, 4, r)
local want = 2166136261
for i = 1, 4 do want = ((want ~ i) * 16777619) & 0xFFFFFFFF end
print(x[0], r[0] == want, r[1] == want)  -- expect: 448.0	true	true
