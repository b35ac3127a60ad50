-- Loops of the kernel over range() and axes(), loops that unroll() runs while tracing, and Lua's own
-- over static and run-time bounds: what they put into a tensor, in order.
local out = zeros(i32, 64)
local n_same = 0

-- The kernel puts these numbers, and nothing behind them.
local function check(name, want, f, ...)
  fill(out, -999)
  kernel(f){grid = 1, block = 1}(out, ...)
  local got = out:totable()
  for i = 1, #want + 1 do
    local expected = want[i] or -999
    if got[i] ~= expected then
      print(("%s: put %d is %d, expected %d"):format(name, i, got[i], expected))
      return
    end
  end
  n_same = n_same + 1
end

-- What range(a, b, s) means.
local function list(a, b, s)
  local t, i = {}, a
  while s > 0 and i < b or s < 0 and i > b do
    t[#t + 1] = i
    i = i + s
  end
  return t
end

local cases = {{0, 5, 1}, {2, 11, 3}, {2, 12, 3}, {5, 5, 1}, {7, 5, 1}, {-4, 3, 2}, {5, 0, -1},
  {11, 2, -3}, {3, 3, -1}, {0, 9, -1}}
for i = 1, #cases do
  local a, b, s = table.unpack(cases[i])
  local name = ("range(%d, %d, %d)"):format(a, b, s)
  check(name, list(a, b, s), function(t, a, b) -- run-time bounds
    local at = 0
    for k in range(a, b, s) do
      t[at] = k
      at = at + 1
    end
  end, a, b)
  check(name .. " static", list(a, b, s), function(t)
    local at = 0
    for k in range(a, b, s) do
      t[at] = k
      at = at + 1
    end
  end)
  check("un" .. name, list(a, b, s), function(t) -- unrolled: Lua numbers
    local at = 0
    for k in unroll(a, b, s) do
      assert(math.type(k) == "integer" and tostring(k) == ("%d"):format(k))
      t[at] = k
      at = at + 1
    end
  end)
end
check("range(6)", list(0, 6, 1), function(t) for i in range(6) do t[i] = i end end)
check("range(n)", list(0, 6, 1), function(t, n) for i in range(n) do t[i] = i end end, 6)
check("range(1, n)", list(1, 6, 1), function(t, n) for i in range(1, n) do t[i - 1] = i end end, 6)
check("range(0, 7, {unroll = 4})", list(0, 7, 1), function(t)
  for i in range(0, 7, {unroll = 4}) do t[i] = i end
end)
check("axes of a tensor", list(0, 12, 1), function(t, A)
  local n = size(A, 0)
  for j in axes(A, 1) do
    for i in axes(A, 0) do t[j * n + i] = j * n + i end
  end
end, zeros(f32, {3, 4}))
check("axes of a layout", list(0, 5, 1), function(t)
  for i in axes(layout{5, 2}, 0) do t[i] = i end
end)
local values = {[0] = 10, 20, 30}
check("unroll indexes tables", {10, 20, 30}, function(t)
  for i in unroll(3) do t[i] = values[i] end
end)

-- Lua's own loops, whose bounds are static on the host and run-time values in the kernel.
local function compare(name, body, count)
  local want = {}
  body(function(v) want[#want + 1] = v end, count)
  check(name, want, function(t, at, n) -- what an inner function changes must be memory
    body(function(v)
      t[at[0]] = v
      at[0] = at[0] + 1
    end, n)
  end, zeros(i32, 1), count)
end
compare("for static", function(put) for i = 3, 9, 2 do put(i) end end, 0)
compare("for run-time", function(put, n) for i = 0, n do put(i) end end, 6)
compare("for none", function(put, n) for i = 1, n do put(i) end end, 0)
compare("for down", function(put, n) for i = n, 1, -2 do put(i) end end, 9)
compare("nested", function(put, n)
  for i = 1, n do
    for j = i, n do put(i * 10 + j) end
  end
end, 4)
compare("break", function(put, n)
  for i = 1, n do
    if i * i > n then break end
    put(i)
  end
end, 30)
compare("while", function(put, n)
  while n > 1 do
    n = n % 2 == 0 and n // 2 or 3 * n + 1
    put(n)
  end
end, 7)
compare("repeat", function(put, n)
  repeat
    n = n - 3
    put(n)
  until n < 0
end, 10)
compare("goto continue", function(put, n)
  for i = 1, n do
    if i % 3 == 0 then goto continue end
    put(i)
    ::continue::
  end
end, 10)
print(n_same, "loops agree") -- expect: 46	loops agree
