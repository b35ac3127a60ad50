-- Choices with any number of arms, `c and x or d and y or z`, against plain Lua: run-time and static
-- conditions, integers and floats, false and nil arms, nested, as arguments, and kept in a local.
local N = 16
local T, F = true, false

local function pick(list) return list[math.random(#list)] end

local function condition(depth)
  local kind = math.random(depth > 0 and 9 or 5)
  if kind == 1 then return ("a < %d"):format(math.random(0, N)) end
  if kind == 2 then return ("v > %.1f"):format(math.random(0, N) / 2) end
  if kind == 3 then return ("a %% %d == 1"):format(math.random(2, 4)) end
  if kind == 4 then return ("n ~= %d"):format(math.random(0, 3)) end
  if kind == 5 then return pick{"T", "F", "nil", "a >= 0", "false", "true"} end
  if kind == 6 then return "not (" .. condition(depth - 1) .. ")" end
  local op = kind == 7 and "or" or "and"
  return ("(%s %s %s)"):format(condition(depth - 1), op, condition(depth - 1))
end

local chain

local function number(depth)
  local kind = math.random(depth > 0 and 8 or 5)
  if kind == 1 then return tostring(math.random(-20, 20)) end
  if kind == 2 then return pick{"0.5", "-2.25", "100.0"} end
  if kind <= 4 then return pick{"a", "v", "n", "a + 1", "v * 2.0", "y[a]"} end
  if kind == 5 then return "f(a)" end
  if kind == 6 then return "(" .. chain(depth - 1) .. ")" end
  if kind == 7 then return "f(" .. chain(depth - 1) .. ")" end
  return "max(" .. chain(depth - 1) .. ", 3)"
end

-- A part that may choose nothing.
local function arm(depth)
  local kind = math.random(10)
  if kind == 1 then return condition(1) .. " and " .. pick{"nil", "false"} end
  if kind == 2 and depth > 0 then
    return ("%s and (%s or %s)"):format(condition(1), arm(depth - 1), arm(depth - 1))
  end
  if kind == 3 then return ("%s and %s and %s"):format(condition(1), condition(1), number(0)) end
  return condition(depth) .. " and " .. number(depth)
end

function chain(depth)
  local parts = {}
  for i = 1, math.random(0, 4) do parts[i] = arm(depth) end
  parts[#parts + 1] = number(depth)
  return table.concat(parts, " or ")
end

local function statement()
  local kind = math.random(4)
  if kind == 1 then
    return ("if %s then y[a] = %s else y[a] = %s end"):format(
      condition(1), chain(1), chain(1))
  elseif kind == 2 then
    return ("local h = %s or %s\n y[a] = (h or %s) + (h or %s)"):format(
      arm(1), arm(1), number(0), number(0))
  end
  return "y[a] = " .. chain(2)
end

-- Plain Lua's own functions, and those of kernels.
local names = {T = T, F = F, f = function(x) return x * 2 - 1 end, max = max}
local host = {T = T, F = F, f = names.f, max = function(x, y) return x < y and y or x end}

local function values(text)
  local body = assert(load("local a, v, n, y = ...\n" .. text, text, "t", host))
  local out = {}
  for a = 0, N - 1 do
    local y = {[a] = 7.0}
    body(a, a * 0.5, 2, y)
    out[a + 1] = y[a] + 0.0
  end
  return out
end

local function traced(text)
  local source = "return function(y, n) local a = threadIdx.x local v = cast(a, f32) * 0.5\n" ..
                 text .. " end"
  local body = assert(load(source, source, "t", setmetatable({}, {
    __index = function(_, name)
      if names[name] ~= nil then return names[name] end
      return _G[name]
    end,
  })))()
  local y = zeros(f32, N)
  y:fill(7.0)
  kernel("chain", body){grid = 1, block = N}(y, 2)
  return y:totable()
end

local function differs(text)
  local wanted = values(text)
  local ok, got = pcall(traced, text)
  if not ok then return got end
  for i = 1, N do
    if got[i] ~= wanted[i] then
      return ("thread %d: %s, not %s"):format(i - 1, got[i], wanted[i])
    end
  end
end

local seed, count = tonumber((arg or {})[1]) or 1, tonumber((arg or {})[2]) or 400
math.randomseed(seed)
local n_wrong = 0
for i = 1, count do
  local text = statement()
  local what = differs(text)
  if what then
    n_wrong = n_wrong + 1
    print(i, what, text)
  end
end
print(n_wrong) -- expect: 0

-- The idiom as people write it.
local y = zeros(i32, 4)
kernel("idiom", function(y)
  local a = threadIdx.x
  y[a] = a < 1 and 10 or a < 2 and 20 or 30
end){grid = 1, block = 4}(y)
print(table.concat(y:totable(), " ")) -- expect: 10 20 30 30
