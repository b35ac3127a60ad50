-- The search for the blocks that write an element leaves out what does not matter for that, and then only these
-- blocks run. Whatever brings an index or a condition through memory does matter.
local here = zeros(f32, 1).device
local N <const> = 8
local x = from_table(f32, {1, 2, 3, 4, 5, 6, 7, 8}):to(here)
local places <const> = {3, 0, 7, 1, 6, 2, 5, 4}
local at = from_table(i32, places):to(here)

-- The offsets in x of the terms of each element of y: block i writes y[places[i + 1]].
local function terms(node, out)
  if node.op == "leaf" and node.tensor == "x" then out[#out + 1] = node.offset end
  for _, operand in ipairs(node) do terms(operand, out) end
  return out
end
local function law(name, k)
  local ok = true
  for i, place in ipairs(places) do
    local o = sum_order(k{grid = N, block = 1}, {y = {place}}, at, x, zeros(f32, N):to(here))
    local list = terms(o.tree, {})
    ok = ok and list[1] == i - 1 and #list == o.n_terms
  end
  print(name, ok)
end

law("an index through shared memory and registers", kernel("scatter", function(t, x, y)
  local s, r = shared(i32, 1), fragment(i32, 1)
  copy(tile(t, {1}, {blockIdx.x}), s)
  copy(s, r)
  y[r[0]] = x[blockIdx.x]
end))                                      -- expect: an index through shared memory and registers	true
law("a loop over such a number", kernel("count", function(t, x, y)
  local r, n = fragment(i32, 1), 0
  copy(tile(t, {1}, {blockIdx.x}), r)
  for _ in range(r[0]) do n = n + 1 end
  y[n] = x[blockIdx.x]
end))                                      -- expect: a loop over such a number	true
law("a predicate that a copy brings", kernel("choose", function(t, x, y)
  local r, mask, value = fragment(i32, 1), fragment(bool, N), fragment(f32, N)
  copy(tile(t, {1}, {blockIdx.x}), r)
  local s = shared(bool, N)
  for j = 0, N - 1 do
    s[j] = r[0] == j
    value[j] = x[blockIdx.x]
  end
  copy(s, mask)
  copy_if(mask, value, tile(y, {N}, {0}))
end))                                      -- expect: a predicate that a copy brings	true
law("a tensor in memory that the kernel wrote", kernel("memory", function(t, x, y)
  local r = fragment(i32, 1)
  copy(tile(t, {1}, {blockIdx.x}), r)
  copy(r, tile(t, {1}, {blockIdx.x}))
  y[t[blockIdx.x]] = x[blockIdx.x]
end))                                      -- expect: a tensor in memory that the kernel wrote	true

-- A float that decides: by a comparison, a cast, its bits, or in a variable of a loop.
local function law_of_floats(name, k)
  local n = 0
  for i = 0, N - 1 do
    local o = sum_order(k{grid = N, block = 1}, {y = {i}}, x, zeros(f32, N):to(here))
    n = n + (terms(o.tree, {})[1] == i and 1 or 0)
  end
  print(name, n)
end
local function of_copied(name, body)
  law_of_floats(name, kernel("float", function(x, y)
    local s, r = shared(f32, 1), fragment(f32, 1)
    copy(tile(x, {1}, {blockIdx.x}), s)
    copy(s, r)
    body(r, x, y)
  end))
end
of_copied("compared", function(r, x, y)
  for j = 0, N - 1 do
    if r[0] * 2.0 == 2.0 * (j + 1) then y[j] = x[blockIdx.x] end
  end
end)                                       -- expect: compared	8
of_copied("cast", function(r, x, y)
  y[cast(r[0] - 1.0, i32)] = x[blockIdx.x]
end)                                       -- expect: cast	8
of_copied("its bits", function(r, x, y)
  y[(bitcast(r[0] + 7.0, i32) >> 20) & 7] = x[blockIdx.x]
end)                                       -- expect: its bits	8
of_copied("counted", function(r, x, y)
  local left, n = r[0], 0
  while left > 1.5 do
    left = left - 1.0
    n = n + 1
  end
  y[n] = x[blockIdx.x]
end)                                       -- expect: counted	8
of_copied("kept in shared memory", function(r, x, y)
  local s, at = shared(i32, 1), fragment(i32, 1)
  s[0] = cast(r[0], i32) - 1
  copy(s, at)
  y[at[0]] = x[blockIdx.x]
end)                                       -- expect: kept in shared memory	8
-- One that decides nothing, by way of a shuffle, a maximum and a choice.
of_copied("adds nothing to the place", function(r, x, y)
  local v = max(r[0], shfl_xor(r[0], 0))
  y[blockIdx.x] = where(blockIdx.x < 100, exp(v) * 0.0 + x[blockIdx.x], v)
end)                                       -- expect: adds nothing to the place	8

-- Values that a tile operation makes do not matter for the place, and are in the order all the same.
law("values", kernel("values", function(t, x, y)
  local r = fragment(f32, 1)
  copy(tile(x, {1}, {blockIdx.x}), r)
  axpby(1.0, tile(x, {1}, {blockIdx.x}), 1.0, r)
  copy(r, tile(y, {1}, {t[blockIdx.x]}))
end))                                      -- expect: values	true

-- Blocks that take their work in turn all run.
local tickets = kernel("tickets", function(n, t, x, y)
  local i = atomic_add(n, 0, 1)
  y[t[i]] = x[i]
end)
local right = true
for i, place in ipairs(places) do
  local o = sum_order(tickets{grid = N, block = 1}, {y = {place}}, zeros(i32, 1):to(here), at, x,
    zeros(f32, N):to(here))
  right = right and terms(o.tree, {})[1] == i - 1
end
print("tickets", right)                    -- expect: tickets	true

-- What a kernel prints are the right values, once.
local talks = kernel("talks", function(x, y)
  local r = fragment(f32, 1)
  copy(tile(x, {1}, {blockIdx.x}), r)
  printf("%g\n", r[0])
  copy(r, tile(y, {1}, {blockIdx.x}))
end)
print(sum_order(talks{grid = 2, block = 1}, {y = {1}}, x, zeros(f32, N):to(here)).n_terms)
-- expect: 1
-- expect: 2
-- expect: 1

-- Blocks of a grid in three dimensions, alone and in clusters: those of the element run.
local cube = kernel("cube", function(x, y)
  local i = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x
  y[i] = x[i] + x[0]
end)
local xs = ones(f32, 96):to(here)
for _, cluster in ipairs{{1, 1, 1}, {2, 1, 1}, {1, 3, 1}, {1, 1, 4}, {2, 3, 2}} do
  local n = 0
  for i = 0, 95, 5 do
    local o = sum_order(cube{grid = {4, 6, 4}, block = 1, cluster = cluster}, {y = {i}}, xs,
      zeros(f32, 96):to(here))
    n = n + (o.tree[1].offset == i and o.tree[1].block == i and 1 or 0)
  end
  print("cluster", table.concat(cluster, ","), n)
end
-- expect: cluster	1,1,1	20
-- expect: cluster	2,1,1	20
-- expect: cluster	1,3,1	20
-- expect: cluster	1,1,4	20
-- expect: cluster	2,3,2	20
