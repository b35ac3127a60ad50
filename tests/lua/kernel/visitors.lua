-- visitors.lua: callbacks that assign captured locals of the kernel under run-time conditions and in loops
-- give what plain Lua gives.

local N <const>, SPHERES <const> = 64, 5

-- {====== A visitor of the hits of a ray ======

-- Calls visit(i, d) for each sphere in front of the point at p, at distance d.
local function each_hit(p, n, center, radius, visit)
  for i = 0, n - 1 do
    local d = center[i] - radius[i] - p
    if d > 0.0 then visit(i, d) end
  end
end

local function nearest(p, n, center, radius)
  local best, index, count, found = 1000.0, -1, 0, false
  each_hit(p, n, center, radius, function(i, d)
    count = count + 1
    found = true
    if d < best then
      best, index = d, i
    end
  end)
  return best, index, count, found
end

local centers, radii, points = { 3.0, 9.5, 1.25, 20.0, 6.0 }, { 0.5, 2.0, 1.0, 4.0, 1.5 }, {}
for i = 1, N do points[i] = (i * 37 % 64) * 0.375 - 2.0 end

local function based(t)
  return setmetatable({}, { __index = function(_, i) return t[i + 1] end })
end

local trace_rays = kernel("trace_rays",
  function(x, center, radius, n, distance, hit)
    local t = blockIdx.x * blockDim.x + threadIdx.x
    if t >= size(x) then return end
    local best, index, count, found = nearest(x[t], n, center, radius)
    distance[t] = best
    hit[t] = index * 100 + count + (found and 1000 or 0)
  end)

local where_to = device().sm and "cuda" or "cpu"
local function moved(t) return t:to(where_to) end
local distance, hit = moved(zeros(f32, N)), moved(zeros(i32, N))
trace_rays { grid = 3, block = 32 }(moved(from_table(f32, points)), moved(from_table(f32, centers)),
  moved(from_table(f32, radii)), SPHERES, distance, hit)

local got_distance, got_hit, n_same, n_hit = distance:totable(), hit:totable(), 0, 0
for t = 1, N do
  local best, index, count, found = nearest(points[t], SPHERES, based(centers), based(radii))
  local same = got_distance[t] == best and got_hit[t] == index * 100 + count + (found and 1000 or 0)
  n_same = n_same + (same and 1 or 0)
  n_hit = n_hit + (found and 1 or 0)
end
print(n_same, n_hit > 20 and n_hit < N) -- expect: 64	true

-- {====== Conditions, nested loops, early ends ======

local function body(x, y, t, n)
  local sum, odd, last, start = 0, 0, 7, x[t]
  local function add(v)
    sum = sum + v
    if v % 2 == 1 then odd = odd + 1 end
  end
  local function keep(v) last = v end
  if start > 3 then add(start) else add(-start) end
  for i = 0, n - 1 do
    for j = 0, i do
      if (i + j) % 3 == 0 then goto continue end
      add(i * j)
      if sum > 40 then break end
      ::continue::
    end
    if i > start then keep(i) end
  end
  local k = 0
  while k < start do
    add(k)
    k = k + 1
  end
  y[t] = sum * 1000 + odd * 10 + last
end

local xs, want = {}, {}
for t = 0, 31 do xs[t + 1] = t * 5 % 11 end
for t = 0, 31 do
  local slot = setmetatable({}, { __newindex = function(_, i, v) want[i + 1] = v end })
  body(based(xs), slot, t, 6)
end
local y = moved(zeros(i32, 32))
kernel("visits", function(x, out, n) body(x, out, threadIdx.x, n) end) { grid = 1, block = 32 }(
  moved(from_table(i32, xs)), y, 6)
local n_equal = 0
for i, v in ipairs(y:totable()) do n_equal = n_equal + (v == want[i] and 1 or 0) end
print(n_equal) -- expect: 32
