-- A region that some threads leave by 'return', and others, later, by 'goto' or 'break': what changes after the
-- second jump changes only for threads that come there. Each body is a kernel and plain Lua, for several n.
local function compare(name, body)
  local k, wrong = kernel(name, body), 0
  for n = -1, 5 do
    for first = 0, 1 do
      local x, plain = tensor(i32, {4}), { [0] = first, -1, -1, -1 }
      for i = 0, 3 do x[i] = plain[i] end
      k{grid = 1, block = 1}(x, n)
      body(plain, n)
      for i = 0, 3 do wrong = wrong + (x[i] == plain[i] and 0 or 1) end
    end
  end
  print(name, wrong)
end

compare("itself", function(x, n) -- expect: itself	0
  local best = {v = n}
  do
    if n == 3 then return end
    if n == 2 then goto out end
    best = best
  end
  ::out::
  for _ = n, 1 do
    if x[0] > 0 then best = {v = 2} end
  end
  x[1] = best.v
end)

compare("another", function(x, n) -- expect: another	0
  local best = {v = n}
  do
    if n == 3 then return end
    if n == 2 then goto out end
    best = {v = 7}
  end
  ::out::
  x[1] = best.v
end)

compare("between", function(x, n) -- expect: between	0
  local t, o = {v = 1}, {t = {v = 0}}
  do
    if n == 3 then return end
    t = {v = t.v + 1}
    o.t = t
    if n == 2 then goto out end
    t.v = 3
    o.t.v = o.t.v + 1
  end
  ::out::
  x[1] = t.v
  x[2] = o.t.v
end)

compare("closure", function(x, n) -- expect: closure	0
  local t = {v = 1}
  local function set(v) t = v end
  do
    if n == 3 then return end
    if n == 2 then goto out end
    set({v = 5})
  end
  ::out::
  x[1] = t.v
end)

compare("turns", function(x, n) -- expect: turns	0
  local t = {v = 1}
  for i = 1, 3 do
    do
      if n == 3 then return end
      if n == 2 then goto continue end
      t = {v = t.v + i}
      if n == 4 then break end
      t.v = t.v * 2
    end
    ::continue::
  end
  x[1] = t.v
end)

compare("helper", function(x, n) -- expect: helper	0
  local t = {v = 1}
  local function step()
    do
      if n == 1 then return 1 end
      if n == 2 then goto out end
      t = {v = t.v + 4}
    end
    ::out::
    t.v = t.v * 3
    return 2
  end
  for i = 0, n do
    x[2] = step()
    if i == 2 and x[0] > 0 then break end
  end
  x[1] = t.v
end)

-- Threads that have left the kernel see nothing more, so a loop that runs while tracing may go on.
compare("unrolled", function(x, n) -- expect: unrolled	0
  local t = {}
  for i = 1, 3 do
    if n == i then return end
    t[i] = i
  end
  x[1] = t[1] + t[2] + t[3]
end)

-- What only one value can be is refused after the goto, as it is after any condition.
local function refused(body)
  local k = kernel("refused", body)
  local ok, message = pcall(function() k{grid = 1, block = 1}(zeros(i32, 4), 1) end)
  print(ok, (message:gsub("^[^:]*:%d+: ", "")))
end
refused(function(x, n) -- expect: false	'f' holds a function and is assigned under a run-time condition; a run-time branch can only choose between numbers, booleans, and tables that the kernel made
  local f = function() return 1 end
  do
    if n == 3 then return end
    if n == 2 then goto out end
    f = function() return 2 end
  end
  ::out::
  x[1] = f()
end)
refused(function(x, n) -- expect: false	a Lua table is changed by a function of Lua's library under a run-time condition; assign its fields: t.x = v
  local t
  do
    if n == 3 then return end
    t = {1}
    if n == 2 then goto out end
    table.insert(t, 2)
  end
  ::out::
  x[1] = #t
end)
