-- sum_order and same_order: what is a term, which values an addition brings together, what has no
-- fixed order, and what two orders differ in.
local x, z, y = rand(f32, 512), rand(f32, 512), zeros(f32, 8)

local function order_of(grid, block, fn, ...)
  return sum_order(kernel("k", fn){ grid = grid, block = block }, { b = {0} }, x, y, ...)
end

-- The rows of the text without the places.
local function show(order)
  print(order.n_terms, order.is_fixed)
  for line in tostring(order):gmatch "\n([^\n]*)" do print((line:gsub(", [^ ]*%.lua:%d+$", ""))) end
  return order
end

-- A sum goes on from memory, or from something else; terms may come first or last.
local onto = show(order_of(1, 1, function(a, b)
  local s = b[0]
  for i in range(8) do s = s + a[i] end
  b[0] = s
end))
-- expect: 9	true
-- expect:   9 terms added in order, of one thread
local from = show(order_of(1, 1, function(a, b, c)
  local s = a[0] * a[1]
  for i in range(8) do s = s + c[i] end
  b[0] = s
end, z))
-- expect: 9	true
-- expect:   8 terms added in order, of one thread
print(onto.levels[1].from, from.levels[1].from.op) -- expect: nil	mul
local backward = show(order_of(1, 1, function(a, b)
  local s = a[0]
  for i in range(1, 8) do s = a[i] + s end
  b[0] = s
end))
-- expect: 8	true
-- expect:   8 terms added in order, of one thread

local turned = show(order_of(1, 1, function(a, b)
  local s = 0.0
  for i in range(8) do s = a[i] + s end
  b[0] = s
end))
-- expect: 8	true
-- expect:   8 terms added in order, of one thread
local first = turned.tree
while first[2].op ~= "leaf" do first = first[2] end
print(first[1].op, first[2].offset, turned.tree[1].offset) -- expect: start	0	7

-- A product of elements is one term, a sum that is scaled has its own.
show(order_of(1, 1, function(a, b) b[0] = a[0] * a[1] * a[2] end))
-- expect: 1	true
-- expect:   mul
-- expect:     mul
show(order_of(1, 1, function(a, b)
  local s = 0.0
  for i in range(8) do s = s + a[i] end
  b[0] = s * a[9]
end))
-- expect: 8	true
-- expect:   mul
-- expect:     8 terms added in order, of one thread
show(order_of(1, 1, function(a, b)
  local s = 0.0
  for i in range(8) do s = s + a[i] * a[i + 8] end
  b[0] = s / 3.0
end))
-- expect: 8	true
-- expect:   div
-- expect:     8 fma in order

-- Who has what is added: threads, lanes, warps.
local pairs_of = show(order_of(1, 1, function(a, b) b[0] = (a[0] + a[1]) + (a[2] + a[3]) end))
-- expect: 4	true
-- expect:   4 terms added in pairs, of one thread
show(order_of(1, 64, function(a, b)
  local s = shared(f32, 64)
  s[threadIdx.x] = a[threadIdx.x]
  sync_threads()
  if threadIdx.x < 32 then s[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + 32] end
  sync_threads()
  if threadIdx.x < 16 then s[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + 16] end
  sync_threads()
  if threadIdx.x < 8 then s[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + 8] end
  sync_threads()
  if threadIdx.x == 0 then b[0] = s[0] end
end))
-- expect: 8	true
-- expect:   4 terms added in pairs, of lanes 8, 16 apart
-- expect:     2 terms added in pairs, of warps 1 apart

-- Atomics and several writers.
local one = show(order_of(1, 1, function(a, b) atomic_add(b, 0, a[0]) end))
-- expect: 1	true
-- expect:   1 atomic addition
local function add(a, b) atomic_add(b, 0, a[threadIdx.x + 32 * blockIdx.x]) end
local many = show(order_of(2, 32, add))
-- expect: 64	false
-- expect:   64 atomic additions in no fixed order: the bits of floats may change from launch to launch
show(order_of(1, 32, function(a, b)
  if threadIdx.x == 0 then b[0] = a[100] end
  sync_threads()
  atomic_add(b, 0, a[threadIdx.x])
end))
-- expect: 33	false
-- expect:   32 atomic additions in no fixed order: the bits of floats may change from launch to launch
show(order_of(2, 1, function(a, b) b[0] = a[blockIdx.x] end))
-- expect: 2	false
-- expect:   2 writes in no fixed order: the bits may change from launch to launch

-- What differs.
local function differ(a, b)
  local same, why = same_order(a, b)
  print(same, why and (why:gsub(" *%(line %d+%)", ""):gsub("[^ ]*%.lua:%d+", "X")))
end
differ(onto, onto)                          -- expect: true	nil
differ(many, many)
-- expect: false	b(0): atomics or several writers come in no fixed order
differ(one, one)                            -- expect: true	nil
differ(one, many)
-- expect: false	b(0): atomics or several writers come in no fixed order
local function eight(from_z)
  return order_of(1, 1, function(a, b, c)
    local s = 0.0
    for i in range(8) do s = s + (from_z and c or a)[i] end
    b[0] = s
  end, z)
end
differ(eight(false), eight(true))           -- expect: false	elements of a against elements of c
differ(eight(false), eight(false))          -- expect: true	nil
local function of_places(first, second)
  return order_of(1, 1, function(a, b) b[0] = a[first] + a[second] end)
end
differ(of_places(0, 1), of_places(8, 9))    -- expect: true	nil
differ(of_places(0, 1), of_places(1, 0))    -- expect: false	the terms of a come in another order
differ(pairs_of, of_places(0, 1))
-- expect: false	level 2: 2 terms added in pairs, of one thread, X; against nothing
differ(backward, eight(false))              -- expect: false	an element against add
