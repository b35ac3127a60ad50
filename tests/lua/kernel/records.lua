-- records.lua: tables whose fields change under run-time conditions, that a condition chooses, that
-- functions return: each body runs as a kernel and, thread by thread, as plain Lua. The answers are the same.

local THREADS <const>, N <const> = 64, 12

-- {====== Plain Lua ======

local plain = setmetatable({
  range = function(n)
    local i = -1
    return function()
      i = i + 1
      if i < n then return i end
    end
  end,
}, { __index = _G })
local values = {}
for i = 1, THREADS + N do values[i] = (i * 37 % 64) * 0.25 - 5.0 end

local where_to = device().sm and "cuda" or "cpu"
local function moved(t) return t:to(where_to) end

-- The function that `text` returns, of (x, t, n, put): reads x(i), calls put(slot, number). Prints how
-- many of the threads' answers agree.
local function try(name, text)
  local run = load(text, "=" .. name, "t", plain)()
  local same = load(text, "=" .. name)()
  local out = moved(zeros(f32, 4 * THREADS))
  kernel(name, function(x, n, y)
    local t = threadIdx.x + blockIdx.x * blockDim.x
    same(function(i) return x[t + i] end, t, n, function(slot, v) y[t * 4 + slot] = v end)
  end) { grid = 2, block = THREADS // 2 }(moved(from_table(f32, values)), N, out)
  local got, n_equal = out:totable(), 0
  for t = 0, THREADS - 1 do
    local want = { 0.0, 0.0, 0.0, 0.0 }
    run(function(i) return values[t + i + 1] end, t, N, function(slot, v) want[slot + 1] = v end)
    for slot = 1, 4 do
      if got[t * 4 + slot] == want[slot] then n_equal = n_equal + 1 end
    end
  end
  print(name, n_equal)
end

-- {====== Fields ======

try("best_of_row", [[ return function(x, t, n, put)
  local best = {value = -math.huge, index = -1}
  for i in range(n) do
    if x(i) > best.value then best.value = x(i); best.index = i end
  end
  put(0, best.value) put(1, best.index)
end ]]) -- expect: best_of_row	256

try("fields_by_elseif", [[ return function(x, t, n, put)
  local c = {low = 0, high = 0, mid = {n = 0, sum = 0.0}}
  for i in range(n) do
    if x(i) < -2.0 then
      c.low = c.low + 1
    elseif x(i) > 4.0 then
      c.high = c.high + 1
      if c.high > 3 then break end
    else
      local mid = c.mid
      mid.n = mid.n + 1
      mid.sum = mid.sum + x(i)
    end
  end
  put(0, c.low) put(1, c.high) put(2, c.mid.n) put(3, c.mid.sum)
end ]]) -- expect: fields_by_elseif	256

try("arrays_of_records", [[ return function(x, t, n, put)
  local bins = {}
  for b = 1, 4 do bins[b] = {n = 0, most = -100.0} end
  local total = {0, 0.0}
  for i in range(n) do
    for b = 1, 4 do
      local bin = bins[b]
      if x(i) >= b * 2.0 - 6.0 and x(i) < b * 2.0 - 4.0 then
        bin.n = bin.n + 1
        if x(i) > bin.most then bin.most = x(i) end
      end
    end
    total[1], total[2] = total[1] + 1, total[2] + x(i)
  end
  put(0, bins[1].n * 1000 + bins[2].n * 100 + bins[3].n * 10 + bins[4].n)
  put(1, bins[1].most + bins[3].most)
  put(2, total[1]) put(3, total[2])
end ]]) -- expect: arrays_of_records	256

try("loops_and_jumps", [[ return function(x, t, n, put)
  local s = {sum = 0.0, turns = 0, last = -1}
  local i = 0
  while i < n and s.sum < 20.0 do
    i = i + 1
    if x(i) < 0.0 then goto continue end
    s.sum = s.sum + x(i)
    s.last = i
    ::continue::
    s.turns = s.turns + 1
  end
  local r = {left = 7, steps = 0}
  repeat
    r.steps = r.steps + 1
    if x(r.steps) > 3.0 then r.left = r.left - 2 else r.left = r.left - 1 end
  until r.left <= t % 4
  put(0, s.sum) put(1, s.turns * 100 + s.last) put(2, r.left) put(3, r.steps)
end ]]) -- expect: loops_and_jumps	256

-- Threads that jump over the place where others return have the field, too.
try("jumped_over_return", [[ return function(x, t, n, put)
  local function run(s)
    do
      if x(0) > 0.0 then goto label end
      if x(1) > 3.0 then return 1 end
    end
    ::label::
    if x(2) > 0.0 then s.i = 5 end
    return 2
  end
  local s = {i = t + 7}
  local r = run(s)
  put(0, s.i) put(1, r)
  local w = {i = t + 9}
  for _ = 1, 1 do
    do
      if x(3) > 0.0 then goto label end
      if x(4) > 8.0 then return end
    end
    ::label::
    if x(5) > 0.0 then w.i = 6 end
  end
  put(2, w.i)
end ]]) -- expect: jumped_over_return	256

-- Fields that are variables before a loop begins change in it.
try("changed_before_loops", [[ return function(x, t, n, put)
  local s = {a = 1.0, b = 0, last = -1.0}
  if x(0) > 0.0 then s.a, s.b = 2.0, 1 end
  for i in range(n) do
    local before = s.a
    if s.last > x(i) then s.b = s.b + 1 end
    s.a = before * 0.5 + x(i)
    s.last = x(i)
  end
  for i in range(3) do
    for j in range(2) do s.a = s.a + s.b * j end
    s.b = s.b - i
  end
  put(0, s.a) put(1, s.b) put(2, s.last)
end ]]) -- expect: changed_before_loops	256

try("early_return", [[ return function(x, t, n, put)
  local state = {n = 0, stopped = false}
  local function step(v)
    if v < 0.0 then
      state.stopped = true
      return 0.0
    end
    state.n = state.n + 1
    return v * 2.0
  end
  local sum = 0.0
  for i in range(n) do sum = sum + step(x(i)) end
  put(0, sum) put(1, state.n) put(2, state.stopped and 1 or 0)
end ]]) -- expect: early_return	256

try("methods", [[ return function(x, t, n, put)
  local Stats = {}
  Stats.__index = Stats
  function Stats:add(v)
    self.n = self.n + 1
    if v > self.max then self.max = v end
    self.sum = self.sum + v
    return self
  end
  function Stats:add_positive(v)
    if v <= 0.0 then return self end
    return self:add(v)
  end
  function Stats.__add(a, b)
    local m = a.max
    if b.max > m then m = b.max end
    return setmetatable({n = a.n + b.n, max = m, sum = a.sum + b.sum}, Stats)
  end
  local function stats() return setmetatable({n = 0, max = -100.0, sum = 0.0}, Stats) end
  local all, some = stats(), stats()
  for i in range(n) do
    all:add(x(i))
    some:add_positive(x(i)):add_positive(x(i + 1) - 1.0)
  end
  local both = all + some
  put(0, both.n) put(1, both.max) put(2, both.sum) put(3, some.n)
end ]]) -- expect: methods	256

try("visitors", [[ return function(x, t, n, put)
  local function each(n, visit)
    for i in range(n) do
      if x(i) > 0.0 then visit(i, x(i)) end
    end
  end
  local hit = {index = -1, d = 1000.0, count = 0}
  each(n, function(i, d)
    hit.count = hit.count + 1
    if d < hit.d then hit.d, hit.index = d, i end
  end)
  local before, after = 0, 0
  each(n, function() before = before + 1 end)
  each(n, function(i) if before > i then after = after + 1 end end)
  put(0, hit.index) put(1, hit.d) put(2, hit.count) put(3, after)
end ]]) -- expect: visitors	256

-- {====== Records that a condition chooses ======

try("returned", [[ return function(x, t, n, put)
  local function pick(a, b) if a.v > b.v then return a end return b end
  local best = {v = x(0), i = 0}
  for i = 1, 5 do best = pick({v = x(i), i = i}, best) end
  local all = {v = x(0), i = 0}
  for i in range(n) do all = pick({v = x(i), i = i}, all) end
  put(0, best.v) put(1, best.i) put(2, all.v) put(3, all.i)
end ]]) -- expect: returned	256

try("merged", [[ return function(x, t, n, put)
  local r
  if x(0) > 1.0 then
    r = {a = 1.0, b = 2, at = {x = t, y = 1}}
  elseif x(0) > -2.0 then
    r = {a = x(0), b = 3, at = {x = 1, y = t}}
  else
    r = {a = x(1), b = t, at = {x = 3, y = 4}}
  end
  local at = {x = 0, y = 0}
  if x(2) > 0.0 then at = r.at end
  put(0, r.a) put(1, r.b) put(2, r.at.x * 100 + r.at.y) put(3, at.x - at.y)
end ]]) -- expect: merged	256

-- A name that was copied before keeps the table that it had then.
try("two_names", [[ return function(x, t, n, put)
  local best = {v = x(0), i = 0}
  local before = best
  local steps = 0
  for i in range(n) do
    local last = best
    if x(i) > best.v then best = {v = x(i), i = i} end
    if best.i ~= last.i then steps = steps + 1 end
  end
  local same = best
  best.v = best.v + 1.0
  put(0, same.v) put(1, steps) put(2, best.i) put(3, before.i)
end ]]) -- expect: two_names	256

-- A chosen table may be changed, also in the loop that goes on choosing.
try("changed_after_choice", [[ return function(x, t, n, put)
  local run, longest = {first = 0, len = 0}, {first = 0, len = 0}
  for i in range(n) do
    if x(i) > 0.0 then
      run.len = run.len + 1
    else
      run = {first = i + 1, len = 0}
    end
    if run.len > longest.len then longest = {first = run.first, len = run.len} end
  end
  run.len = run.len * 10
  put(0, longest.first) put(1, longest.len) put(2, run.first) put(3, run.len)
end ]]) -- expect: changed_after_choice	256

try("changed_after_return", [[ return function(x, t, n, put)
  local function pick(a, b) if a.v > b.v then return a end return b end
  local p = pick({v = x(0), i = 0}, {v = x(1), i = 1})
  p.v = 7.0
  if x(2) > 0.0 then p = {v = x(2), i = 2} end
  local q = pick({v = x(3), i = 3}, {v = x(4), i = 4})
  q.i = q.i + 10
  for i in range(n) do
    if x(i) > q.v then q = {v = x(i), i = i} end
  end
  put(0, p.v) put(1, p.i) put(2, q.v) put(3, q.i)
end ]]) -- expect: changed_after_return	256

try("nested_chosen", [[ return function(x, t, n, put)
  local box = {low = {v = 100.0, i = -1}, high = {v = -100.0, i = -1}}
  for i in range(n) do
    if x(i) < box.low.v then box.low = {v = x(i), i = i} end
    if x(i) > box.high.v then box.high = {v = x(i), i = i} end
  end
  put(0, box.low.v) put(1, box.low.i) put(2, box.high.v) put(3, box.high.i)
end ]]) -- expect: nested_chosen	256

try("assigned_by_visitor", [[ return function(x, t, n, put)
  local found
  local function visit(i, d) if i == t % 5 then found = {i = i, d = d} end end
  found = {i = -1, d = 0.0}
  for i in range(n) do visit(i, x(i)) end
  put(0, found.i) put(1, found.d)
end ]]) -- expect: assigned_by_visitor	256

try("returned_in_loop", [[ return function(x, t, n, put)
  local function find()
    repeat return {v = x(0) * 2.0} until x(1) > 0.0
  end
  put(0, find().v)
end ]]) -- expect: returned_in_loop	256

try("chosen_after_return", [[ return function(x, t, n, put)
  local v = 0.5
  local tab = {f = 64.0}
  local function outer()
    if x(0) > 5.0 then return tab end
    local also = tab
    local function inner()
      if x(1) > 2.0 then return 1 end
      v = also.f
      also = {f = 1.0}
      return 2
    end
    inner()
    put(1, also.f)
    return tab
  end
  put(0, outer().f + v)
end ]]) -- expect: chosen_after_return	256

-- A captured name that gets a plain table between two choices.
try("chosen_twice", [[ return function(x, t, n, put)
  local r = {v = 1.0, sub = {t}}
  local function clear() r = {v = 0.0, sub = {0}} end
  if x(0) > 0.0 then r = {v = 2.0, sub = {t + 1}} end
  r = r
  r.v = 9.0
  r.sub[1] = 7
  if x(1) > 0.0 then r = {v = 3.0, sub = {t + 2}} end
  put(0, r.v) put(1, r.sub[1])
  if x(2) > 3.0 then clear() end
  put(2, r.v) put(3, r.sub[1])
end ]]) -- expect: chosen_twice	256

-- What is static stays static: the turns of an unrolled loop, a metatable, a text, a function.
try("static_fields", [[ return function(x, t, n, put)
  local function twice(v) return v * 2.0 end
  local p = {width = 3, name = "left", f = twice, sum = 0.0}
  if x(0) > 0.0 then p.sum = 1.0 end
  local q = {1, 2, sum = 0.0, f = twice, lib = math}
  if x(1) > 0.0 then q = {4, 5, sum = x(1), f = twice, lib = math} end
  if q.lib ~= math then return end
  for i = 1, p.width do p.sum = p.sum + x(i) end
  local length = #p.name
  put(0, p.f(p.sum)) put(1, length) put(2, q[1] * 10 + q[2]) put(3, q.f(q.sum))
end ]]) -- expect: static_fields	256

-- {====== One table by two names ======
-- A change through one name is an error at the next use of the other, or is seen there.

try("swapped", [[ return function(x, t, n, put)
  local a, b = {v = 1.0}, {v = 2.0}
  for i in range(n) do
    if x(i) > 0.0 then a, b = b, a end
  end
  put(0, a.v) put(1, b.v)
end ]]) -- expect: swapped	256

try("linked", [[ return function(x, t, n, put)
  local head = {v = 0.0, next = {v = 1.0, next = {v = 2.0}}}
  local at = head
  for i = 1, 2 do
    if x(i) < 0.0 then at.v = at.v + 10.0 end
    at = at.next
  end
  put(0, head.v) put(1, head.next.v) put(2, at.v)
end ]]) -- expect: linked	256

try("returned_itself", [[ return function(x, t, n, put)
  local function count(s, v)
    if v > 0.0 then
      s.n = s.n + 1
      return s
    end
    s.n = s.n + 10
    return s
  end
  local s = {n = 0}
  for i in range(n) do count(s, x(i)).n = count(s, -x(i)).n + 100 end
  put(0, s.n)
end ]]) -- expect: returned_itself	256

local function refused(text)
  local f, x = load(text)(), moved(zeros(f32, 8))
  local _, message = pcall(function() kernel("refused", f) { grid = 1, block = 1 }(x, 4) end)
  print((message:match "line %d+ changes the table of line %d+"))
end

-- What a loop reads before a change of it in a later turn.
refused [[ return function(x, n)
  local a, s = {v = 1.0}, 0.0
  local best = {v = 0.0}
  for i in range(n) do
    s = s + a.v
    if x[i] > 3.5 then best = a end
    best.v = best.v + 1.0
  end
  x[0] = s
end ]] -- expect: line 7 changes the table of line 6
refused [[ return function(x, n)
  local a, b, s = {1.0}, {2.0}, 0.0
  local function pick(c) if c then return a end return b end
  for i in range(n) do
    s = s + table.unpack(a)
    local r = pick(x[i] > 3.5)
    r[1] = r[1] + 1.0
  end
  x[0] = s
end ]] -- expect: line 7 changes the table of line 3
refused [[ return function(x, n)
  local a, s = {v = 1.0}, 0.0
  local best = a
  for i in range(n) do
    for _, v in pairs(a) do s = s + v end
    if x[i] > 4.5 then best = {v = 7.0} end
    best.v = best.v + 1.0
  end
  x[0] = s
end ]] -- expect: line 7 changes the table of line 6
-- Another choice brings back what the change has reached.
refused [[ return function(x, n)
  local b, best = {v = 2.0}, {v = 1.0}
  if x[0] > 0.0 then best = b end
  b.v = 5.0
  if x[1] > 0.0 then best = {v = 9.0} end
  x[0] = best.v
end ]] -- expect: line 4 changes the table of line 2
-- What one arm made stale stays so behind the other.
refused [[ return function(x, n)
  local a, b = {s = {1.0}}, {s = {2.0}}
  if x[0] > 0.0 then
    a.s = b.s
    if x[1] > 0.0 then a.s = {4.0} end
    b.s[1] = 3.0
  else
    a.s = b.s
  end
  x[0] = a.s[1]
end ]] -- expect: line 6 changes the table of line 2
-- A record of records: the change reaches what was made of the result.
refused [[ return function(x, n)
  local a, b, c = {v = 1.0}, {v = 2.0}, {v = 3.0}
  local function pick(k, l, m) if k then return l end return m end
  local one = pick(x[0] > 0.0, a, b)
  local two = pick(x[1] > 0.0, one, c)
  a.v = 5.0
  x[0] = two.v
end ]] -- expect: line 6 changes the table of line 2

-- Where no condition is newer than the table, its fields are what they are in Lua.
local ends = moved(zeros(f32, 8))
kernel("after_return", function(x)
  local t = threadIdx.x
  local r = { n = 2 }
  if t >= 5 then return end
  r.n = r.n + 1
  for i = 1, r.n do x[t] = x[t] + i end
end) { grid = 1, block = 8 }(ends)
print(table.concat(ends:totable(), " ")) -- expect: 6.0 6.0 6.0 6.0 6.0 0.0 0.0 0.0

-- Names that trade tables, and a name that keeps the one before: nothing is changed, so all is as in Lua.
local turns = moved(from_table(f32, { 1.0, 2.0, 3.0, 4.0, 5.0, 6.0 }))
kernel("trades", function(x, n)
  local a, b, last = { v = 10.0 }, { v = 20.0 }, { v = 30.0 }
  for i in range(n) do
    local v = x[i]
    x[i] = a.v + 2.0 * b.v + 4.0 * last.v
    a, b = b, a
    last = a
    if v > 3.0 then b = { v = v } end
  end
end) { grid = 1, block = 1 }(turns, 6)
print(table.concat(turns:totable(), " ")) -- expect: 170.0 120.0 90.0 120.0 58.0 30.0
