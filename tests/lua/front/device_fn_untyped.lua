-- luacheck: no max line length
-- A number without a type means the same in a function of device_fn as in a plain helper: where the function returns
-- one, or what is known, the CUDA C of a kernel is that of the helper. The CPU engine traces functions in place.
local function text_of(make, wrap, ...)
  local f = make(wrap)
  local text = kernel("k", function(...) f(...) end){grid = 1, block = 1}:source(...)
  return (text:gsub("//[^\n]*", ""))
end
local function plain(f) return f end

local types = {f64, f32, f16, bf16, f8e4m3, i32}
-- Kernels of (y, c, v, x): c is an i32 and v a Lua float of the launch, x a tensor as y is.
local function same(a) return a end
local function doubled(a) return a * 2.0 end
local function chosen(c, a, b) if c then return a end return b end
local function third() return 1 / 3 end
local function tenth(a) return a, 0.1, 3, true end
local ways = {
  passed = function(wrap, t)
    local f = wrap(same)
    return function(y, _, v) y[0] = cast(f(v), t) end
  end,
  computed = function(wrap, t)
    local f = wrap(doubled)
    return function(y, _, v) y[0] = cast(f(v), t) end
  end,
  computed_twice = function(wrap, t)
    local f = wrap(doubled)
    return function(y, _, v) y[0] = cast(f(f(v)), t) end
  end,
  given_computed = function(wrap, t)
    local f = wrap(same)
    return function(y, _, v) y[0] = cast(f(v * 3.0), t) end
  end,
  chosen = function(wrap, t)
    local f = wrap(chosen)
    return function(y, c, v) y[0] = cast(f(c ~= 0, v, 0.75), t) end
  end,
  chosen_known = function(wrap, t)
    local f = wrap(chosen)
    return function(y, c) y[0] = cast(f(c ~= 0, 0.1, 1 / 3), t) end
  end,
  meets = function(wrap)
    local f = wrap(doubled)
    return function(y, _, v, x) y[0] = f(v) * x[0] end
  end,
  nested = function(wrap, t)
    local f = wrap(doubled)
    local g = wrap(function(a) return f(a) + f(0.1) end)
    return function(y, _, v) y[0] = cast(g(v), t) end
  end,
}
local n, differ = 0, 0
for name, way in pairs(ways) do
  for _, t in ipairs(types) do
    local function make(wrap) return way(wrap, t) end
    local y = zeros(t, 1)
    local ok, helper = pcall(text_of, make, plain, y, 1, 0.1, ones(t, 1))
    local fine, made = pcall(text_of, make, device_fn, y, 1, 0.1, ones(t, 1))
    n = n + 1
    if ok ~= fine or ok and helper ~= made then
      differ = differ + 1
      print(name, t, helper, made)
    end
  end
end
print(n, differ) -- expect: 48	0

-- What is known stays known: it takes a type where it meets one, and counts turns of a loop that is unrolled.
local f, g = device_fn(third), device_fn(tenth)
local text = kernel("k", function(y, x)
  local a, b, n, is = g(x[0])
  for _ = 1, n do y[0] = y[0] + f() end
  if is then y[0] = y[0] + a * b end
end){grid = 1, block = 1}:source(zeros(f64, 1), ones(f64, 1))
print(select(2, text:gsub("0%.3333333333333333", "")), text:find("for (", 1, true)) -- expect: 3	nil
print(text:match("fma%(r1, 0%.1, y%[0%]%)"), text:match("function_%d+%(%)")) -- expect: fma(r1, 0.1, y[0])	nil

-- A function whose results have types is one function.
local scaled = device_fn(function(a, x) return x * a end, {name = "scaled"})
text = kernel("k", function(y, _, v, x) y[0] = f16(scaled(v, x[0]) + scaled(v, x[0])) end){grid = 1, block = 1}
  :source(zeros(f16, 1), 1, 0.1, ones(f16, 1))
print(select(2, text:gsub("scaled_f32_f16%(", ""))) -- expect: 3
