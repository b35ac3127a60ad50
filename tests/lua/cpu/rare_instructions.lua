-- Kernels that need the rarer instructions of the CPU engine: places and values that differ from lane to
-- lane without a pattern, of each width.
device "cpu"
local N <const> = 96
local types = { f64, f32, f16, f8e4m3, i64, i32, i16, i8, u64, u32, u16, u8, bool }

-- Gathers and scatters by an index tensor, of 32 and of 64 bits.
local permute = kernel("permute", function(x, index, gathered, scattered)
  local i = blockIdx.x * 32 + threadIdx.x
  local at = index[i]
  gathered[i] = x[at]
  scattered[at] = x[i]
end)
local n_right = 0
for _, T in ipairs(types) do
  for _, I in ipairs { i32, i64 } do
    local x, index = zeros(T, N), zeros(I, N)
    for i = 0, N - 1 do
      index[i] = (i * 37 + 5) % N
      x[i] = T == bool and i % 3 == 0 or T ~= bool and i % 16
    end
    local gathered, scattered = zeros(T, N), zeros(T, N)
    permute{grid = N // 32, block = 32}(x, index, gathered, scattered)
    local right = true
    for i = 0, N - 1 do
      local at = (i * 37 + 5) % N
      right = right and gathered[i] == x[at] and scattered[at] == x[i]
    end
    if right then n_right = n_right + 1 else print(T, I) end
  end
end
print(n_right)  -- expect: 26

-- Variables that take each other's values, in as many turns as the lane says.
local exchange = kernel("exchange", function(turns, wide, real, flag)
  local i = threadIdx.x
  local a, b = cast(0, i64), cast(1, i64)
  local p, q = cast(0, f64), cast(1, f64)
  local s, t = i % 2 == 0, i % 3 == 0
  for _ = 1, turns[i] do
    a, b = b, a + b
    p, q = q, p + q
    s, t = t, not s
  end
  wide[i], real[i], flag[i] = a, p, s
end)
local turns, wide, real, flag = arange(i32, 32), zeros(i64, 32), zeros(f64, 32), zeros(bool, 32)
exchange{grid = 1, block = 32}(turns, wide, real, flag)
n_right = 0
for i = 0, 31 do
  local a, b, s, t = 0, 1, i % 2 == 0, i % 3 == 0
  for _ = 1, i do
    a, b, s, t = b, a + b, t, not s
  end
  if wide[i] == a and real[i] == a and flag[i] == s then n_right = n_right + 1 end
end
print(n_right, wide[31])  -- expect: 32	1346269

-- A loop whose bounds are beyond 32 bits and differ from lane to lane.
local far = kernel("far", function(first, count, out)
  local i, sum = threadIdx.x, cast(0, i64)
  for k = first[i], first[i] + count[i] - 1 do sum = sum + k end
  out[i] = sum
end)
local first, count, out = zeros(i64, 32), zeros(i64, 32), zeros(i64, 32)
for i = 0, 31 do first[i], count[i] = (1 << 40) + (i << 33), i % 7 end
far{grid = 1, block = 32}(first, count, out)
n_right = 0
for i = 0, 31 do
  local sum = 0
  for k = first[i], first[i] + count[i] - 1 do sum = sum + k end
  if out[i] == sum then n_right = n_right + 1 end
end
print(n_right)  -- expect: 32

-- Numbers below the least normal one: exp2 has them, fast.exp2 has zeros.
local small = kernel("small", function(x, y)
  y[threadIdx.x] = exp2(x[threadIdx.x])
  y[threadIdx.x + 32] = fast.exp2(x[threadIdx.x])
  y[64] = exp2(x[0])
end)
local x, y = full(f32, 32, -140), zeros(f32, 65)
small{grid = 1, block = 32}(x, y)
print(y[5] == 2.0 ^ -140, y[64] == 2.0 ^ -140, y[37])  -- expect: true	true	0.0

-- Casts of what all lanes share.
local shared_by_all = kernel("shared_by_all", function(n, wide, f, bits, real, flag)
  bits[0] = bitcast(f, i32)
  real[0] = bitcast(n, f32)
  flag[0], flag[1] = cast(n, bool), cast(wide, bool)
  bits[1] = cast(flag[0], i32) + cast(cast(n, bool), i32)
  bits[2] = cast(cast(cast(wide, bool), i64), i32)
  if bitcast(f, i32) < 0 then bits[3] = 1 end -- the sign is extended
end)
local bits, one = zeros(i32, 4), zeros(f32, 1)
local flags = zeros(bool, 2)
shared_by_all{grid = 1, block = 32}(0x40490FDB, 1 << 40, -1.5, bits, one, flags)
print(bits[0] == 0xBFC00000 - (1 << 32), bits[1], bits[2], bits[3])         -- expect: true	2	1	1
print(("%.4f"):format(one[0]), flags[0], flags[1])                     -- expect: 3.1416	true	true
