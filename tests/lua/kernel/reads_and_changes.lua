-- luacheck: ignore
-- Every way to read something of the host in a kernel, crossed with every way to change it between launches. After each
-- change a later launch must give what plain Lua gives now, for a helper of the kernel and for the kernel's own text;
-- after the change is undone, what Lua gave before. Then changes at random, one on top of the other, beside new kernels.

local world <const> = [==[
G, GT, GF = 1, {v = 2, list = {1, 2, 3}, deep = {a = {b = 4}}}, function() return 5 end
local N, F, T = 1, function() return 2 end, {v = 3, list = {4, 5}, fn = function() return 6 end}
local flag, text = true, "abc"

local Root = {r = 1, shadow = 10}              Root.__index = Root
function Root:m() return self.r + 1 end
local Base = setmetatable({b = 2}, Root)       Base.__index = Base
function Base:n() return self.b + self:m() end
local Derived = setmetatable({d = 3}, Base)    Derived.__index = Derived
local obj = setmetatable({own = 4}, Derived)
local Other = {r = 100, b = 200, d = 300, shadow = 1000} Other.__index = Other
function Other:m() return 400 end
function Other:n() return 500 end

local MT = {q = 1}
MT.__index = function(_, k) return N + #k end
MT.__add = function(a, b) return N + 10 end
MT.__concat = function(a, b) return N + 20 end
MT.__unm = function(a) return N + 30 end
MT.__call = function(self, x) return N + x end
MT.__len = function(self) return N + 40 end
MT.__eq = function(a, b) return N > 5 end
MT.__lt = function(a, b) return N > 5 end
MT.__le = function(a, b) return N > 5 end
MT.__tostring = function() return tostring(N) end
MT.__pairs = function(self) return function(_, k) if not k then return N, N end end, self, nil end
local met, met2 = setmetatable({}, MT), setmetatable({}, MT)
local plain, plain2 = {1, 2}, {1, 2}
local direct = setmetatable({}, {__index = T, __add = rawlen})

package.loaded.a_module = {v = 7, f = function() return N + 70 end, sub = {w = 8}}
math.extra, string.extra = {c = 9}, function(s) return #s + N end

local function pair_of(n)
  return function() return n end, function(v) n = v end
end
local get_inner, set_inner = pair_of(11)
local get_far, set_far = pair_of(12)
local function through() return get_far() + 1 end
local box = {get = get_inner, nested = {get = through}}
local st_number = static_fn(function() return N + 1 end)
local st_table = static_fn(function() return T.v + T.list[1] + #T.list end)
local st_function = static_fn(function() return get_inner() end)
local st_through = static_fn(function() return through() end)
local st_box = static_fn(function() return box.nested.get() end)
local st_object = static_fn(function() return obj:n() + obj.shadow end)
local st_static = static_fn(function() return st_through() + st_number() end)
local st_event = static_fn(function() return #met + (met + 1) end)
local st_first = static_fn(function(t) return t.v end)
local st_inside = static_fn(function(t) return t[1].v end)
local st_call = static_fn(function(f) return f() end)
local st_gives = static_fn(function() return T end)
local dv_number = device_fn(function(a) return a + N end)
local dv_through = device_fn(function(a) return a + through() end)

local env = {x = 13}
local env_base = {y = 14}
setmetatable(env, {__index = env_base})
local in_env = load("return x + y", "=env", "t", env)
local own_env
do
  local _ENV = {z = 15}
  own_env = {read = function() return z end, set = function(v) z = v end,
             swap = function(e) local was = _ENV _ENV = e return was end}
end

local READS = {}
local function read(name, host, helper, direct_kernel) READS[#READS + 1] = {name, host, helper, direct_kernel} end
--READS
local CHANGES = {}
local function change(name, go, back) CHANGES[#CHANGES + 1] = {name, go, back} end
--CHANGES
return READS, CHANGES
]==]

local reads <const> = [==[
G
GT.v
GT["v"]
GT.list[2] + #GT.list
GT.deep.a.b
GF()
_G.G
_ENV.GT.v
rawget(_G, "G")
rawget(GT, "v")
(function() local n = 0 for k in pairs(_G) do n = n + (k == "G" and G or 0) end return n end)()
rawlen(GT.list)
rawequal(GT.list, T.list) and 1 or 2
N
F()
T.v
T.fn()
T.fn == F and 1 or 2
flag and 1 or 2
#text
text:len()
text:extra()
("ab"):extra()
select("#", table.unpack(T.list))
select(2, table.unpack(GT.list))
math.tointeger(table.concat(T.list))
next(T.list)
(function() local s = 0 for _, v in pairs(T.list) do s = s + v end return s end)()
(function() local s = 0 for _, v in ipairs(T.list) do s = s + v end return s end)()
(function() local s = 0 for _, v in next, T.list do s = s + v end return s end)()
(function() local s = 0 for i = 1, #T.list do s = s + T.list[i] end return s end)()
(function() local t = {T.list} for _, v in pairs(t) do return v[1] end end)()
(function() local t = {{T}} return t[1][1].v end)()
(function() local t = table.pack(T) return t[1].v end)()
(function() local t = table.move(T.list, 1, 2, 1, {}) return t[1] end)()
(function() local t = {table.unpack(T.list)} table.sort(t, function(a, b) return a > b + N - N end) return t[1] end)()
(function() local s = ("a"):gsub("a", function() return tostring(N) end) return tonumber(s) end)()
(function() local s = ("v"):gsub("v", T) return tonumber(s) end)()
(function() local s = ("r"):gsub("r", obj) return tonumber(s) end)()
obj.own
obj.d
obj.b
obj.r
obj.shadow
obj:m()
obj:n()
obj.missing and 1 or 2
Derived.r
setmetatable({}, Derived).d
setmetatable({}, Derived).r
setmetatable({}, Derived):n()
setmetatable({}, {__index = Derived}).r
setmetatable({}, {__index = T}).v
setmetatable({}, {__index = setmetatable({}, {__index = T})}).v
setmetatable({}, {__index = setmetatable({}, Base)}).r
setmetatable({}, {__index = T.fn}).anything
setmetatable({}, {__index = function(_, k) return T[k] end}).v
setmetatable({}, getmetatable(obj)).r
getmetatable(obj).d
getmetatable(obj).r
getmetatable(getmetatable(obj)).b
getmetatable(met).q
getmetatable(met).__index == MT.__index and N or 0
getmetatable(setmetatable({}, MT)).q
getmetatable(plain) == nil and 1 or 2
debug.getmetatable(met).q
debug.getmetatable(obj).r
select(2, debug.getupvalue(get_inner, 1))
direct.v
direct + 1 == 0 and 1 or 2
met.abc
met + 1
1 + met
met .. "x"
-met
met(1)
#met
met == met2 and 1 or 2
met ~= met2 and 1 or 2
met < met2 and 1 or 2
met <= met2 and 1 or 2
tonumber(tostring(met))
(function() for k, v in pairs(met) do return v end return 0 end)()
plain == plain2 and 1 or 2
#plain
require("a_module").v
require "a_module".v
require "a_module".sub.w
require "a_module".f()
(function() local m = require "a_module" return m.v end)()
package.loaded.a_module.v
package.loaded["a_module"].sub.w
_G.package.loaded.a_module.v
math.extra.c
math.pi
math.max(1, 2)
math["max"](1, 2)
max(1, 2)
tonumber("3")
("x"):rep(3):len()
get_inner()
through()
box.get()
box.nested.get()
st_number()
st_table()
st_function()
st_through()
st_box()
st_object()
st_static()
st_event()
st_first(T)
st_first({v = T.v})
st_inside({T})
st_inside({{v = N}})
st_call(get_inner)
st_call(through)
st_call(box.get)
st_gives().v
st_gives().list[1]
(select(2, pcall(st_through)))
dv_number(1)
dv_through(1)
(select(2, pcall(through)))
(select(2, xpcall(F, tostring)))
coroutine.wrap(through)()
coroutine.wrap(function() coroutine.yield(N) end)()
load("return G")()
load("return GT.v + G")()
in_env()
own_env.read()
size(layout({#T.list, T.v}))
size(layout({T.list, {T.v}}))
(function(_ENV) return v end)(T)
(function() local _ENV = T return v + #list end)()
(function() local _ENV = {T = T} return T.v end)()
load("return v", "=v", "t", T)()
T[flag] and 1 or 2
(function() local s = 0 for _, v in ipairs(setmetatable({}, {__index = T.list})) do s = s + v end return s end)()
tonumber(table.concat(setmetatable({}, {__index = T.list}), "", 1, 2))
select(2, table.unpack(setmetatable({}, {__index = T.list}), 1, 2))
tonumber(string.format("%d", T.v))
(function() local v do local c <close> = setmetatable({}, {__close = function() v = T.v end}) end return v end)()
getmetatable(setmetatable({}, {__index = T})).__index.v
rawget(getmetatable(obj), "d")
(select(2, coroutine.resume(coroutine.create(function(t) return t.v end), T)))
]==]

local changes <const> = [==[
G = 100 | G = 1
GT = {v = 20, list = {7, 8}, deep = {a = {b = 9}}} | GT = saved
GT.v = 21 | GT.v = 2
GT.list[2] = 22 | GT.list[2] = 2
GT.list[4] = 23 | GT.list[4] = nil
GT.deep.a.b = 24 | GT.deep.a.b = 4
GT.deep = {a = {b = 25}} | GT.deep = saved
GF = function() return 26 end | GF = saved
rawset(GT, "v", 27) | rawset(GT, "v", 2)
_G.G = 28 | _G.G = 1
_G["G" .. ""] = 29 | G = 1
load("G = 30")() | G = 1
coroutine.wrap(function() G = 31 end)() | G = 1
setmetatable(_G, {__index = function() return 32 end}) GF = nil | setmetatable(_G, nil) GF = saved
N = 33 | N = 1
N = 1.5 | N = 1
F = function() return 34 end | F = saved
debug.setupvalue(get_inner, 1, 35) | set_inner(11)
set_inner(36) | set_inner(11)
set_far(37) | set_far(12)
through = function() return 38 end | through = saved
T = {v = 39, list = {1}, fn = function() return 40 end} | T = saved
T.v = 41 | T.v = 3
T.list = {6, 7, 8} | T.list = saved
T.list[1] = 42 | T.list[1] = 4
table.insert(T.list, 43) | table.remove(T.list)
table.insert(T.list, 1, 43) | table.remove(T.list, 1)
table.remove(T.list, 1) | table.insert(T.list, 1, 4)
table.sort(T.list, function(a, b) return a > b end) | table.sort(T.list)
table.move({44, 45}, 1, 2, 1, T.list) | table.move({4, 5}, 1, 2, 1, T.list)
T.fn = function() return 46 end | T.fn = saved
T.fn = F | T.fn = saved
T.v = nil | T.v = 3
T[flag] = 1 | T[flag] = nil
setmetatable(T, {__index = function() return 47 end}) T.v = nil | setmetatable(T, nil) T.v = 3
flag = false | flag = true
text = "abcdef" | text = "abc"
Root.r = 48 | Root.r = 1
Root.shadow = 49 | Root.shadow = 10
Base.shadow = 50 | Base.shadow = nil
Derived.shadow = 51 | Derived.shadow = nil
obj.shadow = 52 | obj.shadow = nil
obj.own = 53 | obj.own = 4
Derived.d = 54 | Derived.d = 3
Base.b = 55 | Base.b = 2
Root.missing = 56 | Root.missing = nil
function Root:m() return 57 end | Root.m = saved
function Derived:m() return 58 end | Derived.m = nil
function obj:n() return 59 end | obj.n = nil
setmetatable(obj, Other) | setmetatable(obj, Derived)
setmetatable(Derived, Other) | setmetatable(Derived, Base)
setmetatable(Base, nil) | setmetatable(Base, Root)
Base.__index = Other | Base.__index = Base
Derived.__index = function(_, k) return 60 end | Derived.__index = Derived
Derived = Other | Derived = saved
debug.setmetatable(obj, Other) | debug.setmetatable(obj, Derived)
getmetatable(obj).__index = Other | Derived.__index = Derived
getmetatable(direct).__index = GT | getmetatable(direct).__index = T
getmetatable(direct).__add = rawequal | getmetatable(direct).__add = rawlen
MT.q = 61 | MT.q = 1
MT.__index = function() return 62 end | MT.__index = saved
MT.__add = function() return 63 end | MT.__add = saved
MT.__concat = function() return 64 end | MT.__concat = saved
MT.__unm = function() return 65 end | MT.__unm = saved
MT.__call = function() return 66 end | MT.__call = saved
MT.__len = function() return 67 end | MT.__len = saved
MT.__len = nil | MT.__len = saved
MT.__eq = function() return true end | MT.__eq = saved
MT.__eq = nil | MT.__eq = saved
MT.__lt = function() return true end | MT.__lt = saved
MT.__le = function() return true end | MT.__le = saved
MT.__tostring = function() return "68" end | MT.__tostring = saved
MT.__pairs = function(t) return next, {69} end | MT.__pairs = saved
MT.__pairs = nil | MT.__pairs = saved
MT.__metatable = {q = 70, __index = 71} | MT.__metatable = nil
MT = {q = 72, __index = T} | MT = saved
setmetatable(met, {q = 73, __index = T, __len = F, __add = F}) | setmetatable(met, MT)
setmetatable(met, nil) | setmetatable(met, MT)
setmetatable(plain, {__eq = function() return true end, __len = F}) | setmetatable(plain, nil)
package.loaded.a_module = {v = 74, f = F, sub = {w = 75}} | package.loaded.a_module = saved
package.loaded.a_module.v = 76 | package.loaded.a_module.v = 7
require "a_module".sub.w = 77 | require "a_module".sub.w = 8
require "a_module".f = F | package.loaded.a_module.f = saved
math.extra.c = 78 | math.extra.c = 9
math.extra = {c = 79} | math.extra = saved
function string.extra() return 80 end | string.extra = saved
math.pi = 3 | math.pi = saved
math.max = math.min | math.max = saved
max = min | max = saved
tonumber = function() return 81 end | tonumber = saved
string.len = function() return 82 end | string.len = saved
box.get = F | box.get = get_inner
box.nested = {get = F} | box.nested = {get = through}
box = {get = F, nested = {get = F}} | box = saved
env.x = 83 | env.x = 13
env.y = 84 | env.y = nil
env_base.y = 85 | env_base.y = 14
setmetatable(env, {__index = {y = 86}}) | setmetatable(env, {__index = env_base})
own_env.set(87) | own_env.set(15)
own_env.was = own_env.swap({z = 88}) | own_env.swap(own_env.was)
]==]

-- The texts of reads and changes become functions of the world, which share its locals.
local function lines(text) return text:gmatch("([^\n]+)\n") end
local function fill(text, mark, pieces)
  local at = assert(text:find(mark, 1, true))
  return text:sub(1, at - 1) .. table.concat(pieces, "\n") .. text:sub(at + #mark)
end
local read_texts, change_texts = {}, {}
for line in lines(reads) do
  read_texts[#read_texts + 1] = ([[do
  local function helper() return %s end
  read(%q, helper, function(y) y[0] = helper() end, function(y) y[0] = %s end)
end]]):format(line, line, line)
end
for line in lines(changes) do
  local go, back = line:match("^(.-) | (.*)$")
  -- what the change replaces is kept where undoing it asks for that
  local place = back:match("([%w_.]+) = saved")
  change_texts[#change_texts + 1] = ([[do
  local saved
  change(%q, function() %s %s end, function() %s end)
end]]):format(go, place and "saved = " .. place or "", go, back)
end

local source = fill(fill(world, "--READS", read_texts), "--CHANGES", change_texts)
local READS, CHANGES = assert(load(source, "=world"))()

local out = zeros(f64, 1)
-- "7.0", or "error": which is what both must do.
local function launch(k)
  return pcall(function() k{grid = 1, block = 1}(out) return out[0] end)
end
local kernels = {}
for i, r in ipairs(READS) do
  kernels[i] = {kernel("by_helper", r[3]), kernel("by_itself", r[4])}
end

local n = {pairs = 0, differ = 0, changed = 0}
local function compare(i, k, how, when)
  local r = READS[i]
  local ok, want = pcall(r[2])
  ok = ok and want ~= nil
  local done, got = launch(k)
  local same = ok == done and (not ok or want == got)
  n.pairs = n.pairs + 1
  if not same then
    n.differ = n.differ + 1
    print(("%s, %s, %s: %s, not %s"):format(r[1], how, when, got, want))
  end
  return want
end
local before = {}
local function compare_all(when)
  for i in ipairs(READS) do
    local want = compare(i, kernels[i][1], "helper", when)
    compare(i, kernels[i][2], "kernel", when)
    n.changed = n.changed + (want ~= before[i] and 1 or 0)
  end
end

for i, r in ipairs(READS) do
  before[i] = r[2]()
end
compare_all("at first")
-- An argument takes every so many changes, for a run under `check`.
local every <const> = tonumber(arg[1] or 1)
for at = 1, #CHANGES, every do
  local c = CHANGES[at]
  c[2]()
  compare_all("after " .. c[1])
  c[3]()
  for i in ipairs(READS) do
    compare(i, kernels[i][1], "helper", "after undoing " .. c[1])
  end
end
print(n.differ)                             -- expect: 0
print(n.changed > 500 // every, n.pairs > 35000 // every) -- expect: true	true

-- At random: a change more, or the last one undone. A kernel of now agrees with the one that has seen it all.
math.randomseed(4)
local done, is_done = {}, {}
local function step()
  local c = CHANGES[math.random(#CHANGES)]
  if #done > 0 and math.random(3) == 1 then
    local last = table.remove(done)
    is_done[last] = nil
    last[3]()
  elseif not is_done[c] and pcall(c[2]) then
    done[#done + 1], is_done[c] = c, true
  end
  for _ = 1, 12 do
    local i = math.random(#READS)
    compare(i, kernels[i][1], "helper", "at random")
    compare(i, kernels[i][2], "kernel", "at random")
    compare(i, kernel("fresh", READS[i][4]), "new kernel", "at random")
  end
end
for _ = 1, 150 // every do step() end
print(n.differ)                             -- expect: 0
