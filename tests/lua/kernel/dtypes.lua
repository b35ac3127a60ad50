-- Every element type in a kernel: what arithmetic is done with is widened, a cast rounds (half way to
-- the even one, tf32 away from 0) or wraps, a store keeps the bits.
local function texts(t)
  local out = {}
  for i = 0, size(t) - 1 do out[i + 1] = tostring(t[i]) end
  return table.concat(out, " ")
end

-- y = x * 2 + 1 in the type that x is widened to, cast back.
local function twice(t, inputs)
  local x, y = from_table(t, inputs), zeros(t, #inputs)
  kernel(function(x, y)
    local i = threadIdx.x
    y[i] = cast(x[i] * 2 + 1, t)
  end){grid = 1, block = #inputs}(x, y)
  print(texts(x) .. " -> " .. texts(y))
end
twice(tf32, {1 / 3, -1000.5, 0.0})   -- expect: 0.333251953125 -1000.5 0.0 -> 1.6669921875 -2000.0 1.0
twice(f16, {1 / 3, -1000.5, 40000})  -- expect: 0.333251953125 -1000.5 40000.0 -> 1.666015625 -2000.0 inf
twice(bf16, {1 / 3, -1000.5, 3e38})  -- expect: 0.333984375 -1000.0 3.0040552704739e+38 -> 1.671875 -2000.0 inf
twice(f8e4m3, {1 / 3, -13.0, 300})   -- expect: 0.34375 -13.0 288.0 -> 1.75 -24.0 448.0
twice(f8e5m2, {1 / 3, -12.0, 40000}) -- expect: 0.3125 -12.0 40960.0 -> 1.5 -24.0 57344.0
twice(i16, {100, -20000, 32767})     -- expect: 100 -20000 32767 -> 201 25537 -1
twice(i8, {100, -20, 127})           -- expect: 100 -20 127 -> -55 -39 -1
twice(u16, {100, 65535, 40000})      -- expect: 100 65535 40000 -> 201 65535 14465
twice(u8, {100, 255, 127})           -- expect: 100 255 127 -> 201 255 255
twice(u32, {100, 4294967295, 1 << 31}) -- expect: 100 4294967295 2147483648 -> 201 4294967295 1
twice(u64, {100, 1 << 62, 3})        -- expect: 100 4611686018427387904 3 -> 201 -9223372036854775807 7
twice(i64, {100, -(1 << 62), 3})     -- expect: 100 -4611686018427387904 3 -> 201 -9223372036854775807 7

-- Unsigned integers: order, division and shifts.
local function unsigned(t, big)
  local x, y = from_table(t, {big, 7}), zeros(t, 6)
  kernel(function(x, y)
    local a, b = x[0], x[1]
    y[0] = a // b
    y[1] = a % b
    y[2] = max(a, b)
    y[3] = min(a, b)
    y[4] = a >> b
    if a < b then y[5] = b else y[5] = a end
  end){grid = 1, block = 1}(x, y)
  print(texts(y))
end
unsigned(u32, 4294967290) -- expect: 613566755 5 4294967290 7 33554431 4294967290
unsigned(u64, -6)         -- expect: 2635249153387078801 3 -6 7 144115188075855871 -6

-- Variables, a choice and a fragment hold narrow values; bits of a NaN that is only moved stay.
local nan <const> = 0 / 0
local h, out = from_table(f16, {1.5, nan, -0.0, 65504, 6e-8, 2}), zeros(f16, 6)
kernel("moves", function(h, out)
  local i = threadIdx.x
  local v = h[i]
  for k = 0, i do
    if k == 3 then v = h[0] end
  end
  local f = fragment(f16, {2})
  f[1] = v
  out[i] = f[1]
end){grid = 1, block = 6}(h, out)
print(texts(out)) -- expect: 1.5 nan -0.0 1.5 1.5 1.5

-- A partial warp, and an index that differs by lane in no regular way.
local s, g = arange(u8, 40), zeros(i16, 40)
kernel("gather", function(s, g)
  local i = threadIdx.x
  g[i] = cast(s[i * 7 % 40] - 40, i16)
end){grid = 1, block = 40}(s, g)
print(g[0], g[1], g[6], g[39]) -- expect: -40	-33	-38	-7
