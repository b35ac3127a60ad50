-- luacheck: no max line length
-- A number of the script has no type until it meets one, and takes that one, rounded once: each way through a kernel,
-- each float type.
local types = {f64, f32, f16, bf16, tf32, f8e4m3, f8e5m2, f8ue8m0, f8ue4m3, f6e2m3, f6e3m2, f4e2m1}
local values = {0.1, 1 / 3, 123456789.0, 1e300, 1e-300, 16777217.0, -0.0, 1 + 2^-11 + 2^-40, 1 + 2^-12, 2049.0}

local function rounded(t, v)
  local a = zeros(t, 1)
  a[0] = v
  return a[0]
end

local helper = function(c, v) if c then return v end return 0.75 end
local function same(a) return a end
local of_device = device_fn(same)

-- For each way: a kernel of (y, c, v), where c is 1 and v is an argument of the launch.
local ways = {
  argument = function(t) return function(y, _, v) y[0] = cast(v, t) end end,
  stored = function() return function(y, _, v) y[0] = v end end,
  captured = function(_, v) return function(y) y[0] = v end end,
  ["where"] = function(t, v) return function(y, c) y[0] = cast(where(c ~= 0, v, 0.75), t) end end,
  where_stored = function(_, v) return function(y, c) y[0] = where(c ~= 0, v, 0.75) end end,
  where_argument = function(t) return function(y, c, v) y[0] = cast(where(c ~= 0, v, 0.75), t) end end,
  and_or = function(t, v) return function(y, c) y[0] = cast(c ~= 0 and v or 0.75, t) end end,
  and_or_argument = function(t) return function(y, c, v) y[0] = cast(c ~= 0 and v or 0.75, t) end end,
  and_or_chain = function(t, v)
    return function(y, c) y[0] = cast(y[0] < 0.25 and v or c == 5 and 0.3 or 0.75, t) end
  end,
  variable = function(t, v)
    return function(y, c) local x = 0.75 if c ~= 0 then x = v end y[0] = cast(x, t) end
  end,
  variable_stored = function(_, v) return function(y, c) local x = 0.75 if c ~= 0 then x = v end y[0] = x end end,
  carried = function(t, v)
    return function(y, c)
      local x = 0.75
      for _ in range(0, c) do y[0] = cast(x, t) x = v end
      y[0] = cast(x, t)
    end
  end,
  helper = function(t, v) return function(y, c) y[0] = cast(helper(c ~= 0, v), t) end end,
  field = function(t, v)
    return function(y, c) local r = {a = 0.75} if c ~= 0 then r.a = v end y[0] = cast(r.a, t) end
  end,
  record = function(t, v)
    return function(y, c) local r = {a = 0.75} if c ~= 0 then r = {a = v} end y[0] = cast(r.a, t) end
  end,
  element = function(_, v) return function(y, c) local list = {0.75, v} y[0] = list[2] end end,
  device_fn = function(t) return function(y, _, v) y[0] = cast(of_device(v), t) end end,
  min = function(t) return function(y, _, v) y[0] = cast(min(v, 1e308), t) end end,
  negated = function(t) return function(y, _, v) y[0] = cast(-(-v), t) end end,
  shuffled = function(t) return function(y, _, v) y[0] = cast(shfl_xor(v, 0), t) end end,
  filled = function() return function(y, _, v) fill(y, v) end end,
  fragment = function(t) return function(y, _, v) local f = fragment(t, 1) f[0] = v y[0] = f[0] end end,
  constant = function(t, v) local a = constant(t, {v}) return function(y) y[0] = a[0] end end,
}

local n, wrong = 0, 0
local function check(what, got, want)
  n = n + 1
  if got ~= want then
    wrong = wrong + 1
    print(("%s: got %.17g, want %.17g"):format(what, got, want))
  end
end

for name, way in pairs(ways) do
  for _, t in ipairs(types) do
    for _, v in ipairs(values) do
      if t == f4e2m1 and name == "filled" then goto next end -- half a byte cannot be filled
      local y = zeros(t, 1)
      local ok, why = pcall(kernel("k", function(...) way(t, v)(...) end){grid = 1, block = 1}, y, 1, v)
      assert(ok, why)
      check(("%s, %s, %.17g"):format(name, t, v), y[0], rounded(t, v))
      ::next::
    end
  end
end
print(n, wrong) -- expect: 2750	0
