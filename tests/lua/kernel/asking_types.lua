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
try(function(t, i, x) rawset({1, 2}, i, 3) end) -- expect: a Lua table is indexed by a run-time value; use a tensor, such as from_table(f32, t), or unroll the loop; a list of tensors passed as an argument allows any index
try(function(t, i, x) return ("%d"):format(i) end) -- expect: string.format of a run-time value; strings are made while tracing; use printf, which shows values when the kernel runs
try(function(t, i, x) return #i end)           -- expect: '#' on a run-time value; size(t) is the number of elements of a tensor

-- tostring says what is known of a value while tracing; print of a tensor its type and layout.
kernel("texts", function(t, i, x)
  local half = x * 0.5
  print(tostring(half), tostring(i), tostring(half < x)) -- expect: run-time f32 half	run-time i32 i	run-time bool value
  print(t) -- expect: tensor t i32 ?:1 in global memory
end){grid = 1, block = 1}(zeros(i32, 4), 1, 0.5)

-- A value goes into tables of Lua where its place is known.
local three = zeros(i32, 3)
kernel("places", function(t, i)
  local list = {}
  table.insert(list, i)
  table.insert(list, 1, i + 1)
  t[0], t[1], t[2] = list[1], table.remove(list), #list
end){grid = 1, block = 1}(three, 7)
print(three[0], three[1], three[2])   -- expect: 8	7	1
