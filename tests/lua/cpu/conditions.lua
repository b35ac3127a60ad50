-- luacheck: ignore 311
-- Conditions without jumps inside: by lanes, in lanes that are elsewhere, with conditions that change on
-- the way, against the same functions in plain Lua; and what fails in one is told of as ever.
local N <const> = 40

local cases = {}
function cases.choose(t, a, n, at) return t < n and at(a, t) or -5 end
function cases.choose_twice(t, a, n, at)
  local x = t < n and t % 3 == 1 and at(a, t) or -5
  return x > 0 and at(a, x) or x
end
function cases.only(t, a, n, at)
  local x = 7
  if t < n then x = x + at(a, t) end
  return x
end
function cases.both(t, a, n, at)
  local x, y = 1, 2
  if t < n then
    x = at(a, t)
    y = x * 2
  else
    y = t
    x = y + 3
  end
  return x * 100 + y
end
function cases.changed(t, a, n, at)
  local first, x = t < n, 0
  if first then
    first = t % 2 == 0
    x = at(a, t)
  else
    first = true
    x = 4
  end
  return x * 10 + (first and 1 or 0)
end
function cases.elsewhere(t, a, n, at)
  local x, y = 9, 11
  if t % 4 ~= 2 then
    for i = 0, 3 do
      if i > t % 3 then break end
      x = t + i < n and at(a, t + i) or x + 1
      if t % 2 == 0 then y = y + x else y = y - 1 end
    end
  end
  return x * 1000 + y
end

local values = zeros(i32, {N})
for i = 0, N - 1 do values[i] = (i * 7 + 3) % 23 end
for _, name in ipairs{"choose", "choose_twice", "only", "both", "changed", "elsewhere"} do
  local f = cases[name]
  local k = kernel(function(a, out, n)
    out[{threadIdx.x}] = f(threadIdx.x, a, n, function(x, i) return x[{i}] end)
  end)
  local wrong = 0
  for _, n in ipairs{0, 1, 20, 32, 33, N} do
    local out = full(i32, {N}, -1)
    k{grid = 1, block = N}(values, out, n)
    for t = 0, N - 1 do
      local want = f(t, values, n, function(x, i) return x(i) end)
      wrong = wrong + (out(t) == want and 0 or 1)
    end
  end
  print(name, wrong)
end
-- expect: choose	0
-- expect: choose_twice	0
-- expect: only	0
-- expect: both	0
-- expect: changed	0
-- expect: elsewhere	0

local reach = kernel(function(a, out, n)
  local t = threadIdx.x
  out[{t}] = t < n and a[{2 * t}] or 0
end)
local out = zeros(i32, {N})
reach{grid = 1, block = N}(values, out, N // 2)
print(out(19) == values(38), out(20)) -- expect: true	0
local _, message = pcall(reach{grid = 1, block = N}, values, out, 22)
print(message:match("out of bounds.*")) -- expect: out of bounds: read of a at (40), extent (40), by thread (20,0,0) of block (0,0,0)
