-- Comparisons of what threads count to with one number for all, in loops, which compare a warp's ends
-- where they can: against Lua's own, on indices that wrap around at 32 bits, too.
local N <const> = 64
local k = kernel(function(out, start, step, n, bound)
  for i = 0, n - 1 do
    local at = start + step * threadIdx.x
    local x = at + i
    local m = 0
    if x < bound then m = m + 1 end
    if x <= bound then m = m + 2 end
    if x > bound then m = m + 4 end
    if x >= bound then m = m + 8 end
    if bound < x and at < bound then m = m + 16 end
    out[{threadIdx.x, i}] = m
  end
end)

local function wrap32(x) return (x + 0x80000000) % 0x100000000 - 0x80000000 end
local function same(x) return x end

local function expected(start, step, t, i, bound, wrap)
  local at = wrap(start + step * t)
  local x = wrap(at + i)
  local m = (x < bound and 1 or 0) + (x <= bound and 2 or 0) + (x > bound and 4 or 0)
  return m + (x >= bound and 8 or 0) + (bound < x and at < bound and 16 or 0)
end

local function check(type, wrap, start, step, bound)
  local out = full(i32, {N, 3}, -1)
  k{grid = 1, block = N}(out, type(start), type(step), 3, type(bound))
  local wrong = 0
  for t = 0, N - 1 do
    for i = 0, 2 do
      wrong = wrong + (out(t, i) == expected(start, step, t, i, bound, wrap) and 0 or 1)
    end
  end
  return wrong
end

local wrong, n = 0, 0
for _, start in ipairs{0, -40, 100, 0x7FFFFFFF - 31, 0x7FFFFFFF - 64, -0x80000000} do
  for _, step in ipairs{1, -1, 7, 0, 0x4000000} do
    for _, bound in ipairs{-40, 0, 1, 20, 31, 32, 63, 110, 0x7FFFFFFF, -0x80000000} do
      wrong = wrong + check(i32, wrap32, start, step, bound) + check(i64, same, start, step, bound)
      n = n + 2
    end
  end
end
print(n, wrong) -- expect: 600	0

-- A loop that is never entered, and one inside it: what is computed before them changes nothing.
local nested = kernel(function(out, a, n, m)
  local sum = 0
  for _ = 0, n - 1 do
    for j = 0, m - 1 do
      local fixed = a * 3 + threadIdx.x * blockIdx.x
      if threadIdx.x + a < 20 then sum = sum + fixed end
      sum = sum + j
    end
  end
  out[{threadIdx.x, blockIdx.x}] = sum
end)
local bad = 0
for _, size in ipairs{{0, 5}, {5, 0}, {3, 4}, {1, 1}} do
  local out = full(i32, {40, 2}, -1)
  nested{grid = 2, block = 40}(out, 5, size[1], size[2])
  for t = 0, 39 do
    for b = 0, 1 do
      local fixed = t + 5 < 20 and 15 + t * b or 0
      local want = size[1] * (size[2] * fixed + size[2] * (size[2] - 1) // 2)
      bad = bad + (out(t, b) == want and 0 or 1)
    end
  end
end
print(bad) -- expect: 0
