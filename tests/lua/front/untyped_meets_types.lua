-- luacheck: no max line length
-- What the kernel computes from numbers without a type, or keeps in variables, has an f64's precision where it meets
-- an f64, and is an f32 beside an f32. Each line is compared with the same in Lua.
local fails, n = 0, 0
local function check(what, got, want) n = n + 1 if got ~= want then fails = fails + 1 print(("not ok %s: got %.17g want %.17g"):format(what, got, want)) end end
local function run(fn, ...) local y, x = zeros(f64, 4), from_table(f64, {3, 5, 7, 0.25}) kernel(fn){grid=1,block=1}(y, x, ...) return y[0] end
check("a*x", run(function(y, x, a) y[0] = a * x[0] end, 0.1), 0.1*3)
check("n/10*x", run(function(y, x, n) y[0] = (n / 10.0) * x[0] end, 7), 7/10*3)
check("n*0.1+x", run(function(y, x, n) y[0] = n * 0.1 + x[0] end, 7), 7*0.1+3)
check("tid", run(function(y, x, n) y[0] = threadIdx.x * 0.1 + n * 0.1 * x[0] end, 7), 7*0.1*3)
check("sqrt n", run(function(y, x, n) y[0] = sqrt(n) * x[0] end, 7), math.sqrt(7)*3)
check("exp a", run(function(y, x, a) y[0] = exp(a) * x[0] end, 0.1), math.exp(0.1)*3)
check("a+b", run(function(y, x, a, b) y[0] = (a + b) * x[0] end, 0.1, 0.2), (0.1+0.2)*3)
check("fma1", run(function(y, x, a, b) y[0] = fma(a, x[0], 0.1) end, 0.1, 0.2), 0.1*3+0.1)
check("fma2", run(function(y, x, a, b) y[0] = fma(a, b, 1.0) * x[0] end, 0.1, 0.2), (0.1*0.2+1)*3)
check("fma3", run(function(y, x, a, n) y[0] = fma(n, 0.1, n) * x[0] end, 0.1, 3), (3*0.1+3)*3)
check("pow", run(function(y, x, a) y[0] = a ^ 3.0 * x[0] end, 0.1), (0.1^3)*3)
check("pow2", run(function(y, x, a) y[0] = a ^ 2 * x[0] end, 0.1), (0.1*0.1)*3)
check("max", run(function(y, x, a, n) y[0] = max(n, 0.1) * x[0] end, 0.1, -2), 0.1*3)
check("compare", run(function(y, x, a) if x[3] * 0.4 == a then y[0] = 1 end end, 0.25*0.4), 1)
check("mod", run(function(y, x, a) y[0] = (a % 0.3) * x[0] end, 1.0), (1.0 % 0.3)*3)
check("loop", run(function(y, x, a) local s = 0.1 for i in range(0, 4) do s = s + x[i] end y[0] = s end, 1), ((((0.1+3)+5)+7)+0.25))
check("loop2", run(function(y, x, a) local s = 0.1 for i in range(0, 4) do s = s * a end y[0] = s * x[0] end, 1.1), 0.1*1.1*1.1*1.1*1.1*3)
check("loop3", run(function(y, x, n) local s = 0.0 for i in range(0, n) do s = s + i * 0.1 end y[0] = s + x[0] end, 4), ((0.0+0.1)+2*0.1+3*0.1)+3)
check("two vars", run(function(y, x, n) local a, b = 0.1, 0.2 for i in range(0, n) do a, b = b, a end y[0] = a * x[0] end, 5), 0.2*3)
check("where int", run(function(y, x, n) y[0] = where(n > 0, n, 0.5) * x[0] end, 123456789), 123456789*3)
check("andor int", run(function(y, x, n) y[0] = (n > 0 and n or 0.5) * x[0] end, 123456789), 123456789*3)
check("where big", run(function(y, x, n) y[0] = where(n > 0, 16777217, 0.5) * x[0] end, 1), 16777217*3)
check("andor big", run(function(y, x, n) y[0] = (n > 0 and 16777217 or 0.5) * x[0] end, 1), 16777217*3)
check("var big", run(function(y, x, n) local v = 0.5 if n > 0 then v = 16777217 end y[0] = v * x[0] end, 1), 16777217*3)
check("result", run(function(y, x, n) local function f() if n > 0 then return 0.1 end return 0.2 end y[0] = f() * x[0] end, 1), 0.1*3)
check("while", run(function(y, x, n) local v = 0.1 while v < n do v = v * 2.0 end y[0] = v * x[0] end, 1), 0.1*16*3)
check("first x", run(function(y, x, n) local v = 0.1 if n > 0 then v = x[0] end y[0] = v end, 0), 0.1)
check("callback", run(function(y, x, n) local v = 0.1 local function set(w) v = w end for i in range(0, n) do set(v * 3.0) end y[0] = v + x[0] end, 2), 0.1*3*3+3)
check("explicit", run(function(y, x, a) y[0] = f32(a) * x[0] end, 0.1), 0.10000000149011612*3)
check("explicit 2", run(function(y, x, a) y[0] = f32(a) * 0.5 * x[0] end, 0.1), 0.10000000149011612*0.5*3)
check("explicit 3", run(function(y, x, n) y[0] = f32(n) * x[0] end, 123456789), 123456792.0*3)
check("typed arg", run(function(y, x, a) y[0] = a * x[0] end, f32(0.1)), 0.10000000149011612*3)
check("i64", run(function(y, x, n) y[0] = where(n > 0, 1, 1 << 40) * x[0] end, 0), (1 << 40)*3.0)
check("arr", run(function(y, x, n) local t = {0.1, 0.2} y[0] = t[1] * x[0] + where(n > 0, t[1], t[2]) * x[0] end, 1), 0.1*3+0.1*3)
-- mixed: f32 and f64 in one kernel
local function mixed(fn, ...) local y, x, z, w = zeros(f64, 4), from_table(f64, {3, 5, 7, 0.25}), zeros(f32, 4), from_table(f32, {3, 5, 7, 0.25}) kernel(fn){grid=1,block=1}(y, x, z, w, ...) return y[0], z[0] end
local function f(v) local a = zeros(f32, 1) a[0] = v return a[0] end
local function check2(what, a, b, c, d) check(what .. " f64", a, c) check(what .. " f32", b, d) end
local function m(what, fn, c, d, ...) local a, b = mixed(fn, ...) check2(what, a, b, c, d) end
m("arg", function(y, x, z, w, a) y[0] = a * x[0] z[0] = a * w[0] end, 0.1*3, f(f(0.1)*3), 0.1)
m("store", function(y, x, z, w, a) y[0] = a z[0] = a end, 0.1, f(0.1), 0.1)
m("var", function(y, x, z, w, a) local v = 0.1 if a > 0 then v = 0.7 end y[0] = v * x[0] z[0] = v * w[0] end, 0.7*3, f(f(0.7)*3), 1.0)
m("var f32 only", function(y, x, z, w, a) local v = 0.1 for i in range(0, 3) do v = v + w[i] end z[0] = v y[0] = a * x[0] end, 0.1*3, f(f(f(f(0.1)+3)+5)+7), 0.1)
m("m f32", function(y, x, z, w, a) local v = where(a > 0, -1e30, 0.3) for i in range(0, 3) do v = max(v, w[i]) end z[0] = v y[0] = where(a > 0, 0.1, 0.3) * x[0] end, 0.1*3, 7, 0.1)
local function scale(v, s) local r = 0.0 for i in range(0, 3) do r = r + v[i] * s end return r end
m("helper both", function(y, x, z, w, a) y[0] = scale(x, a) z[0] = scale(w, a) end, 0.0+3*0.1+5*0.1+7*0.1, f(f(f(f(0.1)*3)+f(f(0.1)*5))+f(f(0.1)*7)), 0.1)


-- launches: the same configuration with other numbers, prepared and recorded ones
local x, y = from_table(f64, {3}), zeros(f64, 1)
local k = kernel("scale", function(y, x, a) y[0] = a * x[0] end)
local launch = k{grid = 1, block = 1}
for _, v in ipairs{0.1, 0.7, 1e300, f32(0.1), 0.3, 2, 0.9} do
  launch(y, x, v)
  check("again " .. tostring(v), y[0], (type(v) == "number" and v or 0.10000000149011612) * 3)
end
local g = graph(function() launch(y, x, 0.1) end)
g()
check("graph", y[0], 0.1 * 3)
kernel("field", function(y, x, o) y[0] = o.scale * x[0] end){grid = 1, block = 1}(y, x, {scale = 0.1})
check("field of an argument", y[0], 0.1 * 3)
launch(y, x, static(0.1))
check("static", y[0], 0.1 * 3)

-- one kernel for f32 and for f64
local z, w = zeros(f32, 1), from_table(f32, {3})
for _ = 1, 2 do
  launch(z, w, 0.1)
  check("f32", z[0], f(f(0.1) * 3))
  launch(y, x, 0.1)
  check("f64", y[0], 0.1 * 3)
end
print(n, fails) -- expect: 60	0

-- a kernel of f32 takes an f32, one of f64 an f64
for _, a in ipairs{{z, w}, {y, x}} do
  print((k{grid = 1, block = 1}:source(a[1], a[2], 0.1):match("%w+ a[,)]")))
end
-- expect: float a)
-- expect: double a)

-- a function of device_fn gives its parameter a type, on a GPU too; what it returns takes one there
local times = device_fn(function(a, b) return a * b end, {name = "times"})
local text = kernel("k", function(y, x, a) y[0] = times(a, x[0]) end){grid = 1, block = 1}:source(y, x, 0.1)
print(text:match("times[_%w]*%(double a1, double a2") ~= nil, text:match("double a,") ~= nil or text:match("double a%)") ~= nil)
-- expect: true	true
local twice = device_fn(function(a) return a * 2.0 end)
local open = kernel("k", function(y, x, a) y[0] = twice(a) * x[0] end){grid = 1, block = 1}:source(y, x, 0.1)
print(open:match("double a[,)]") ~= nil, open:match("a %* 2%.0 %* x%[0%]") ~= nil) -- expect: true	true

-- a captured launch has the double
local path = os.tmpname()
capture(k:prepare{grid = 1, block = 1}(y, x, 0.1), path, {data = true})
y[0] = 0
launch(y, x, 0.1)
print(("%.17g"):format(y[0])) -- expect: 0.30000000000000004
os.remove(path)

-- nothing becomes narrower by itself
local function refuse(fn, ...)
  local args = {...}
  local _, message = pcall(function() kernel("k", fn){grid = 1, block = 1}(table.unpack(args)) end)
  print((message:gsub("^.-:%d+: ", "")))
end
local h = zeros(f16, 4)
refuse(function(y, x) local s = 0.1 for i in range(0, 4) do y[i] = s s = s + x[i] end end, zeros(f32, 4), ones(f64, 4))
-- expect: store to y: f32 expected, got f64; use cast(x, f32)
refuse(function(y, x) local s = 0.1 for i in range(0, 4) do s = s + x[i] end y[0] = s end, zeros(f32, 4), ones(f64, 4))
-- expect: store to y: f32 expected, got f64; use cast(x, f32)
refuse(function(y, x) local s = 0.1 for i in range(0, 4) do y[i] = s s = s + x[i] end end, h, ones(f32, 4))
-- expect: store to y: f16 expected, got f32; use cast(x, f16)
refuse(function(y, a) y[0] = a * 2.0 end, h, 0.1) -- expect: store to y: f16 expected, got f32; use cast(x, f16)
refuse(function(y, a) y[0] = f32(a) end, h, 0.1) -- expect: store to y: f16 expected, got f32; use cast(x, f16)
