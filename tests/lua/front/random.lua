-- Random kernels over run-time integers, with every kind of control flow, give for each thread what
-- plain Lua gives for its numbers. Loops spend a local `fuel`, so all end.
local n_programs = tonumber(os.getenv("N_PROGRAMS") or 150)
local seed = tonumber(os.getenv("SEED") or 1)
local n_threads <const> = 8

-- {====== The generator: locals a to e are integers, always ======

local random = math.random
local buffer, depth, in_loop, n_labels, open_labels, functions

local function put(...)
  for _, s in ipairs { ... } do
    buffer[#buffer + 1] = s
  end
end

local function pick(list) return list[random(#list)] end
local function chance(percent) return random(100) <= percent end
local function name() return pick { "a", "b", "c", "d", "e" } end

local number, condition, block

function number(n)
  local k = n <= 0 and random(3) or random(8)
  if k <= 2 then return name() end
  if k == 3 then return tostring(random(0, 4)) end
  if k == 4 then return "(" .. number(n - 1) .. " + " .. number(n - 1) .. ")" end
  if k == 5 then return "(" .. number(n - 1) .. " - " .. number(n - 1) .. ")" end
  if k == 6 then return number(n - 1) .. pick { " % ", " // " } .. random(2, 5) end
  if k == 7 then
    return "(" .. condition(n - 1) .. " and " .. number(n - 1) .. " or " .. number(n - 1) .. ")"
  end
  return number(n - 1) .. " * 2"
end

function condition(n)
  local k = n <= 0 and 1 or random(6)
  if k == 4 then return "not (" .. condition(n - 1) .. ")" end
  if k == 5 then return "(" .. condition(n - 1) .. " and " .. condition(n - 1) .. ")" end
  if k == 6 then return "(" .. condition(n - 1) .. " or " .. condition(n - 1) .. ")" end
  return number(n - 1) .. pick { " < ", " <= ", " > ", " >= ", " == ", " ~= " } .. number(n - 1)
end

local function value() return "(" .. number(2) .. ") % 97" end
local function assign() put(name(), "=", value()) end
local function declare() put("local", name(), "=", value()) end
local spend <const> = "fuel = fuel - 1"

local function call()
  if #functions == 0 then
    return assign()
  end
  put(chance(30) and "local " or "", name(), "=", pick(functions) .. "(" .. number(1) .. ", " .. number(1) .. ")")
end

local function forward_goto()
  n_labels = n_labels + 1
  local label = "l" .. n_labels
  put("do")
  open_labels[#open_labels + 1] = label
  block(random(2))
  put("if", condition(1), "then")
  block(random(0, 1))
  put("goto", label, "end")
  block(random(3))
  open_labels[#open_labels] = nil
  put(chance(50) and "::" .. label .. ":: end" or "end ::" .. label .. "::")
  assign()
end

local function local_function()
  if depth > 3 then
    return assign()
  end
  local loop, open, known = in_loop, open_labels, functions
  local f = "f" .. #functions
  functions = { table.unpack(known) }
  in_loop, open_labels = 0, {}
  depth = depth + 1
  put("local function", f, "(" .. pick { "a, b", "c, a", "e, d" } .. ") local fuel, a, b, c, d, e = 5, a, b, c, d, e")
  block(random(3))
  put("return", value(), "end")
  depth = depth - 1
  in_loop, open_labels, functions = loop, open, known
  functions[#functions + 1] = f
end

local statements = {
  assign, assign, assign, declare, declare, call, call, forward_goto, local_function,
  function() put(name() .. ", " .. name(), "=", value() .. ", " .. value()) end,
  function() put("do") block(random(3)) put("end") end,
  function()
    put("if", condition(2), "then")
    block(random(3))
    for _ = 1, random(0, 2) do
      put("elseif", condition(1), "then")
      block(random(2))
    end
    if chance(60) then
      put("else")
      block(random(2))
    end
    put("end")
  end,
  function() put("if", condition(2), "then") block(random(2)) put("end") end,
  function() put("while", condition(2), "and fuel > 0 do", spend) block(random(3), "loop") put("end") end,
  function()
    put("while true do", spend, "if fuel < 0 then break end")
    block(random(3), "loop")
    put("if", condition(1), "then break end end")
  end,
  function() put("repeat", spend) block(random(3), "loop") put("until fuel < 0 or", condition(1)) end,
  function()
    put("for", name(), "= 1, " .. pick { "2", "3", "3", number(1) .. " % 4" }, chance(20) and ", 2" or "", "do")
    block(random(4), "loop")
    put("end")
  end,
  function() put(in_loop > 0 and "if " .. condition(1) .. " then break end" or "") end,
  function() put(in_loop > 0 and chance(40) and "break" or "") end,
  function() put("if", condition(1), "then return", value(), "end") end,
  function() put(chance(20) and "do return " .. value() .. " end" or "") end,
  function() put(#open_labels > 0 and "if " .. condition(1) .. " then goto " .. pick(open_labels) .. " end" or "") end,
}

function block(n, kind)
  local known = functions
  depth = depth + 1
  in_loop = in_loop + (kind == "loop" and 1 or 0)
  functions = { table.unpack(known) }
  for _ = 1, n do
    (depth > 5 and assign or pick(statements))()
    put(" ")
  end
  functions = known
  in_loop = in_loop - (kind == "loop" and 1 or 0)
  depth = depth - 1
end

-- A chunk that returns a function of two numbers.
local function generate()
  buffer, depth, in_loop, n_labels, open_labels, functions = {}, 0, 0, 0, {}, {}
  put("return function(a, b) local c, d, e, fuel = 2, a, 0, 6\n")
  block(random(3, 7))
  put("\nreturn (a + 3 * b + 5 * c + 7 * d + 11 * e) % 1009 end")
  return table.concat(buffer, " ")
end

-- {====== Running ======

-- What a kernel cannot express: the specification says so, with these words.
local refusals = {
  "returns", "assigned by an inner function", "unrolled", "nested", "no exit", "never ends", "too many",
  "changes Lua state", "nest less deep", "static", "overflow",
}

local function is_refusal(message)
  for _, part in ipairs(refusals) do
    if message:find(part, 1, true) then
      return true
    end
  end
  return false
end

local first = from_table(i32, { 0, 3, 5, 1, 2, -4, 7, 96 })
local second = from_table(i32, { 1, 2, -1, 4, 2, 3, 0, 50 })
local firsts, seconds = first:totable(), second:totable()

local n_compared, n_refused, n_wrong = 0, 0, 0

local function check(text, number_of)
  local f = load(text, "=random")
  if not f then
    return
  end
  f = f()
  local want = {}
  for t = 1, n_threads do
    want[t] = f(firsts[t], seconds[t])
  end
  local result = zeros(i32, n_threads)
  local k = kernel("random", function(x, y, out)
    local t = threadIdx.x
    local v = f(x[t], y[t])
    out[t] = v
  end)
  local passed, message = pcall(function() k { grid = 1, block = n_threads }(first, second, result) end)
  if not passed and is_refusal(message) then
    n_refused = n_refused + 1
    return
  end
  n_compared = n_compared + 1
  local got = passed and result:totable() or {}
  for t = 1, n_threads do
    if got[t] ~= want[t] then
      n_wrong = n_wrong + 1
      if n_wrong <= 5 then
        print(("# program %d of seed %d, thread %d: want %s, got %s"):format(number_of, seed, t - 1, want[t], got[t]))
        print("# " .. (tostring(message) .. "\n" .. text):gsub("\n", "\n# "))
      end
      return
    end
  end
end

for i = 1, n_programs do
  math.randomseed(seed, i)
  check(generate(), i)
end

local function ok(n, passed, what)
  print(("%sok %d - %s"):format(passed and "" or "not ", n, what))
end
ok(1, n_compared > n_programs / 2, ("%d random kernels, %d of them refused"):format(n_programs, n_refused))
ok(2, n_wrong == 0, "each gives what Lua gives")
print("1..2")
os.exit(n_wrong == 0 and 0 or 1)
