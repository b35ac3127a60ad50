-- Loops that only add up products of two loads run all their turns at once where they can: against sums
-- in Lua of integers, which are exact, for lanes side by side, at one place and scattered, for counters
-- up and down, for warps of which some lanes are elsewhere, and where a turn reads outside.
local N <const> = 40 -- threads: a whole warp, and a part of one

local function make(type, step)
  return kernel(function(a, b, out, from, to, sa, sb, ta, tb, half)
    local t = threadIdx.x
    local p = cast(0, type)
    for i = from, to, step do p = p + a[{ta * t + sa * i}] * b[{t // 16 * tb + sb * i + 7}] end
    out[{t, 0}] = p
    if t % 2 == half then
      local q = cast(1, type)
      for i = from, to, step do q = q + a[{t * 3 % 8 + i}] * b[{i}] end
      out[{t, 1}] = q
    end
  end)
end

local function filled(type, n, f)
  local x = zeros(type, {n})
  for i = 0, n - 1 do x[i] = f(i) end
  return x
end

local function expected(a, b, t, v)
  local p, q = 0, 1
  for i = v.from, v.to, v.step do
    p = p + a(v.ta * t + v.sa * i) * b(t // 16 * v.tb + v.sb * i + 7)
    q = q + a(t * 3 % 8 + i) * b(i)
  end
  return p, t % 2 == v.half and q or -1
end

local variants = {
  {from = 0, to = 30, step = 1, sa = 1, sb = 5, ta = 1, tb = 0, half = 0},
  {from = 0, to = 30, step = 1, sa = 7, sb = 1, ta = 0, tb = 16, half = 1},
  {from = 30, to = 0, step = -1, sa = 2, sb = 3, ta = 5, tb = 1, half = 2},
  {from = 2, to = 31, step = 3, sa = 0, sb = 0, ta = 2, tb = 40, half = 0},
  {from = 5, to = 4, step = 1, sa = 1, sb = 1, ta = 1, tb = 1, half = 0},
  {from = 5, to = 8, step = 1, sa = 1, sb = 1, ta = 1, tb = 1, half = 1},
}
local wrong, n = 0, 0
for _, type in ipairs{f32, f64} do
  local a = filled(type, 400, function(i) return i % 13 - 6 end)
  local b = filled(type, 400, function(i) return i * i % 11 - 5 end)
  for _, v in ipairs(variants) do
    local out = full(type, {N, 2}, -1)
    make(type, v.step){grid = 1, block = N}(a, b, out, v.from, v.to, v.sa, v.sb, v.ta, v.tb, v.half)
    for t = 0, N - 1 do
      local p, q = expected(a, b, t, v)
      wrong = wrong + (out(t, 0) == p and 0 or 1) + (out(t, 1) == q and 0 or 1)
      n = n + 2
    end
  end
end
print(wrong, n) -- expect: 0	960

-- More turns than are taken at once.
local long = kernel(function(a, b, out, n)
  local p = 0.0
  for i = 0, n - 1 do p = p + a[{i}] * b[{i + threadIdx.x}] end
  out[{threadIdx.x}] = p
end)
local L <const> = 10000
local a = filled(f32, L, function(i) return i % 3 end)
local b = filled(f32, L + 32, function(i) return i % 2 end)
local out = zeros(f32, {32})
long{grid = 1, block = 32}(a, b, out, L)
local want = {[0] = 0, [1] = 0}
for i = 0, L - 1 do
  for odd = 0, 1 do want[odd] = want[odd] + i % 3 * ((i + odd) % 2) end
end
print(out(0) == want[0], out(31) == want[1]) -- expect: true	true

-- The turn that reads outside is the one that is told of.
local ok, message = pcall(long{grid = 1, block = 32}, a, b, out, L + 1)
print(ok, message:match("read of a at %(%d+%)")) -- expect: false	read of a at (10000)
ok, message = pcall(long{grid = 1, block = 32}, a, filled(f32, L, function() return 1 end), out, L)
print(ok, message:match("read of b at .*")) -- expect: false	read of b at (10000), extent (10000), by thread (31,0,0) of block (0,0,0)

-- Offsets that wrap around at 32 bits between the first and the last turn.
local wrap = kernel(function(a, b, out, n, by)
  local p = 0.0
  for i = 0, n - 1, 4 do p = p + a[{i * by}] * b[{i + threadIdx.x}] end
  out[{threadIdx.x}] = p
end)
wrap{grid = 1, block = 32}(a, b, out, 400, (1 << 30) + 1)
local sums = {}
for t = 0, 31 do
  sums[t] = 0
  for i = 0, 399, 4 do sums[t] = sums[t] + a(i) * b(i + t) end
end
print(out(0) == sums[0], out(31) == sums[31]) -- expect: true	true
