-- What a condition, a loop or a jump of the kernel changes has, on every path, the value that it had there: records,
-- their fields and captured locals, changed by functions and in loops whose first turns are static. Each function runs
-- as a kernel and by plain Lua.
-- luacheck: ignore 311 331 512 (values that only some paths read are what is tested)
local tap = dofile "tests/support/tap.lua"
local assigned = dofile "scripts/fuzz_kernels/assigned.lua"

local data <const> = { 10, 20, 7, 0, 3, 5 }

-- Compares what the body stores for n = 0 to 5.
local function same(name, body)
  local k = kernel("k", body) { grid = 1, block = 1 }
  local x = from_table(i32, data)
  local got, want = {}, {}
  for n = 0, 5 do
    local y, plain, host_x = zeros(i32, 2), { [0] = 0, 0 }, table.move(data, 1, #data, 0, {})
    local good, message = pcall(k, x, y, n)
    if not good then return tap.ok(false, name, message) end
    body(host_x, plain, n)
    got[#got + 1] = y[0] .. " " .. y[1]
    want[#want + 1] = plain[0] .. " " .. plain[1]
  end
  tap.is(table.concat(got, ", "), table.concat(want, ", "), name)
  local unset = assigned.unassigned(k:ir(x, zeros(i32, 2), 0))
  tap.is(unset, nil, name .. ": no variable is read too early")
end

-- {====== A function is called before a loop and again in it ======

same("a record is replaced by a function before a loop and in it", function(_, y, t)
  local s, m = { b = 0 }, 0
  local function f()
    if t > 0 then s = { b = 1 } end
  end
  f()
  s = { b = t }
  for _ = 1, t do
    m = m * 10 + s.b
    f()
  end
  y[0] = m
end)

same("a captured number, the same", function(_, y, t)
  local s, m = 0, 0
  local function f()
    if t > 0 then s = s + 1 end
  end
  f()
  for _ = 1, t do
    m = m * 10 + s
    f()
  end
  y[0] = m
end)

same("a record in a record, the same", function(_, y, t)
  local s, m = { r = { b = 0 } }, 0
  local function f()
    if t > 1 then s.r = { b = t } end
  end
  f()
  s = { r = { b = 5 } }
  for j = 1, t do
    m = m * 10 + s.r.b
    s.r.b = j
    f()
  end
  y[0], y[1] = m, s.r.b
end)

same("the condition that the function has is in two loops", function(x, y, t)
  local s, m = { b = 0 }, 0
  local function f(k)
    if x[k] > t then s = { b = s.b + k } end
  end
  f(3)
  s = { b = t }
  for _ = 1, t do
    for k = 1, 3 do
      m = (m * 3 + s.b) % 1000
      f(k)
    end
    s.b = s.b + 1
  end
  y[0], y[1] = m, s.b
end)

-- {====== A loop that a jump leaves is unrolled ======

for _, jump in ipairs { "return", "break", "goto out" } do
  local body = load(([[
    return function(x, y, t)
      local s, c = { a = x[0] }, 0
      local function g()
        for i = 1, 2 do
          s.a = 1
          if t > 4 then s = { a = x[2] } end
          c = c * 10 + s.a
          s = { a = x[1] }
          if t == 1 then %s end
          if t == 2 then s.a = i end
        end
        s.a = s.a + 1
        ::out::
      end
      g()
      y[0], y[1] = c, s.a
    end]]):format(jump), "=unrolled")()
  same("a record is replaced in an unrolled loop that '" .. jump .. "' leaves", body)
end

same("a static return follows a jump out of a loop", function(x, y, t)
  local s = { a = x[0] }
  local function g()
    for _ = 1, 2 do
      s.a = x[1]
      if t < 2 then break end
      s.a = x[2]
      return
    end
    if t < 1 then s = { a = t } end
    s.a = s.a + 100
  end
  g()
  y[0] = s.a
end)

-- {====== The first turns of a loop are static ======

same("a field is changed in a while whose first turn is static", function(x, y, t)
  local s, w = { a = x[0] }, 2
  while w > 0 do
    w = w - 1
    s.a = x[1] - w
    if x[2] > t + 4 then break end
  end
  y[0], y[1] = s.a, w
end)

same("a captured local, the same", function(x, y, t)
  local s, w = x[0], 2
  local function set(v) s = v end
  while w > 0 do
    w = w - 1
    set(x[1] - w)
    if x[2] > t + 4 then break end
  end
  y[0], y[1] = s, w
end)

same("a captured record, the same", function(x, y, t)
  local s, w = { a = x[0] }, 3
  local function set(v) s = { a = v } end
  while w > 0 do
    w = w - 1
    set(x[1] - w)
    if x[2] > t + 4 then break end
    s.a = s.a + 1
  end
  y[0], y[1] = s.a, w
end)

same("a helper returns from such a while", function(x, y, t)
  local s = { a = x[0], sub = { b = 1 } }
  local function g()
    local w = 3
    while w > 0 do
      w = w - 1
      s.sub = { b = x[1] - w }
      if x[2] > t + 4 then return end
      s.a = s.a + s.sub.b
    end
    s.sub.b = t
  end
  g()
  y[0], y[1] = s.a, s.sub.b
end)

same("a while in a while", function(x, y, t)
  local s, v = { a = x[0] }, 2
  while v > 0 do
    v = v - 1
    local w = 2
    while w > 0 do
      w = w - 1
      s.a = s.a + x[1] - w
      if x[2] > t + 4 then break end
    end
    if x[4] > t then break end
  end
  y[0], y[1] = s.a, v
end)

same("a goto leaves a turn of such a while", function(x, y, t)
  local s, w = { a = x[0] }, 2
  while w > 0 do
    w = w - 1
    s.a = x[1] - w
    if x[2] > t + 4 then goto continue end
    s.a = s.a + 1
    if t == 1 then break end
    ::continue::
  end
  y[0], y[1] = s.a, w
end)

-- {====== The function is reached in other ways ======

same("a method replaces a field's record", function(x, y, t)
  local o, m = { s = { a = x[0] }, n = 0 }, 0
  function o:step(v)
    if v > t then
      self.s = { a = v }
      self.n = self.n + 1
    end
  end
  o:step(2)
  o.s = { a = 5 }
  for i = 1, t do
    m = m * 10 + o.s.a
    o:step(i + 1)
  end
  y[0], y[1] = m, o.n
end)

same("metamethods replace a captured record", function(x, y, t)
  local s, m = { a = x[0] }, 0
  local meta = {}
  function meta.__add(l, r)
    if t > 1 then s = { a = r } end
    return l
  end
  function meta.__index()
    if t > 2 then s = { a = 9 } end
    return s.a
  end
  local o = setmetatable({}, meta)
  local _ = o + 3
  s = { a = x[1] }
  for i = 1, t do
    m = m * 10 + s.a
    _ = o + i + 1
    m = m + o.field
  end
  y[0], y[1] = m, s.a
end)

same("an iterator replaces a captured record", function(x, y, t)
  local s, m = { a = x[0] }, 0
  local function next_one(_, i)
    if i < 3 then
      if t > i then s = { a = i } end
      return i + 1
    end
  end
  for i in next_one, nil, 0 do
    s.a = s.a + i
    if t == 3 then break end
  end
  s = { a = 7 }
  for _ = 1, t do
    for i in next_one, nil, 0 do
      m = m + s.a * i
      s.a = s.a + i
      if t == 4 then break end
    end
  end
  y[0], y[1] = m, s.a
end)

same("a function that calls itself replaces a captured record", function(x, y, t)
  local s, m = { a = x[0] }, 0
  local function f(k)
    if t > k then s = { a = k } end
    if k > 0 then f(k - 1) end
    if t == 2 then return end
    s.a = s.a + k
  end
  f(2)
  s = { a = 4 }
  for _ = 1, t do
    m = m * 7 + s.a
    f(3)
  end
  y[0], y[1] = m, s.a
end)

tap.done()
