-- trace: what an element comes from, against plain reasoning: which elements were read and written,
-- in which space, and by which threads.
local function sorted(set)
  local list = {}
  for key in pairs(set) do list[#list + 1] = key end
  table.sort(list)
  return list
end

-- "x:5 x:7", of one kind of event.
local function offsets(t, kind, space)
  local set = {}
  for _, row in ipairs(t.rows) do
    if row.kind == kind and row.space == space then
      set[("%s:%02d"):format(row.tensor, row.offset)] = true
    end
  end
  return table.concat(sorted(set), " ")
end

local function threads(t, kind)
  local set = {}
  for _, row in ipairs(t.rows) do
    if not kind or row.kind == kind then set[("%d.%02d"):format(row.block, row.thread)] = true end
  end
  return table.concat(sorted(set), " ")
end

local function show(name, t)
  local written, by = offsets(t, "writes", "global"), threads(t, "writes")
  print(("%s: %s -> %s by %s."):format(name, offsets(t, "reads", "global"), written, by))
end

local x, y, n = arange(f32, 32), arange(f32, 32), 32
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(x) then y[i] = a * x[i] + y[i] end
end)
show("saxpy", trace(saxpy{grid = 4, block = 8}, {y = {13}}, 2.0, x, y))
-- expect: saxpy: x:13 y:13 -> y:13 by 1.05.
print(x[13], y[13]) -- the tensors are as they were
-- expect: 13.0	13.0

local double = kernel("double", function(x) x[threadIdx.x] = x[threadIdx.x] * 2 end)
show("in place", trace(double{grid = 1, block = n}, {x = {5}}, x))
-- expect: in place: x:05 -> x:05 by 0.05.
show("not written", trace(double{grid = 1, block = 8}, {x = {9}}, x))
-- expect: not written:  ->  by .
print(trace(double{grid = 1, block = 8}, {x = {9}}, x))
-- expect: x(9): 0 events
-- expect: no thread writes it: the launch ran again, with the current contents of its tensors; if a ticket or flag in them decides who writes, reset it first
print(#trace(double{grid = 0, block = 8}, {x = {1}}, x).rows)
-- expect: 0
local whole = kernel("whole", function(x) fill(tile(x, {4}, {threadIdx.x}), 1) end)
show("a constant", trace(whole{grid = 1, block = 8}, {x = {9}}, x))
-- expect: a constant:  -> x:09 by 0.02.

-- One tensor for two parameters: what one writes the other reads.
local mirror = kernel("mirror", function(a, b)
  b[threadIdx.x] = a[threadIdx.x] * 2
  sync_threads()
  a[7 - threadIdx.x] = b[threadIdx.x]
end)
show("shared memory of arguments", trace(mirror{grid = 1, block = 8}, {a = {5}}, x, x))
-- expect: shared memory of arguments: a:02 b:02 -> a:05 b:02 by 0.02.

-- A scalar that the engine keeps once is every thread's own.
local broadcast = kernel("broadcast", function(x, y) y[threadIdx.x] = x[2] * 2 + x[3] end)
local t = trace(broadcast{grid = 1, block = 8}, {y = {5}}, x, y)
print(offsets(t, "reads", "global"), threads(t))
-- expect: x:02 x:03	0.05

local transpose = kernel("transpose", function(A, B)
  local s = shared(f32, layout("(4,4):(1,5)"))
  s[{threadIdx.x, threadIdx.y}] = A[{threadIdx.x, threadIdx.y}]
  sync_threads()
  B[{threadIdx.x, threadIdx.y}] = s[{threadIdx.y, threadIdx.x}]
end)
local A, B = view(arange(f32, 16), layout{4, 4}), zeros(f32, {4, 4})
t = trace(transpose{grid = 1, block = {4, 4}}, {B = {1, 3}}, A, B)
show("transpose", t) -- B(1,3) = A(3,1), by way of s(3,1) at 3 + 5
-- expect: transpose: A:07 -> B:13 by 0.07 0.13.
print(offsets(t, "reads", "shared"), offsets(t, "writes", "shared"))
-- expect: s:08	s:08
print(t)
-- expect: B(1,3): 4 events
-- expect: block 0
-- expect:   tests/lua/trace/sources.lua:75: s[{threadIdx.x, threadIdx.y}] = A[{threadIdx.x, threadIdx.y}]
-- expect:       A(3,1) -> s(3,1), thread 7 (3,1)
-- expect:   tests/lua/trace/sources.lua:77: B[{threadIdx.x, threadIdx.y}] = s[{threadIdx.y, threadIdx.x}]
-- expect:       s(3,1) -> B(1,3), thread 13 (1,3)

local swizzled = kernel("swizzled", function(A, B)
  local s = shared(f32, composition(swizzle(2, 0, 2), layout("(4,4):(4,1)")))
  s[{threadIdx.x, threadIdx.y}] = A[{threadIdx.x, threadIdx.y}]
  sync_threads()
  B[{threadIdx.x, threadIdx.y}] = s[{threadIdx.y, threadIdx.x}]
end)
t = trace(swizzled{grid = 1, block = {4, 4}}, {B = {1, 3}}, A, B)
print(offsets(t, "reads", "shared"), tostring(t):match("s%(3,1%) %-> B%(1,3%)"))
-- expect: s:14	s(3,1) -> B(1,3)

local butterfly = kernel("butterfly", function(x, y)
  local v = x[threadIdx.x]
  for _, d in ipairs{16, 8, 4, 2, 1} do v = v + shfl_xor(v, d) end
  y[threadIdx.x] = v
end)
t = trace(butterfly{grid = 1, block = 32}, {y = {3}}, x, y)
print(#threads(t, "reads"):gsub("%S+%s*", "x"), threads(t, "writes"))
-- expect: 32	0.03
local up = kernel("up", function(x, y) y[threadIdx.x] = shfl_up(x[threadIdx.x], 1) end)
show("shuffle", trace(up{grid = 1, block = 32}, {y = {3}}, x, y))
-- expect: shuffle: x:02 -> y:03 by 0.03.

-- Of a masked reduction: the elements of the lanes of the mask.
local sum = kernel("sum", function(x, y)
  local i = threadIdx.x
  local odd = ballot(i % 8 == 3)
  if i % 8 == 3 then y[i] = cast(warp_reduce(cast(x[i], i32), "add", {mask = odd}), f32) end
end)
show("masked", trace(sum{grid = 1, block = 32}, {y = {11}}, x, y))
-- expect: masked: x:03 x:11 x:19 x:27 -> y:11 by 0.11.

-- Of a barrier that counts: what all threads compare, but not what they compare at the one before.
local tally = kernel("tally", function(x, y, z)
  local first = sync_threads_count(y[threadIdx.x] > 3)
  local second = sync_threads_count(x[threadIdx.x % 4 + threadIdx.x // 32] > 3)
  z[threadIdx.x] = cast(second, f32)
  if threadIdx.x > 90 then z[threadIdx.x] = cast(first, f32) end
end)
local z = zeros(f32, 96)
show("tally", trace(tally{grid = 1, block = 96}, {z = {40}}, x, rand(f32, 96), z))
-- expect: tally: x:00 x:01 x:02 x:03 x:04 x:05 -> z:40 by 0.40.

local total = kernel("total", function(x, y)
  local s = block_reduce(x[blockIdx.x * blockDim.x + threadIdx.x], "add")
  if threadIdx.x == 0 then y[blockIdx.x] = s end
end)
local long = arange(f32, 256)
t = trace(total{grid = 2, block = 128}, {y = {1}}, long, y)
local seen, n_seen = {}, 0
for _, row in ipairs(t.rows) do
  if row.tensor == "x" and not seen[row.offset] then
    seen[row.offset], n_seen = true, n_seen + 1
    assert(row.offset == 128 + row.thread and row.block == 1)
  end
end
print(n_seen, threads(t, "computes"):match("^1%.00 ") ~= nil)
-- expect: 128	true

local add = kernel("add", function(x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  atomic_add(y, i % 2, x[i])
end)
show("atomics", trace(add{grid = 4, block = 4}, {y = {1}}, x, y))
-- expect: atomics: x:01 x:03 x:05 x:07 x:09 x:11 x:13 x:15 y:01 -> y:01 by 0.01 0.03 1.01 1.03 2.01 2.03 3.01 3.03.
local ints, counts = arange(i32, 8), zeros(i32, 8)
local swap = kernel("swap", function(x, y)
  if threadIdx.x == 1 then atomic_cas(y, 0, x[4], x[1]) end
end)
show("compare and swap", trace(swap{grid = 1, block = 4}, {y = {0}}, ints, counts))
-- expect: compare and swap: x:01 x:04 y:00 -> y:00 by 0.01.
local exchange = kernel("exchange", function(x, y)
  y[threadIdx.x + 1] = atomic_exch(y, 0, x[threadIdx.x])
end)
show("exchange", trace(exchange{grid = 1, block = 4}, {y = {0}}, ints, counts))
-- expect: exchange: x:03 -> y:00 by 0.03.
show("what was there", trace(exchange{grid = 1, block = 4}, {y = {3}}, ints, counts))
-- expect: what was there: x:01 y:00 -> y:00 y:03 by 0.01 0.02.

local halves, narrow = arange(f16, 8), zeros(f16, 8)
local cast_up = kernel("cast_up", function(x, y)
  local i = threadIdx.x
  y[i] = cast(cast(x[i], f32) * 2, f16)
end)
show("f16", trace(cast_up{grid = 1, block = 8}, {y = {6}}, halves, narrow))
-- expect: f16: x:06 -> y:06 by 0.06.
local bits = kernel("bits", function(x, y)
  local h, g = recast(x, u16), recast(y, u16)
  g[threadIdx.x] = h[15 - threadIdx.x]
end)
show("recast", trace(bits{grid = 1, block = 16}, {y = {5}}, ints, counts))
-- expect: recast: x:02 -> y:05 by 0.10 0.11.

local row_sum = kernel("row_sum", function(A, y)
  local sum = 0.0
  for k = 0, 3 do sum = sum + A[{threadIdx.x, k}] * A[{k, threadIdx.x}] end
  y[threadIdx.x] = sum
end)
show("dot", trace(row_sum{grid = 1, block = 4}, {y = {2}}, A, y))
-- expect: dot: A:02 A:06 A:08 A:09 A:10 A:11 A:14 -> y:02 by 0.02.
local halve = kernel("halve", function(x, y)
  local v, k = x[threadIdx.x], 0
  while v > 1.0 do
    v, k = v / 2, k + 1
  end
  y[threadIdx.x] = v
end)
t = trace(halve{grid = 1, block = 32}, {y = {9}}, x, y)
show("while", t) -- 9 / 2 / 2 / 2 / 2
-- expect: while: x:09 -> y:09 by 0.09.
for _, line in ipairs(t.blocks[1].lines) do
  if line.times > 1 then print(line.times) end
end
-- expect: 4

-- A ragged edge: what lies outside is read as 0 by nobody.
local window = kernel("window", function(x, y)
  local gx, gy = guard(x), guard(y)
  local tx, ty = tile(gx, {8}, {blockIdx.x}), tile(gy, {8}, {blockIdx.x})
  local r = fragment(f32, {8})
  copy(tx, r)
  copy(r, ty)
end)
local short, copied = arange(f32, 13), zeros(f32, 13)
show("guard", trace(window{grid = 2, block = 1}, {y = {12}}, short, copied))
-- expect: guard: x:12 -> y:12 by 1.00.
local picked = kernel("picked", function(x, y)
  local mask = fragment(bool, {8})
  for i = 0, 7 do mask[i] = blockIdx.x * 8 + i < 13 and i % 2 == 0 end
  copy_if(mask, tile(x, {8}, {blockIdx.x}), tile(y, {8}, {blockIdx.x}))
end)
show("copy_if", trace(picked{grid = 2, block = 1}, {y = {12}}, x, y))
-- expect: copy_if: x:12 -> y:12 by 1.00.
show("copy_if leaves out", trace(picked{grid = 2, block = 1}, {y = {11}}, x, y))
-- expect: copy_if leaves out:  ->  by .

-- Of a choice, what was chosen.
local choose = kernel("choose", function(x, y, z)
  local a, b = x[threadIdx.x], y[threadIdx.x]
  z[threadIdx.x] = a > 3 and a or b
end)
show("chosen", trace(choose{grid = 1, block = 8}, {z = {5}}, x, y, arange(f32, 8)))
-- expect: chosen: x:05 -> z:05 by 0.05.
show("the other", trace(choose{grid = 1, block = 8}, {z = {2}}, x, y, arange(f32, 8)))
-- expect: the other: y:02 -> z:02 by 0.02.

-- A ticket that the first launch used up.
local take = kernel("take", function(ticket, y)
  if threadIdx.x == 0 and atomic_add(ticket, 0, 1) < 2 then y[blockIdx.x] = 1 end
end)
local ticket, taken = zeros(i32, 1), zeros(i32, 2)
local taking = take:prepare{grid = 2, block = 32}(ticket, taken)
taking()
print((tostring(trace(taking, {y = {1}})):match("with the current contents of its tensors")))
-- expect: with the current contents of its tensors
fill(ticket, 0)
print(#trace(taking, {y = {1}}).blocks)
-- expect: 1
