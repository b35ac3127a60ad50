-- What the messages advise that refuse functions of Lua's libraries: written as they say it, it
-- gives what Lua's own
-- function gives. Each row of front_refuse.c has its trial here.
local inf <const> = math.huge
local numbers <const> = { -3.25, 3.25, 0.5, -0.5, 0.0, 2.0, -7.0, 1e10, -1e-3, 1e300, inf, -inf }
local short <const> = { -3.25, 3.25, 0.5, -0.5, 0.0, 2.0, -7.0, 100.0 }
local pairs_of <const> = { { -7.0, 3.0 }, { 7.0, -3.0 }, { -7.5, 2.0 }, { 1e10, 3.0 }, { 2.0,
  0.5 }, { 0.0, 5.0 } }
local scaled <const> = { { 1.5, 3.0 }, { -1.5, -4.0 }, { 1e-300, 1500.0 }, { 3.0, -7.0 },
  { 1e300, -1900.0 },
  { 1.0, 0.0 } }
local words <const> = { { -1, 5 }, { 5, -1 }, { 3, 4 }, { 4, 3 }, { math.mininteger, 1 }, { 7, 7 } }

-- Of numbers: what the message says of f, x and y standing for its arguments (n, a and b for the
-- same).
local trials <const> = {
  ["math.atan"] = { { "atan(x)", short }, { "atan2(y, x)", pairs_of, function(x,
    y) return math.atan(y, x) end } },
  ["math.atan2"] = { { "atan2(y, x)", pairs_of, function(x, y) return math.atan(y, x) end } },
  ["math.deg"] = { { "x * (180.0 / math.pi)", numbers } },
  ["math.rad"] = { { "x * (math.pi / 180.0)", numbers } },
  ["math.fmod"] = { { "fmod(x, y)", pairs_of }, { "x % y", pairs_of, function(x,
    y) return x % y end } },
  ["math.ldexp"] = { { "x * exp2(n // 2) * exp2(n - n // 2)", scaled } },
  ["math.modf"] = {
    { "trunc(x)", numbers },
    { "where(trunc(x) == x, 0.0, x - trunc(x))", numbers, function(x) return select(2,
      math.modf(x)) end },
  },
  ["math.pow"] = { { "x ^ y", { { 2.0, 3.0 }, { 1.5, -2.0 }, { 9.0, 0.5 } } } },
  ["math.tan"] = { { "sin(x) / cos(x)", short } },
  ["math.ult"] = { { "u64(a) < u64(b)", words } },
}

local function is_near(got, want)
  if want ~= want then return got ~= got end
  return got == want or math.abs(got - want) <= 4e-15 * math.abs(want)
end

-- The message of what is refused when `call` is written in a kernel.
local function message_of(call, ...)
  local f = assert(load("return function(x, y, out) local r = " .. call .. " end", "=call"))()
  local ok, message = pcall(kernel("refused", f){grid = 1, block = 1}, ...)
  return not ok and message:gsub("^call:1: ", "") or "is not refused"
end

local n = { rows = 0, advised = 0, compared = 0 }
local function try_numbers(name, lua)
  local out = zeros(f64, 1)
  for _, trial in ipairs(trials[name]) do
    local advice, values, other = table.unpack(trial)
    local is_int = math.type(type(values[1]) == "table" and values[1][1] or values[1]) == "integer"
    local x, y = zeros(is_int and i64 or f64, 1), zeros(is_int and i64 or f64, 1)
    local message = message_of(name .. "(x[0], y[0])", x, y, out)
    if not message:find(advice, 1, true) then
      print(("%s: the message does not say '%s': %s"):format(name, advice, message))
    end
    local f = assert(load(("local x, y = ... local n, a, b = y, x, y return %s"):format(advice)))
    local k = kernel("advised", function(p, q, to)
      local v = f(p[0], q[0])
      to[0] = where(v == true, 1.0, 0.0)
    end)
    if advice:find("<", 1, true) == nil then
      k = kernel("advised", function(p, q, to) to[0] = f(p[0], q[0]) end)
    end
    n.advised = n.advised + 1
    for _, v in ipairs(values) do
      local a, b = v, 1
      if type(v) == "table" then a, b = table.unpack(v) end
      x[0], y[0] = a, b
      k{grid = 1, block = 1}(x, y, out)
      local want = (other or lua)(a, type(v) == "table" and b or nil)
      if type(want) == "boolean" then want = want and 1.0 or 0.0 end
      n.compared = n.compared + 1
      if not is_near(out[0], want) then
        print(("%s(%s, %s): %s gives %s, not %s"):format(name, a, b, advice, out[0], want))
      end
    end
  end
end

-- Of tensors and texts: the message of a call holds the advice; what it is for gives the value
-- of 8 numbers' sum, or so.
local t = from_table(f32, { 4, 1, 3, 2 })
local function sum_of(f)
  local out = zeros(f32, 1)
  kernel("advised", function(p, to) to[0] = f(p) end){grid = 1, block = 1}(t, out)
  return out[0]
end
local TABLE <const> = "for i = 0, size(t) - 1 do"
local function loop(p)
  local s = 0.0
  for i = 0, size(p) - 1 do s = s + p[i] end
  return s
end
local function quiet() printf("") return 1.0 end
local others <const> = {
  pairs = { "pairs(x)", TABLE, loop, 10.0 },
  ipairs = { "ipairs(x)", TABLE, loop, 10.0 },
  next = { "next(x)", TABLE, loop, 10.0 },
  load = { "load(x)", "write t[i]", function(p) return p[1] end, 1.0 },
  rawlen = { "rawlen(x)", "size(t) is", function(p) return f32(size(p)) end, 4.0 },
  print = { "print(x[0])", "use printf", quiet, 1.0 },
  ["io.write"] = { "io.write(x[0])", "use printf", quiet, 1.0 },
  ["string.byte"] = { "string.byte('a', i32(x[0]))", "use printf", quiet, 1.0 },
  ["string.char"] = { "string.char(i32(x[0]))", "use printf", quiet, 1.0 },
  ["string.find"] = { "string.find('a', 'a', i32(x[0]))", "use printf", quiet, 1.0 },
  ["string.format"] = { "string.format('%d', x[0])", "use printf", quiet, 1.0 },
  ["string.len"] = { "string.len(x[0])", "use printf", quiet, 1.0 },
  ["string.pack"] = { "string.pack('i4', i32(x[0]))", "use printf", quiet, 1.0 },
  ["string.rep"] = { "string.rep('a', i32(x[0]))", "use printf", quiet, 1.0 },
  ["string.sub"] = { "string.sub('a', i32(x[0]))", "use printf", quiet, 1.0 },
  ["utf8.char"] = { "utf8.char(i32(x[0]))", "use printf", quiet, 1.0 },
  ["table.concat"] = { "table.concat{x[0]}", "use printf", quiet, 1.0 },
  ["table.insert"] = { "table.insert(x, 1)", "write t[i] = v",
    function(p) p[0] = p[0] return 1.0 end, 1.0 },
  ["table.remove"] = { "table.remove({1}, i32(x[0]))", "use a tensor",
    function(p) return p[i32(p[1])] end, 1.0 },
  ["table.move"] = { "table.move({1}, i32(x[0]), 1, 1)", "use a tensor",
    function(p) return p[1] end, 1.0 },
  ["table.sort"] = { "table.sort(x)", "min and max", function(p) return max(min(p[0], p[1]),
    1.0) end, 1.0 },
  ["table.unpack"] = { "table.unpack(x)", "t[0], t[1]", function(p) local a, b = p[0],
    p[1] return a + b end, 5.0 },
  ["math.random"] = { "math.random()", "rand_f32x4", function()
    local a = rand_f32x4(1, threadIdx.x)
    return where(a >= 0.0, 1.0, 0.0)
  end, 1.0 },
  ["math.randomseed"] = { "math.randomseed(1)", "rand(dtype, shape)",
    function(p) return f32(size(p)) end,
    size(rand(f32, { 2, 2 })) + 0.0 },
  ["os.time"] = { "os.time()", "before the launch" },
  ["os.clock"] = { "os.clock()", "before the launch" },
  ["os.date"] = { "os.date()", "before the launch" },
  ["io.read"] = { "io.read()", "before the launch" },
  ["io.lines"] = { "io.lines()", "before the launch" },
}
local function try_other(name)
  local call, advice, f, want = table.unpack(others[name])
  local message = message_of(call, t, t, t)
  n.advised = n.advised + 1
  if not message:find(advice, 1, true) then print(name, "does not say", advice, message) end
  if f ~= nil and sum_of(f) ~= want then print(name, sum_of(f), "not", want) end
end

local source <close> = assert(io.open "interp/front/front_refuse.c")
local done = {}
for lib, name in source:read("a"):gmatch '{"([%w_]+)", "(%w+)", %d' do
  local full = lib == "_G" and name or lib .. "." .. name
  local lua = (_G[lib] or {})[name]
  n.rows = n.rows + 1
  if lua ~= nil and not done[full] then
    done[full] = true
    if trials[full] then
      try_numbers(full, lua)
    elseif others[full] then
      try_other(full)
    else
      print(full .. " has no trial")
    end
  end
end
print(n.rows > 40, n.advised > 35, n.compared > 70) -- expect: true	true	true
