-- A launch whose tensors are others than those of the launch before, but like them, launches on these: with their
-- memory, extents and strides, and with what is known of their overlap.
local n_traces = { n = 0 }
local function body(a, x, y)
  n_traces.n = n_traces.n + 1
  local i = threadIdx.x
  if i < size(x) then y[i] = a + x[i] end
end
local k = kernel("add", body)
local go = k{ grid = 1, block = 8 }

local function text(t)
  local out = {}
  for i = 0, size(t) - 1 do out[#out + 1] = ("%d"):format(math.tointeger(t[i] // 1)) end
  return table.concat(out, " ")
end

local x, y = arange(f32, 4), zeros(f32, 4)
for _ = 1, 4 do
  go(1.0, x, y)
  print(text(x), text(y), n_traces.n)
  x, y = y, x
end
-- expect: 0 1 2 3	1 2 3 4	1
-- expect: 1 2 3 4	2 3 4 5	1
-- expect: 2 3 4 5	3 4 5 6	1
-- expect: 3 4 5 6	4 5 6 7	1

-- Extents and strides that the key does not tell apart are read anew.
local all = arange(f32, 64)
local function every(step, n) return view(all, layout({ n }, { step })) end
local long = {}
for i, shape in ipairs{ { 3, 6 }, { 5, 10 }, { 7, 6 } } do
  long[i] = { every(shape[2], shape[1]), zeros(f32, shape[1]) }
end
for round = 1, 2 do -- the first finds what the key says of each tensor
  for i in ipairs(long) do go(0.5 * round, long[i][1], long[i][2]) end
end
for i in ipairs(long) do print(text(long[i][2]), n_traces.n) end
-- expect: 1 7 13	2
-- expect: 1 11 21 31 41	2
-- expect: 1 7 13 19 25 31 37	2

-- Two of them that overlap are another trace, and those after them that do not are the first again.
local a, b = zeros(f32, 4), zeros(f32, 4)
for _ = 1, 2 do
  go(1.0, a, b)
  go(1.0, b, b)
  go(1.0, b, a)
end
print(text(a), text(b), n_traces.n) -- expect: 6 6 6 6	5 5 5 5	3

-- Others that are not like them: of another type, another rank, closed.
local ints = { arange(i32, 4), zeros(i32, 4) }
go(1, ints[1], ints[2])
go(1, ints[2], ints[1])
go(1.0, a, b)
print(text(ints[1]), text(ints[2]), text(b), n_traces.n) -- expect: 2 3 4 5	1 2 3 4	7 7 7 7	4
b:close()
local _, why = pcall(go, 1.0, a, b)
print(why:match "add:.*closed") -- expect: add: argument 3 (y) is closed

-- A tensor that no launch has had before is like them, too; one that no launch may have changes nothing.
local before = n_traces.n
for i = 1, 3 do
  local fresh = zeros(f32, 4)
  go(1.0, a, fresh)
  go(1.0, fresh, fresh)
  print(text(fresh), n_traces.n - before)
end
-- expect: 8 8 8 8	0
-- expect: 8 8 8 8	0
-- expect: 8 8 8 8	0
local backwards = view(tile(all, { 4 }, { 1 }), layout(4, -1))
local other = zeros(f32, 4)
go(1.0, a, other)
_, why = pcall(go, 1.0, zeros(f32, 4), backwards)
print(why:match "reaches before its first element")
-- expect: reaches before its first element
go(1.0, other, other)
go(1.0, a, other)
print(text(other), n_traces.n - before) -- expect: 7 7 7 7	0
