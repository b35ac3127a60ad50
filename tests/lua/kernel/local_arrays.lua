-- Arrays of a thread that run-time values index, in local memory, against plain Lua.

-- N queens: each thread takes one placement of the first two rows and keeps its own stack.
local function queens(n, depth)
  return function(counts)
    local first = threadIdx.x
    local c0, c1 = first % n, first // n
    local columns, left, right, free = local_array(u32, depth), local_array(u32, depth),
      local_array(u32, depth), local_array(u32, depth)
    local all = u32((1 << n) - 1)
    local a, b = u32(1) << u32(c0), u32(1) << u32(c1)
    local count = 0
    if first < n * n and (b & (a | a << 1 | a >> 1)) == 0 then
      columns[0] = a | b
      left[0] = (a << 1 | b) << 1
      right[0] = (a >> 1 | b) >> 1
      free[0] = all & ~(columns[0] | left[0] | right[0])
      local at = 0
      while at >= 0 do
        local open = free[at]
        if open == 0 then
          at = at - 1
        else
          local bit = open & (~open + 1)
          free[at] = open ~ bit
          local c = columns[at] | bit
          if c == all then
            count = count + 1
          else
            local l, r = (left[at] | bit) << 1, (right[at] | bit) >> 1
            at = at + 1
            columns[at] = c
            left[at] = l
            right[at] = r
            free[at] = all & ~(c | l | r)
          end
        end
      end
    end
    atomic_add(counts, 0, count)
  end
end
for n, expected in pairs{[5] = 10, [6] = 4, [7] = 40, [8] = 92} do
  local counts = zeros(i32, 1)
  kernel("queens", queens(n, n)){grid = 1, block = 64}(counts)
  assert(counts[0] == expected, ("%d queens: %d"):format(n, counts[0]))
end
print("queens") -- expect: queens

-- Every element type, indices that differ from lane to lane, loops that nobody can unroll.
for _, T in ipairs{f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8} do
  local n, threads = 7, 48
  local x, y = zeros(T, {n, threads}), zeros(T, {n, threads})
  for t = 0, threads - 1 do
    for i = 0, n - 1 do x[{i, t}] = (i * 5 + t) % 100 end
  end
  kernel("turn", function(x, y, turns)
    local t = threadIdx.x
    local a = local_array(x.dtype, n)
    for i in range(turns) do a[(i + t) % n] = x[{i, t}] end
    for i in range(turns) do y[{i, t}] = a[(i * 3 + t * 2) % n] end
  end){grid = 1, block = threads}(x, y, n)
  for t = 0, threads - 1 do
    for i = 0, n - 1 do
      local from = ((i * 3 + t * 2) - t) % n
      assert(y[{i, t}] == x[{from, t}], tostring(T))
    end
  end
end
print("types") -- expect: types

-- A layout, whole-tensor operations, run-time slices.
local x, y = arange(i32, 64), zeros(i32, 64)
kernel("shapes", function(x, y, n)
  local t = threadIdx.x
  local a, b = local_array(i32, row_major{4, 4}), local_array(i32, {4, 4})
  fill(a, 7)
  clear(b)
  a[{t % 4, n}] = t
  local row = b(t % 4, _)
  copy(a(t % 4, _), row)
  local total = 0
  for i in range(n + 3) do total = total + b[{t % 4, i}] * (i + 1) end
  y[t] = total + x[t] * 0
end){grid = 1, block = 64}(x, y, 1)
for t = 0, 63 do assert(y[t] == 7 + 2 * t + 21 + 28, t) end
print("shapes") -- expect: shapes

-- A histogram of small numbers, each thread its own; the loop is divergent.
local bins = zeros(i32, {8, 32})
local samples = zeros(u8, {40, 32})
for t = 0, 31 do for i = 0, 39 do samples[{i, t}] = (i * i + t * 7) % 11 % 8 end end
kernel("histogram", function(samples, bins)
  local t = threadIdx.x
  local h = local_array(i32, 8)
  clear(h)
  for i in range(t + 1) do
    local v = i32(samples[{i % 40, t}])
    if v ~= 3 then h[v] = h[v] + 1 end
  end
  for i in range(8) do bins[{i, t}] = h[i] end
end){grid = 1, block = 32}(samples, bins)
for t = 0, 31 do
  local h = {[0] = 0, 0, 0, 0, 0, 0, 0, 0}
  for i = 0, t do
    local v = samples[{i % 40, t}]
    if v ~= 3 then h[v] = h[v] + 1 end
  end
  for i = 0, 7 do assert(bins[{i, t}] == h[i]) end
end
print("histogram") -- expect: histogram
