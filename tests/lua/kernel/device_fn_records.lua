-- Records as arguments and results of functions of device_fn: their fields go, and the record comes back, with its
-- metatable. A CUDA C function has their fields as parameters.
local vector = {}
vector.__index = vector
vector.__add = function(a, b) return setmetatable({x = a.x + b.x, y = a.y + b.y}, vector) end
function vector:dot(o) return self.x * o.x + self.y * o.y end
local function vec(x, y) return setmetatable({x = x, y = y}, vector) end

local scale = device_fn(function(v, k)
  if k > 2 then v.x = v.x + 1 end
  return {x = v.x * k, y = v.y * k}, v.x > 0
end, {name = "scale", noinline = true})
local sum = device_fn(function(a, b)
  local s = a + b
  return s, s.x
end)
local pair = device_fn(function(p) return {p[2], p[1]} end)
local made = device_fn(function(v) return {v + 1, same = v} end)

local k = kernel("records", function(x)
  local i = threadIdx.x
  local own = {x = x[i], y = x[i] + 0.5}
  local r, is_positive = scale(own, i)
  if i % 2 == 0 then r.x = r.x + 100 end
  local w, wx = sum(vec(1.0, x[i]), vec(x[i], 3.0))
  local p = pair{x[i], x[i] * 2}
  local m = made(x[i])
  x[i] = r.x + 1000 * r.y + own.x + where(is_positive, 0.25, 0.0)
    + (w + w):dot(vec(1.0, 1.0)) + wx + 10 * p[1] + p[2] + m[1] - m.same
end)

local function expected(i)
  local r, is_positive = scale({x = i, y = i + 0.5}, i)
  local w, wx = sum(vec(1.0, i), vec(i, 3.0))
  local p = pair{i, i * 2}
  local m = made(i)
  return r.x + (i % 2 == 0 and 100 or 0) + 1000 * r.y + i + (is_positive and 0.25 or 0)
    + (w + w):dot(vec(1.0, 1.0)) + wx + 10 * p[1] + p[2] + m[1] - m.same
end
local x, wrong = arange(f32, 32), 0
k{grid = 1, block = 32}(x)
for i = 0, 31 do if x[i] ~= expected(i) then wrong = wrong + 1 end end
print(wrong) -- expect: 0

-- What the function changes of its argument is its own, on the host as in a kernel.
local own = {x = 1.0, y = 2.0}
print(scale(own, 3).x, own.x) -- expect: 6.0	1.0

local source = k{grid = 1, block = 32}:source(x)
print(source:match "scale_f32_f32_i32(%b())") -- expect: (float a1, float a2, int a3,
-- expect:     float* __restrict__ r1, float* __restrict__ r2, bool* __restrict__ r3)
print(select(2, source:gsub("__noinline__", ""))) -- expect: 1

-- Shuffles move each field.
local y = zeros(f32, {32, 4})
local moves = kernel("moves", function(y)
  local i = threadIdx.x
  local r = vec(i, i * 0.5)
  local s = shfl_xor(r, 1) + vec(1000, 0)
  local d = shfl_down(r, 1, {width = 8})
  local u = shfl_up(r, 2, 16)
  local at = shfl_idx({i, i + 1}, 3)
  if i % 2 == 0 then at[1] = at[1] + 100 end
  y[{i, 0}], y[{i, 1}], y[{i, 2}], y[{i, 3}] = s.x + s.y, d.x + d.y, u.x + u.y, at[1] + at[2]
end)
moves{grid = 1, block = 32}(y)
local off = 0
for i = 0, 31 do
  local d = i % 8 == 7 and i or i + 1
  local u = i % 16 < 2 and i or i - 2
  local want = {1000 + (i ~ 1) * 1.5, d * 1.5, u * 1.5, 7 + (i % 2 == 0 and 100 or 0)}
  for j = 0, 3 do if y[{i, j}] ~= want[j + 1] then off = off + 1 end end
end
print(off) -- expect: 0
