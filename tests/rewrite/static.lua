-- Functions with every kind of statement, each run as it is and rewritten, in every mode of the
-- static runtime: same results, same output, same errors.
local runtime = dofile("tests/rewrite/static_runtime.lua")
local modes = { { }, { boxed = true }, { dead = true }, { boxed = true, dead = true } }

-- Each is the text of a chunk that returns the function; it is called with `out` and some numbers.
local programs = {}
local function program(name, text) programs[#programs + 1] = { name = name, text = text } end

program("if chains", [[
return function(out, a, b)
  local x = 0
  if a < b then x = 1 elseif a == b then x = 2 elseif a > b + 2 then x = 3 else x = 4 end
  if a > 1 then x = x + 10 end
  if not (a > 1) then x = x + 20 else local x = 5 x = x + 1 out(x) end
  if a then elseif b then out("never") end
  return x
end]])
program("loops and breaks", [[
return function(out, a, b)
  local s = 0
  for i = 1, 10 do if i > a then break end s = s + i end
  for i = 10, 1, -3 do s = s + i i = i * 2 out(i) end
  for x = 0.0, 1.0, 0.25 do s = s + x end
  local k = 0
  while k < 5 do k = k + 1 if k == b then break end s = s + k end
  repeat local done = k > 8 k = k + 1 s = s + k until done
  while true do s = s - 1 if s < a then break end end
  while 1 do break end
  for i = 3, 1 do out("never") end
  return s, k
end]])
program("goto continue", [[
return function(out, a)
  for i = 1, 6 do
    if i % 2 == 0 then goto continue end
    local v = i * a
    if v > 8 then goto continue end
    out(v)
    ::continue::
  end
  do
    local n = 0
    ::again::
    n = n + 1
    if n < 4 then goto again end
    out(n)
  end
  for i = 1, 3 do for j = 1, 3 do if i * j == 4 then goto done end out(i, j) end end
  ::done::
  repeat
    do if a > 2 then goto skip end out("low") ::skip:: end
    local far = a > 0
  until far
  return a
end]])
program("overlapping gotos", [[
return function(out, a)
  local n = 0
  if a == 1 then goto one end
  out("start")
  if a == 2 then goto two end
  out("middle")
  ::one::
  out("one")
  ::two::
  n = n + 1
  if n < a then goto two end
  goto four
  ::three::
  out("three")
  if n < 7 then goto five end
  ::four::
  n = n + 1
  if n < 9 then goto three end
  ::five::
  return n
end]])
program("early returns", [[
local function f(x, out)
  if x < 2 then return "small" end
  for i = 1, x do
    if i == 5 then return i, x end
    while true do if i > 3 then return "deep", i, nil else break end end
  end
  do return "end" end
end
return function(out, a)
  out(f(1, out)) out(f(3, out)) out(f(4, out)) out(f(9, out)) out(select("#", f(4, out)))
  repeat if a > 2 then return 1, 2, 3 end until true
  return
end]])
program("nested functions and cells", [[
return function(out, a, b)
  local count, base = 0, 10
  local function bump(k) count = count + (k or 1) return count end
  local fs = {}
  for i = 1, 3 do
    local v = i * a
    if v > 2 then v = v + base end
    fs[i] = function(x) v = v + x base = base + 1 return v, i end
  end
  for i = 1, #fs do out(fs[i](i)) out(fs[i](i)) end
  if a > 1 then count = 100 bump(5) else bump() end
  local function fact(n) if n < 2 then return 1 end return n * fact(n - 1) end
  out(fact(5), bump(), count, base)
  function bump() return "new" end
  return bump()
end]])
program("varargs", [[
local function sum(...)
  local s = 0
  for k = 1, select("#", ...) do s = s + (select(k, ...)) end
  return s, ...
end
return function(out, ...)
  local a, b, c = ...
  local t = { ..., n = select("#", ...) }
  out(sum(...)) out((sum(...))) out(t.n, #t)
  local function g(...) return ... and (...) or "none", ... end
  out(g()) out(g(nil, 2)) out(g(1, nil))
  if (...) then return ... end
end]])
program("assignments", [[
glob = 1
local up = 5
return function(out, a, b)
  local t, i, n = { 1, 2, 3 }, 1, 0
  i, t[i] = i + 1, 20
  out(i, t[1], t[2])
  t.x, t["y"], n = 1, 2
  out(t.x, t.y, n)
  a, b = b, a
  if a then a, b, t[a] = b, a, a + b end
  out(a, b, t[b], t[a])
  glob = glob + a
  up = up + 1
  glob, up, t.z = up, glob, up * glob
  out(glob, up, t.z)
  for k = 1, 2 do a, t.f, b = b, function() return a end, a out(t.f()) end
  a, a = 1, 2
  t.m = {} t.m.n = {} t.m.n[1], t.m.n[2] = 7
  t[#t + 1] = t.m.n[1] and #t
  return a, t[4], t.m.n[2]
end]])
program("methods and calls", [[
local C = {} C.__index = C
function C.new(v) return setmetatable({ v = v }, C) end
function C:add(x, ...) self.v = self.v + x return self, ... end
function C:get() return self.v end
C.__call = function(self, x) return self.v * x end
return function(out, a)
  local c = C.new(a)
  out(c:add(2):add(3):get(), c(10), C.get(c))
  out(("x"):rep(3), ("%d"):format(a), #"abc", -a, ~a, not a)
  out(c:add(1, 2, 3))
  local f = function(t) return t[1] or t end
  out(f{ a + 1 }, f"str", f[=[long]=], (f{ 2 }))
  function c.helper(x) return x * 2 end
  function c:other(x) return self.v - x end
  out(c.helper(4), c:other(1))
  local obj = { inner = { deep = c } }
  out(obj.inner.deep:get(), obj["inner"].deep.v, obj.inner[ "deep" ]:get())
  return c.v
end]])
program("logic", [[
local function t(...) return ... end
return function(out, a, b)
  out(a and b, a or b, nil and a, false or b, nil or false, a and nil)
  out(a == b and "eq" or "ne", a < b and a or b, not a == b, not (a == b))
  out((a and b or nil) == (b or a), t(1, 2) and t(3, 4), t() or t(5, 6))
  out(1 < 2 == true, "a" < "b", "a" .. 1 .. 2 == "a12", 2 ^ 3 ^ 2, -2 ^ 2, 7 // 2 % 3, 1 << 3 | 1)
  local x = nil
  x = x or a > 1 and b or 0
  out(x, a and (b and (x and "deep")))
  return a ~= b, a >= b, a <= b, a > b
end]])
program("generic for", [[
return function(out, a)
  local s = 0
  for _, v in ipairs { 5, 6, 7 } do s = s + v if v == 6 then goto next end out(v) ::next:: end
  for k, v in pairs { x = a } do s = s + v out(k, v) end
  for w in ("one two three"):gmatch("%a+") do if w == "three" then break end out(w) s = s + 1 end
  local closed = 0
  local z = setmetatable({}, { __close = function() closed = closed + 1 end })
  for i in function(_, i) i = (i or 0) + 1 if i < 4 then return i, i * i, i end end, nil, nil, z do
    s = s + i
    if i == 2 then break end
  end
  out(closed)
  for i in coroutine.wrap(function() for k = 1, 3 do coroutine.yield(k) end end) do s = s + i end
  return s
end]])
program("close variables", [[
return function(out, a)
  local function closer(name) return setmetatable({}, { __close = function() out("close", name) end }) end
  do
    local x <close> = closer("x")
    local y <const>, z <close> = 5, closer("z")
    out(y + a)
  end
  for i = 1, 3 do
    local c <close> = closer(i)
    if i == 2 then goto continue end
    if i == 3 then break end
    out("body", i)
    ::continue::
  end
  local f <close> = closer("f")
  if a > 1 then return "early" end
  return "late"
end]])
program("constants", [[
local W <const>, V <const> = 4, "two\n\"lines\""
local W2 <const> = W * 2 -- twice
local NONE <const> = nil
local L <const> = [==[
a
b]==]
local not_constant <const> = print
do local W <const> = -W2 + 1 _G.inner = function() return W, W2 end end
return function(out, a)
  local inner <const> = W2 + 3
  local shadow = W
  if a > W then shadow = W2 else shadow = V end
  out(W, W2, V, L, NONE, inner, shadow, _G.inner(), not_constant == print)
  return function() return W + inner end
end]])
program("shadowing", [[
return function(out, a)
  local x = 0
  for k = 0, 3 do
    do
      local x = k * 2
      if a < x then break end
      out(x)
      for x = 1, 2 do if x > a then break end out(x) end
    end
    x = x + 1
  end
  local x = x + 1
  local x, x = x, x + 1
  if a then local x = x x = x + 1 out(x) end
  for x = x, x + 1 do local x = x * 2 if x > 3 then x = x + 1 end out(x) end
  local function f(a, a) if a then a = a + 1 end return a end
  return x, f(1, 2)
end]])
program("lines of errors", [[
return function(out, a)
  local t = nil
  local function try(f, ...) out(select(2, pcall(f, ...))) end
  try(function() return t.x end)
  try(function() return t[a] end)
  try(function()
    t.x = 1 end)
  try(function() t[a] = 1 end)
  try(function() return a < {} end)
  try(function() return a
    + 1
    <
    "x" end)
  try(function() undefined_function(1) end)
  try(function() local s = "x" s:nothing() end)
  try(function() local q = {} q.f.g = 1 end)
  try(function() local q = {} return q.f.g.h end)
  try(function() for i = 1, "x" do end end)
  try(function() for i = 1, 2, 0 do end end)
  try(function() error("mine") end)
  try(function() error({}) end, 1)
  try(function() if a > 0 then local u if a then u = nil end u() end end)
  try(function() local u = {} u[nil] = 1 end)
  return debug.getinfo(1, "l").currentline, debug.getinfo(try, "S").linedefined
end]])
program("methods of the chunk", [[
local o = { n = 1 }
function o:m(x, ...) self.n = self.n + x if x > 1 then return self, ... end return self.n end
o.f = function(...) return select("#", ...) end
local last = o.m
return function(out, a) out(o:m(a), o.f(1, nil), last(o, 5)) return o:m(1) end]])
program("ends of functions", [[
return function(out, a)
  local function nothing() end
  local function falls(x) if x then return 1 end end
  local function semi() return; end
  local function semi2() return 1, 2; end
  local function many(x) do if x then return x; end end ; ; end
  local function late(x) goto l do return 0 end ::l:: return x end
  local function rep(x) repeat if x then return x end until true return 9 end
  out(nothing()) out(falls(a)) out(falls()) out(semi()) out(semi2()) out(many(a)) out(many())
  out(late(a)) out(rep(a)) out(rep())
end]])
program("coroutines", [[
return function(out, a)
  local gen = coroutine.wrap(function(x)
    for i = 1, 3 do
      if i < 3 and x then x = coroutine.yield(i * a) and i else coroutine.yield("end") end
    end
    return "done"
  end)
  out(gen(true)) out(gen(true)) out(gen(false)) out(gen())
  return pcall(gen)
end]])
program("recursion and closures in loops", [[
local function tree(lo, n) if n == 1 then return lo end return tree(lo, n // 2) .. "," .. tree(lo + n // 2, n // 2) end
return function(out, a)
  local list = {}
  for i = 1, 3 do
    local n = 0
    list[i] = { inc = function() n = n + i end, get = function() return n end }
    list[i].inc()
    if i > 1 then n = n * 10 end
    list[i].inc()
  end
  for i = 1, 3 do out(list[i].get()) end
  return tree(1, 8)
end]])
program("repeat with jumps", [[
return function(out, a)
  local k, s = 0, 0
  repeat
    k = k + 1
    do
      if k % 3 == 0 then goto skip end
      s = s + k
      if s > 20 then break end
      ::skip::
    end
    local far = k + a
    if far == 7 then out("seven") end
  until far > 9 or k >= 8
  repeat local x = 1 if x then break else break end until x
  repeat k = k + 1 if k > 12 then if a then break end end until false
  repeat repeat if k > 0 then break end until k <= 0 k = k - 1 until k < 0
  return k, s
end]])
program("_ENV", [[
local function f(out) local _ENV = { out = out, y = 3 } x = 1 out(x, y) return x end
return function(out, a)
  local print = out
  out(f(out), x)
  local function g(_ENV) return value end
  out(g { value = 7 })
  return _ENV == _G, type(string)
end]])
program("text without blanks", [=[
return function(out,a,b)local t={a,b,x={}}local function f(...)return...end
if(a)then(out)(a and-(t[a]or 1)or{t})end;for i=1,a do(f){i}if(b)then break end;end
repeat local c=-#t if(c)then goto l end::l::until(c)a=t[1]b=#t t[a],t.x[b]=not(a),-b;(f)(a)
while(a>3)do a=a-1 end;for k,v in(pairs){1}do out(k,v)end
do local function--[[
]]g--[[ ]]
(x)if(x)then return{x}end;return(x)end out(g(1),g())end
return(a),b,t[a],t.x[b]end]=])
program("names that look generated", [[
local R_if, R1_ = 1, 2
return function(out, R_k, R_q)
  local R_f, R_e1 = R_if, R1_
  if R_k then R_f = R_f + R_k end
  return R_f, R_e1, R_q
end]])

local calls = { { 1, 2 }, { 2, 2 }, { 5, 1 }, { 3, -1 }, { 4, 7 } }

-- Everything that a run of f shows: its output, results or error.
local function observe(f, args, log)
  for i = #log, 1, -1 do log[i] = nil end
  local function out(...)
    local r = table.pack(...)
    for i = 1, r.n do
      r[i] = type(r[i]) == "table" and "table" or type(r[i]) == "function" and "function" or tostring(r[i])
    end
    log[#log + 1] = table.concat(r, " ")
  end
  out(pcall(f, out, table.unpack(args)))
  return table.concat(log, "\n")
end

local function environment()
  return setmetatable({}, { __index = _G })
end

-- A run-time exit does not run the host's closers, so they are not for a dead region.
local function applies(p, mode)
  return not (mode.dead and p.name == "close variables")
end

local function check(p, mode)
  local R, stats = runtime.new(mode)
  local problem
  local env, env2 = environment(), environment()
  env._G, env2._G = env, env2
  local f = assert(load(p.text, "@program.lua", "t", env))()
  local g = assert(load(p.text, "@program.lua", "t", env2))()
  local h, what, wrapper = runtime.convert(g, p.text, R, 1, false)
  problem = not h and what
  for _, args in ipairs(problem and {} or calls) do
    local want, got = observe(f, args, {}), observe(h, args, {})
    if want ~= got then
      problem = ("want:\n%s\ngot:\n%s"):format(want, got)
      break
    end
    local n, dead = stats()
    if n > 0 or dead then
      problem = n .. " frames left open"
      break
    end
  end
  ok(not problem, p.name .. (mode.boxed and ", boxed" or "") .. (mode.dead and ", dead code" or ""))
  if problem then
    print("# " .. (problem .. "\n" .. (wrapper or "")):gsub("\n", "\n# "))
  end
end

for _, p in ipairs(programs) do
  for _, mode in ipairs(modes) do
    if applies(p, mode) then
      check(p, mode)
    end
  end
end
