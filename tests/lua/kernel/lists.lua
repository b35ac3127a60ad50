-- Lists of tensors: one argument, any number of tensors, chosen at run time.
local function list(sizes, of)
  local l = {}
  for i, n in ipairs(sizes) do
    l[i] = zeros(f32, n)
    fill(l[i], of(i))
  end
  return l
end
local function firsts(l)
  local out = {}
  for i, x in ipairs(l) do out[i] = ("%g..%g"):format(x[0], x[size(x) - 1]) end
  return table.concat(out, " ")
end

local scale = kernel("scale", function(l, f)
  local x = l[blockIdx.x + 1]
  for i in range(threadIdx.x, size(x), blockDim.x) do x[i] = x[i] * f end
end)
local l = list({1, 100, 33, 7}, function(i) return i end)
local run = scale{grid = #l, block = 32}
run(l, 2.0)
print(firsts(l))                                   -- expect: 2..2 4..4 6..6 8..8

-- What changes in the table is seen by the next launch: a tensor put in another's place, one more, fewer.
local old = l[2]
l[2] = zeros(f32, 50)
fill(l[2], 10)
run(l, 2.0)
print(firsts(l), old[0])                           -- expect: 4..4 20..20 12..12 16..16	4.0
l[5] = zeros(f32, 3)
fill(l[5], 1)
scale{grid = #l, block = 32}(l, 0.5)
print(firsts(l))                                   -- expect: 2..2 10..10 6..6 8..8 0.5..0.5
l[5], l[4] = nil, nil
scale{grid = #l, block = 32}(l, 2.0)
print(firsts(l))                                   -- expect: 4..4 20..20 12..12

-- One specialisation serves any number of tensors of any sizes.
local traces = {n = 0}
local count = kernel("count", function(l, out)
  traces.n = traces.n + 1
  if threadIdx.x == 0 then out[0] = #l end
end)
local out = zeros(i32, 1)
for _, n in ipairs{1, 3, 200, 2000} do
  local many = list({}, tostring)
  for i = 1, n do many[i] = zeros(f32, 2 * i + 1) end
  count{grid = 1, block = 32}(many, out)
  io.write(out[0], " ")
end
print(traces.n)                                    -- expect: 1 3 200 2000 1

-- A loop over all, with an index that each thread computes, and one that is a constant.
local total = kernel("total", function(l, out)
  local sum = 0.0
  for i = 1, #l do
    local x = l[i]
    for j in range(size(x)) do sum = sum + x[j] end
  end
  out[0] = sum
  out[1] = l[1][0] + l[#l][0]
end)
local m = list({3, 4, 5}, function(i) return i end)
local sums = zeros(f32, 2)
total{grid = 1, block = 1}(m, sums)
print(sums[0], sums[1])                            -- expect: 26.0	4.0
local pick = kernel("pick", function(l, which, out)
  local t = threadIdx.x
  out[t] = l[which[t]][t % 3] + size(l[which[t]])
end)
local which, picked = from_table(i32, {1, 3, 2, 2, 3, 1, 1, 2}), zeros(f32, 8)
pick{grid = 1, block = 8}(m, which, picked)
print(table.concat(picked:totable(), " "))         -- expect: 4.0 8.0 6.0 6.0 8.0 4.0 4.0 6.0

-- Stores, atomic operations and copies of the lanes of a warp to different tensors.
local spread = kernel("spread", function(l, n)
  local x = l[threadIdx.x % 3 + 1]
  x[threadIdx.x // 3] = threadIdx.x * 1.0
  atomic_add(n[threadIdx.x % 2 + 1], 0, 1)
end)
local s, n = list({16, 16, 16}, function() return -1 end), {zeros(i32, 1), zeros(i32, {2})(_)}
n[2] = zeros(i32, 1)
spread{grid = 1, block = 32}(s, n)
print(s[1][0], s[2][0], s[3][0], s[2][10], s[3][9], s[3][10], n[1][0], n[2][0])
-- expect: 0.0	1.0	2.0	31.0	29.0	-1.0	16	16

-- Extents and strides of matrices: rows, columns and parts of larger ones in one list.
local big = arange(f32, {8, 8})
local mats = {arange(f32, {2, 3}), arange(f32, row_major{2, 3}), tile(big, {2, 4}, {1, 1})}
local gather = kernel("gather", function(l, out)
  local x = l[blockIdx.x + 1]
  for j = 0, size(x, 1) - 1 do
    for i = 0, size(x, 0) - 1 do out[{i, j, blockIdx.x}] = x[{i, j}] end
  end
end)
local got = zeros(f32, {2, 4, 3})
gather{grid = 3, block = 1}(mats, got)
local right = true
for b = 1, 3 do
  for j = 0, size(mats[b], 1) - 1 do
    for i = 0, 1 do right = right and got[{i, j, b - 1}] == mats[b][{i, j}] end
  end
end
print(right, got[{1, 3, 2}])                       -- expect: true	59.0

-- Slices, tiles, recasts and guards of a chosen tensor.
local parts = kernel("parts", function(l, out)
  local x = l[blockIdx.x + 1]
  local r = fragment(f32, 4)
  copy(tile(guard(x)(_, 1), 4, threadIdx.x), r)
  for i = 0, 3 do out[{threadIdx.x * 4 + i, blockIdx.x}] = r[i] end
  local bits = recast(x, u32)
  if threadIdx.x == 0 then out[{12, blockIdx.x}] = bitcast(bits[1], f32) end
end)
local columns = {arange(f32, {10, 2}), arange(f32, {9, 3}), arange(f32, {12, 2})}
local cut = zeros(f32, {13, 3})
parts{grid = 3, block = 3}(columns, cut)
print(cut[{9, 0}], cut[{10, 0}], cut[{8, 1}], cut[{9, 1}], cut[{11, 2}], cut[{12, 1}])
-- expect: 19.0	0.0	17.0	0.0	23.0	1.0

-- A record: a table with names. Its fields are arguments; what is static in it is a constant of the trace.
local step = kernel("step", function(o)
  local p, g = o.params[blockIdx.x + 1], o.grads[blockIdx.x + 1]
  for i in range(threadIdx.x, size(p), blockDim.x) do
    p[i] = p[i] - o.rate * g[i] * o.of[o.which]
  end
end)
local params = list({5, 6}, function() return 1 end)
local grads = list({5, 6}, function(i) return i end)
local options = {params = params, grads = grads, rate = 0.5, which = static(2),
  of = {f32(3), f32(1)}}
step{grid = 2, block = 32}(options)
print(firsts(params))                              -- expect: 0.5..0.5 0..0
options.rate, options.which = 0.25, static(1)
step{grid = 2, block = 32}(options)
print(firsts(params))                              -- expect: -0.25..-0.25 -1.5..-1.5

-- Lists in a list have keys that are known while tracing.
local swap = kernel("swap", function(pair)
  local a, b = pair[1][blockIdx.x + 1], pair[2][blockIdx.x + 1]
  a[0], b[0] = b[0], a[0]
end)
swap{grid = 2, block = 1}({params, grads})
print(firsts(params), firsts(grads))               -- expect: 1..-0.25 2..-1.5	-0.25..1 -1.5..2

-- Prepared launches and configurations that are called again hold the table, not what it holds.
local prepared = scale:prepare{grid = 2, block = 32}(grads, 2.0)
prepared()
grads[1] = zeros(f32, 4)
fill(grads[1], 7)
prepared()
prepared()
print(firsts(grads))                               -- expect: 28..28 -12..16
scale{grid = 2, block = 32}:enqueue(2, grads, 0.5)
print(firsts(grads))                               -- expect: 7..7 -3..4

-- Facts of all tensors hold: only where each is aligned, accesses are wide.
local width = kernel("width", function(l)
  local x, r = l[blockIdx.x + 1], fragment(f32, 4)
  copy(tile(guard(x), 4, threadIdx.x), r)
  copy(r, tile(guard(x), 4, threadIdx.x))
end)
local function is_wide(l)
  return width{grid = #l, block = 4}:source(l):find("float4", 1, true) ~= nil
end
local base = zeros(f32, 64)
local aligned, odd = {zeros(f32, 16), zeros(f32, 32)}, {zeros(f32, 16), view(tile(base, 1, 1), 16)}
print(is_wide(aligned), is_wide(odd))              -- expect: true	false
width{grid = 2, block = 4}(odd)

-- The list's name and type.
kernel("text", function(l) print(l) end){grid = 1, block = 1}(params) -- expect: list of tensors l (f32)

-- An extent that static_mode fixes in all of them is a constant; the others are not.
local rows = kernel("rows", function(l, out)
  local x = l[blockIdx.x + 1]
  local r = fragment(f32, size(x, 0))
  copy(x(_, size(x, 1) - 1), r)
  out[blockIdx.x] = reduce(r, "add")
end)
local fixed, lasts = {}, zeros(f32, 2)
for i = 1, 2 do fixed[i] = static_mode(arange(f32, {4, 2 + i}), 0) end
rows{grid = 2, block = 1}(fixed, lasts)
print(lasts[0], lasts[1])                          -- expect: 38.0	54.0

-- A member that is replaced, collected or closed between two launches is noticed.
local add_one = kernel("add_one", function(l)
  local x = l[blockIdx.x + 1]
  x[threadIdx.x] = x[threadIdx.x] + 1.0
end){grid = 6, block = 4}
local members = {}
for i = 1, 6 do members[i] = full(f32, 4, i * 100.0) end
for _ = 1, 3 do add_one(members) end
for i = 1, 20 do
  members[5] = full(f32, 4, i)
  if i % 3 == 0 then collectgarbage() end
  add_one(members)
  assert(members[5][0] == i + 1, i)
end
add_one(members)
print(members[1][0], members[5][0], members[6][3])  -- expect: 124.0	22.0	624.0
members[6]:close()
print((select(2, pcall(add_one, members)):gsub("^.-: ", ""))) -- expect: add_one: argument 1 (l): tensor 6 is closed; its memory was given back
