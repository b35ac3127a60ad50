-- Two floats of 32 bits in a u64: each half has the bits of the operation alone, rounded once, as
-- Lua and string.pack round it.
local tap = dofile "tests/support/tap.lua"

local N <const> = 256
local together = kernel("together", function(x, y, z, out)
  local i = threadIdx.x
  local a, b, c = recast(x, u64)[i], recast(y, u64)[i], recast(z, u64)[i]
  local sum, rest = recast(out, u64), f32x2.fma(a, b, c)
  sum[{ i, 0 }] = f32x2.add(a, b)
  sum[{ i, 1 }] = f32x2.sub(a, b)
  sum[{ i, 2 }] = f32x2.mul(a, b)
  sum[{ i, 3 }] = rest
  local lo, hi = f32x2.unpack(rest)
  sum[{ i, 4 }] = f32x2(hi, lo)
end)
local apart = kernel("apart", function(x, y, z, out)
  for j in range(2) do
    local i = 2 * threadIdx.x + j
    out[{ i, 0 }] = x[i] + y[i]
    out[{ i, 1 }] = x[i] - y[i]
    out[{ i, 2 }] = x[i] * y[i]
    out[{ i, 3 }] = fma(x[i], y[i], z[i])
    out[{ 2 * threadIdx.x + 1 - j, 4 }] = fma(x[i], y[i], z[i])
  end
end)

-- Numbers whose sums and products round, are subnormal, overflow, or are not numbers.
local ends <const> = { 0.0, -0.0, 1e-45, -1e-40, 1.17549435e-38, 3.4028234e38, math.huge,
  -math.huge, 1 / 3, 16777217.0, -1.0 }
local function numbers(seed)
  local t, list = randn(f32, N), {}
  for i = 0, N - 1 do list[i + 1] = t[i] end
  for i = 1, #ends do
    for j = 1, #ends do list[(i * 11 + j) % N + 1] = seed == 1 and ends[i] or ends[j] end
  end
  return from_table(f32, list)
end
local x, y, z = numbers(1), numbers(2), numbers(3)
local got, want = zeros(f32, { N, 5 }), zeros(f32, { N, 5 })
together{ grid = 1, block = N // 2 }(x, y, z, got)
apart{ grid = 1, block = N // 2 }(x, y, z, want)
local function bits(v) return v ~= v and "nan" or string.pack("f", v) end
local same, by_lua = true, true
for i = 0, N - 1 do
  for j = 0, 4 do same = same and bits(got[{ i, j }]) == bits(want[{ i, j }]) end
  by_lua = by_lua and bits(got[{ i, 0 }]) == bits(x[i] + y[i]) -- twice rounded is once here
    and bits(got[{ i, 2 }]) == bits(x[i] * y[i])
end
tap.ok(same, "both halves have the bits of one float alone")
tap.ok(by_lua, "sums and products are those of doubles, rounded")

tap.done()
