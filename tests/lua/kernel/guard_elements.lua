-- Elements and slices of guarded tensors: 0 outside, writes dropped; before the first tile a coordinate
-- may lie anywhere.
local stencil = kernel("stencil", function(x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  local gx, gy = guard(x), guard(y)
  gy[i] = gx[i - 1] + gx[i] + gx(i + 1)
end)
local x, around = ones(i32, 10), full(i32, 16, 7)
stencil { grid = 2, block = 8 }(x, view(around, 10))
local text = {}
for i = 0, 15 do text[#text + 1] = around[i] end
print(table.concat(text, " "))  -- expect: 2 3 3 3 3 3 3 3 3 2 7 7 7 7 7 7

-- Two modes, nested ones, linear coordinates.
local shift = kernel("shift", function(a, b)
  local i, j = threadIdx.x, blockIdx.x
  guard(b)[{ i, j }] = guard(a)[{ i + 1, j - 1 }] + guard(a)[{ i, 100 }] + guard(a)[{ -1, j }]
end)
local a, b = arange(f32, { 5, 3 }), zeros(f32, { 5, 3 })
shift { grid = 4, block = 8 }(a, b)
print((tostring(b):gsub(" on [^\n]*", "")))  -- expect: tensor f32 (5,3):(1,5)
-- expect:     0    1    6
-- expect:     0    2    7
-- expect:     0    3    8
-- expect:     0    4    9
-- expect:     0    0    0

-- A row behind the last one is zeros; its tiles are guarded too.
local rows = kernel("rows", function(m, sums)
  local row = tile(guard(m)(blockIdx.x, _), 4, threadIdx.x)
  local r = fragment_like(row)
  copy(row, r)
  local sum = 0.0
  for i = 0, 3 do sum = sum + r[i] end
  sums[{ blockIdx.x, threadIdx.x }] = sum
end)
local sums = full(f32, { 3, 3 }, -1)
rows { grid = 3, block = 3 }(ones(f32, { 2, 9 }), sums)
print((tostring(sums):gsub(" on [^\n]*", "")))  -- expect: tensor f32 (3,3):(1,3)
-- expect:     4    4    1
-- expect:     4    4    1
-- expect:     0    0    0

-- Elements of parts; a part of a part that its tile does not divide.
local parts = kernel("parts", function(x, y)
  local t = tile(guard(x), 8, blockIdx.x)              -- 8 of 21
  local u = tile(t, 3, threadIdx.x)                    -- 3 of 8: the last has 2
  local v = tile(tile(guard(y), 8, blockIdx.x), 3, threadIdx.x)
  for i = 0, 2 do v[i] = 10 * u[i] + threadIdx.x end
end)
local from, to = arange(i32, 21), full(i32, 24, -1)
parts { grid = 3, block = 3 }(from, view(to, 21))
for i = 0, 20 do assert(to[i] == 10 * i + i % 8 // 3, i) end
print(to[21], to[23])  -- expect: -1	-1

-- Divides, group, select, named, flatten, coalesce, composition of guarded tensors.
local views = kernel("views", function(x, y)
  local g = guard(x)
  local d = zipped_divide(g, { 4, 2 })                 -- ((4,2),(2,2)) of (5,3)
  local e = group_modes(logical_divide(g, { 4, 2 }), 0, 2)
  local s = select(d:named("tile", "rest"), 0, 1):flatten()
  local c = composition(g, { 8, 4 })                   -- beyond both modes
  y[0] = d[{ { 3, 1 }, { 0, 0 } }] + d[{ { 1, 0 }, { 1, 0 } }]
  y[1] = e[{ { { 1, 0 }, { 0, 0 } } }] + e[{ { { 0, 1 }, { 1, 1 } } }]
  y[2] = s[{ 2, 1, 0, 0 }] + s[{ 3, 0, 1, 0 }]
  y[3] = c[{ 7, 0 }] + c[{ 4, 3 }] + c[{ 4, 2 }]
  y[4] = coalesce(g)[{ 4, 2 }]
end)
local y = zeros(i32, 5)
views { grid = 1, block = 1 }(arange(i32, { 5, 3 }), y)
print(y[0], y[1], y[2], y[3], y[4])  -- expect: 8	1	7	14	14

-- static shapes; extents 0 and 1
local fixed = kernel(function(x, y)
  local t = parallelize(tile(guard(x), 16, blockIdx.x), layout(8), threadIdx.x)
  local u = parallelize(tile(guard(y), 16, blockIdx.x), layout(8), threadIdx.x)
  axpby(2, t, 0, u)
end, { static_shapes = true })
for _, n in ipairs { 0, 1, 5, 16, 17 } do
  local out = full(f32, 40, 3)
  fixed { grid = 2, block = 8 }(ones(f32, n), view(out, n))
  local twos, threes = 0, 0
  for i = 0, 39 do
    if i < n and out[i] == 2 then twos = twos + 1 end
    if i >= n and out[i] == 3 then threes = threes + 1 end
  end
  assert(twos == n and threes == 40 - n, n)
end

-- A static shape of one tile, or none behind it in a mode: other blocks have nothing to do.
local once = kernel("once", function(x)
  local g = tile(guard(x), { 4, 4 }, { blockIdx.x, blockIdx.y })
  local t = parallelize(g, layout{ 4, 4 }, threadIdx.x)
  axpby(1, t, 1, t)
end, { static_shapes = true })
for _, shape in ipairs { { 4, 4 }, { 3, 7 }, { 3, 2 }, { 1, 9 } } do
  local t = ones(f32, shape)
  once { grid = { 3, 4 }, block = 16 }(t)
  assert(allclose(t, full(f32, shape, 2)), t)
end
local along = kernel("along", function(x)
  local t = tile(guard(x), { 4, 4 }, blockIdx.x)
  axpby(1, t, 1, t)
end, { static_shapes = true })
local six = ones(f32, { 6, 3 })
along { grid = 5, block = 1 }(six)
print(allclose(six, full(f32, { 6, 3 }, 2)))  -- expect: true

-- Atomics on a guarded tensor: nothing happens outside, and the old value there is 0.
local tally = kernel("tally", function(counts, olds)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  olds[i] = atomic_add(guard(counts), i - 1, 5) + 0 * atomic_max(guard(counts), -1, 3)
end)
local counts, olds = ones(i32, 3), full(i32, 6, -1)
tally { grid = 2, block = 3 }(counts, olds)
print(counts[0], counts[1], counts[2], olds[0], olds[1], olds[3], olds[4])  -- expect: 6	6	6	0	1	1	0

-- A coordinate may be anywhere: even where its negative does not fit.
local element = kernel("element", function(x, y, i) y[0] = guard(x)[i] end)
local row = kernel("row", function(x, y, i) copy(guard(x)(i, _), y) end, { static_shapes = true })
local table_of_ones, four = ones(f32, { 8, 4 }), zeros(f32, 4)
local far = {}
for _, i in ipairs { -1 << 31, 1 - (1 << 31), -1, 3, (1 << 31) - 1, i64(math.mininteger) } do
  element { grid = 1, block = 1 }(table_of_ones, four, i)
  far[#far + 1] = four[0]
  row { grid = 1, block = 1 }(table_of_ones, four, i)
  far[#far + 1] = four[3]
end
print(table.concat(far, " "))  -- expect: 0.0 0.0 0.0 0.0 0.0 0.0 1.0 1.0 0.0 0.0 0.0 0.0
