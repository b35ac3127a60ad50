-- copy_if(pred, src, dst): which elements are copied, by a tensor of bools or a function of the
-- coordinate; what is not copied stays.
local function show(t)
  local text = {}
  for i = 0, size(t) - 1 do text[#text + 1] = ("%g"):format(t[i]) end
  print(table.concat(text, " "))
end

-- A fragment of bools; one for each column, seen by all its rows (stride 0).
local by_fragment = kernel("by_fragment", function(x, y, z)
  local p, columns = fragment(bool, { 2, 3 }), fragment(bool, 3)
  for j = 0, 2 do
    columns[j] = j ~= 1
    for i = 0, 1 do p[{ i, j }] = (i + j + threadIdx.x) % 2 == 0 end
  end
  copy_if(p, x(_, _, threadIdx.x), y(_, _, threadIdx.x))
  copy_if(view(columns, layout({ 2, 3 }, { 0, 1 })), x(_, _, threadIdx.x), z(_, _, threadIdx.x))
end, { static_shapes = true })
local x, y, z = arange(i32, { 2, 3, 2 }), full(i32, { 2, 3, 2 }, -1), full(i32, { 2, 3, 2 }, -1)
by_fragment { grid = 1, block = 2 }(x, y, z)
show(y)  -- expect: 0 -1 -1 3 4 -1 -1 7 8 -1 -1 11
show(z)  -- expect: 0 1 -1 -1 4 5 6 7 -1 -1 10 11

-- A function, which sees run-time values; bools in shared memory.
local by_function = kernel("by_function", function(x, y, n)
  local mine = tile(x, 4, threadIdx.x)
  copy_if(function(i) return threadIdx.x * 4 + i < n end, mine, tile(y, 4, threadIdx.x))
end)
local from, to = arange(f32, 12), zeros(f32, 12)
by_function { grid = 1, block = 3 }(from, to, 7)
show(to)  -- expect: 0 1 2 3 4 5 6 0 0 0 0 0

local by_shared = kernel("by_shared", function(x, y)
  local p = shared(bool, 32)
  p[threadIdx.x] = x[threadIdx.x] > 3
  sync_threads()
  if threadIdx.x == 0 then copy_if(p, x, y) end
end, { static_shapes = true })
local all, some = arange(f32, 32), zeros(f32, 32)
by_shared { grid = 1, block = 32 }(all, some)
print(some[3], some[4], some[31])  -- expect: 0.0	4.0	31.0

-- With a guarded source: zeros where it overhangs, where the predicate says so.
local both = kernel("both", function(x, y)
  copy_if(function(i) return i ~= 1 end, tile(guard(x), 4, 1), y)
end, { static_shapes = true })
local five, four = ones(i32, 5), full(i32, 4, 9)
both { grid = 1, block = 1 }(five, four)
show(four)  -- expect: 1 9 0 0

-- One predicate for each vector of four keeps 16-byte accesses.
local vectors = kernel("vectors", function(x, y)
  local p = fragment(bool, 2)
  for i = 0, 1 do p[i] = threadIdx.x + i < 3 end
  local tx, ty = tile(x, { 4, 2 }, { threadIdx.x, 0 }), tile(y, { 4, 2 }, { threadIdx.x, 0 })
  copy_if(view(p, layout({ 4, 2 }, { 0, 1 })), tx, ty)
end)
local text = vectors { grid = 1, block = 4 }:source(zeros(f32, { 16, 2 }), zeros(f32, { 16, 2 }))
print(text:find("if (p[i]) {", 1, true) ~= nil, select(2, text:gsub("float4", "")))  -- expect: true	2
