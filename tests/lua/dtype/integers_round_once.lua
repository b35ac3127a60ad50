-- luacheck: no max line length
-- An integer of more than 53 bits becomes a float by one rounding, on every way: not first a double and then an f32.
local sorted = dofile "tests/support/sorted.lua"
local types = {f64, f32, f16, bf16, tf32, f8e4m3, f8e5m2, f8ue8m0, f8ue4m3, f6e2m3, f6e3m2, f4e2m1}
local values = {0x2938e75ffffffff, -0x2938e75ffffffff, (1 << 54) + (1 << 30) + 1, math.maxinteger, math.mininteger,
  (1 << 62) + (1 << 38) + 1, 16777217, 65519, 65520}

-- For each way: what it stores in y, from the tensor of n = v, or from v itself.
local ways = {
  store = function(_, v) return function(y) y[0] = v end end,
  cast = function(t, v) return function(y) y[0] = cast(v, t) end end,
  argument = function(t) return function(y, n) y[0] = cast(n, t) end end,
  filled = function(_, v) return function(y) fill(y, v) end end,
  and_or = function(t, v) return function(y) y[0] = cast(y[0] < 0.25 and v or 0.5, t) end end,
  ["where"] = function(t, v) return function(y) y[0] = cast(where(y[0] < 0.25, v, 0.5), t) end end,
  variable = function(t, v) return function(y) local x = 0.5 if y[0] < 0.25 then x = v end y[0] = cast(x, t) end end,
  constant = function(t, v) local a = constant(t, {v}) return function(y) y[0] = a[0] end end,
}
local host = {
  from_table = function(t, v) return from_table(t, {v}) end,
  full = function(t, v) return full(t, 1, v) end,
  element = function(t, v) local a = zeros(t, 1) a[0] = v return a end,
}

-- The engine's cast of an i64 at run time is exact: tests/c/test_convert.c.
local function exact(t, v)
  local y = zeros(t, 1)
  kernel("exact", function(a, b) b[0] = cast(a[0], t) end){grid = 1, block = 1}(from_table(i64, {v}), y)
  return y[0]
end

local n, wrong = 0, 0
local function check(name, t, v, got)
  n = n + 1
  if got ~= exact(t, v) then
    wrong = wrong + 1
    print(name, t, ("%x: got %.17g, want %.17g"):format(v, got, exact(t, v)))
  end
end

for _, t in ipairs(types) do
  for _, v in ipairs(values) do
    for name, way in sorted(ways) do
      if t == f4e2m1 and name == "filled" then goto next end -- half a byte cannot be filled
      local y = zeros(t, 1)
      kernel("k", function(...) way(t, v)(...) end){grid = 1, block = 1}(y, v)
      check(name, t, v, y[0])
      ::next::
    end
    for name, way in sorted(host) do check(name, t, v, way(t, v)[0]) end
  end
end
print(n, wrong)                                              -- expect: 1179	0
print(("%08x"):format(recast(from_table(f32, {0x2938e75ffffffff}), u32)[0])) -- expect: 5c24e39d
