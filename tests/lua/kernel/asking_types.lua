-- In a kernel a run-time value is a number or a boolean to Lua's functions that ask what it is.
local out = zeros(i32, 1)
local function describe(v)
  return type(v) .. " " .. tostring(math.type(v))
end
kernel("asks", function(t, i, l, x, b)
  print(describe(i), describe(l))    -- expect: number integer	number integer
  print(describe(x), describe(b))    -- expect: number float	boolean nil
  print(describe(2), describe("2"), describe(nil)) -- expect: number integer	string nil	nil nil
  print(describe(t), describe(i < x)) -- expect: userdata nil	boolean nil
  t[0] = tonumber(i) + math.tointeger(i) + tonumber("30") + math.tointeger(400.0)
  assert(t, "a Lua value may be asserted")
  assert(i)                          -- a number is true
end){grid = 1, block = 1}(out, 1, 1 << 40, 0.5, true)
print(out[0])                        -- expect: 432

local function try(f)
  local ok, message = pcall(kernel("k", f){grid = 1, block = 1}, out, 1, 0.5)
  print(not ok and message:match(":%d+: (.*)") or "no error")
end
try(function(t, i, x) return math.tointeger(x) end) -- expect: math.tointeger of a run-time float; use cast(x, i32)
try(function(t, i, x) return rawequal(i, 1) end) -- expect: a raw access cannot tell what a run-time value is; use == or a tensor
try(function(t, i, x) return rawget({1, 2}, i) end) -- expect: a raw access cannot tell what a run-time value is; use == or a tensor
try(function(t, i, x) rawset({1, 2}, i, 3) end) -- expect: a Lua table is indexed by a run-time value; use a tensor, or unroll the loop
try(function(t, i, x) return ("%d"):format(i) end) -- expect: bad argument #2 to 'string.format' (number expected, got run-time value)
try(function(t, i, x) return #i end)           -- expect: '#' on a run-time value; size(t) is the number of elements of a tensor
