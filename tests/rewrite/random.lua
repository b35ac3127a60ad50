-- Random programs with every kind of statement: what parses for Lua parses for us, and a rewritten
-- function does what the original does, in every mode of the static runtime.
local runtime = dofile("tests/rewrite/static_runtime.lua")
local modes = { {}, { boxed = true }, { dead = true }, { boxed = true, dead = true } }
local n_programs = tonumber(os.getenv("N_PROGRAMS") or 500 // rw.part)
local seed = tonumber(os.getenv("SEED") or 1)

-- {====== The generator ======

local random = math.random
local names = { "a", "b", "c", "d", "e" }
local labels = { "l1", "l2", "l3" }
local buffer, depth, in_loop, vararg, n_labels, open_labels

local function put(...)
  for _, s in ipairs { ... } do
    buffer[#buffer + 1] = s
  end
end

local function pick(list) return list[random(#list)] end
local function chance(percent) return random(100) <= percent end

local expression, block, arguments

-- A function from its parameters to its end.
local function body(params, n)
  local loop, dots, open = in_loop, vararg, open_labels
  in_loop, vararg, open_labels = 0, params:find("...", 1, true) ~= nil, {}
  depth = depth + 2
  put("(" .. params .. ")")
  block(n, "fn")
  put("end")
  depth = depth - 2
  in_loop, vararg, open_labels = loop, dots, open
end

local function name() return pick(names) end

local function literal()
  return pick { "0", "1", "2", "3", "-1", "nil", "true", "false", "10", "'s'", "2" }
end

local function number(n)
  if n <= 0 or chance(30) then return "num(" .. name() .. ")" end
  local k = random(6)
  if k == 1 then return number(n - 1) .. " + " .. number(n - 1) end
  if k == 2 then return "(" .. number(n - 1) .. " - " .. number(n - 1) .. ")" end
  if k == 3 then return number(n - 1) .. " * 2" end
  if k == 4 then return "#t" end
  if k == 5 then return "-" .. number(n - 1) .. " // 3" end
  return tostring(random(5))
end

local function simple(n)
  local k = random(9)
  if k <= 3 then return name() end
  if k == 4 then return literal() end
  if k == 5 then return "t[num(" .. name() .. ") % 4]" end
  if k == 6 then return "t.x" end
  if k == 7 then return "id(" .. arguments(n - 1) .. ")" end
  if k == 8 then return "t:get(" .. expression(n - 1) .. ")" end
  return number(n - 1)
end

function expression(n)
  if n <= 0 then return chance(70) and name() or literal() end
  local k = random(14)
  if k <= 3 then return simple(n) end
  if k == 4 then return expression(n - 1) .. " and " .. expression(n - 1) end
  if k == 5 then return expression(n - 1) .. " or " .. expression(n - 1) end
  if k == 6 then return "not " .. simple(n - 1) end
  if k == 7 then return "(" .. expression(n - 1) .. ")" end
  if k == 8 then return number(n - 1) .. pick { " < ", " <= ", " > ", " >= " } .. number(n - 1) end
  if k == 9 then return simple(n - 1) .. pick { " == ", " ~= " } .. simple(n - 1) end
  if k == 10 then return vararg and "..." or name() end
  if k == 11 then return "{ " .. arguments(n - 1) .. " }" end
  if k == 12 and depth < 5 then
    local outer = buffer
    buffer = {}
    put("function")
    body(pick { "a", "a, b", "...", "c, ..." }, random(2))
    local text = table.concat(buffer, " ")
    buffer = outer
    return text
  end
  return number(n)
end

function arguments(n)
  local list = {}
  for i = 1, random(0, 3) do list[i] = expression(n) end
  return table.concat(list, ", ")
end

local function target()
  local k = random(8)
  if k <= 5 then return name() end
  if k == 6 then return "t.x" end
  if k == 7 then return "t[num(" .. name() .. ") % 4]" end
  return pick { "glob", "up1", "up2" }
end

local function some(f, n)
  local list = {}
  for i = 1, n do list[i] = f(2) end
  return table.concat(list, ", ")
end

local statements = {
  function() put("local", some(name, random(3)), chance(80) and "= " .. some(expression, random(3)) or "") end,
  function() put("local", name(), "=", number(2)) end,
  function() put(target(), "=", expression(3)) end,
  function() put(name(), "=", expression(2)) end,
  function() put(name(), "=", number(3)) end,
  function() local n = random(2, 3) put(some(target, n), "=", some(expression, random(3))) end,
  function() put("out(" .. arguments(2) .. ")") end,
  function() put("out(" .. name() .. ", " .. name() .. ")") end,
  function() put("t:set(" .. expression(2) .. ")") end,
  function() put("do") block(random(3)) put("end") end,
  function()
    put("if", expression(3), "then")
    block(random(3))
    for _ = 1, random(0, 2) do put("elseif", expression(2), "then") block(random(2)) end
    if chance(50) then put("else") block(random(2)) end
    put("end")
  end,
  function() put("if", expression(2), "then") block(1) put("end") end,
  function() put("while", expression(2), "do tick()") block(random(3), "loop") put("end") end,
  function() put("while true do tick()") block(random(3), "loop") put("if ", expression(2), " then break end end") end,
  function() put("repeat tick()") block(random(3), "loop") put("until", expression(2)) end,
  function()
    put("for", name(), "=", number(1), ", num(" .. name() .. ") % 5", chance(30) and ", " .. pick { "2", "-1", "3" } or "", "do tick()")
    block(random(3), "loop")
    put("end")
  end,
  function()
    put("for", name(), chance(50) and ", " .. name() or "", "in", pick { "ipairs { 5, b, 7 }", "iter(3)", "pairs { x = a }" }, "do tick()")
    block(random(3), "loop")
    put("end")
  end,
  function()
    if depth > 4 then return put(";") end
    put(pick { "local function", "local function", "function" }, name())
    body(pick { "", "a", "b, c", "..." }, random(3))
  end,
  function() put("call(", name(), ",", expression(2), ")") end,
  function() if chance(3) then put("goto", pick(labels)) else put("tick()") end end,
  function() if chance(4) then put("::" .. pick(labels) .. "::") else put("tick()") end end,
  function() -- a forward goto over statements without locals, or to the end of the block
    n_labels = n_labels + 1
    local label = "f" .. n_labels
    put("do")
    open_labels[#open_labels + 1] = label
    block(random(2))
    if chance(60) then put("if", expression(2), "then goto", label, "end") end
    block(random(3))
    open_labels[#open_labels] = nil
    put("::" .. label .. "::")
    if chance(30) then block(1) end
    put("end")
  end,
  function() -- back
    n_labels = n_labels + 1
    put("do ::k" .. n_labels .. ":: tick()")
    local label = "k" .. n_labels
    open_labels[#open_labels + 1] = label
    block(random(2))
    open_labels[#open_labels] = nil
    put("if", expression(2), "then goto", label, "end end")
  end,
  function() if #open_labels > 0 then put("if", expression(2), "then goto", pick(open_labels), "end") else put(";") end end,
  function() if #open_labels > 0 then put("do goto", pick(open_labels), "end") else put(";") end end,
  function() -- two labels, every order of jumps
    n_labels = n_labels + 2
    local x, y = "x" .. n_labels, "y" .. n_labels
    put("do tick()")
    for _, l in ipairs { x, y } do
      if chance(70) then put("if", expression(1), "then goto", l, "end") end
      put("out(" .. arguments(1) .. ")")
      if chance(50) then put("if", expression(1), "then goto", pick { x, y }, "end") end
      put("::" .. l .. ":: tick()")
    end
    if chance(60) then put("if", expression(1), "then goto", pick { x, y }, "end") end
    put("end")
  end,
  function() if in_loop > 0 then put("if", expression(2), "then break end") else put(";") end end,
  function() if in_loop > 0 and chance(30) then put("break") else put(";") end end,
  function() put("if", expression(2), "then return", arguments(1), "end") end,
  function() put("do return", arguments(1), "end") end,
}

function block(n, kind)
  depth = depth + 1
  in_loop = in_loop + (kind == "loop" and 1 or 0)
  for _ = 1, n + random(0, 2) do
    if depth > 6 then
      put(name(), "=", number(1))
    else
      statements[chance(93) and random(#statements - 1) or random(#statements)]()
    end
    put(chance(20) and "\n" or " ")
  end
  if chance(8) and kind ~= "main" then
    put("return", arguments(1), chance(30) and ";" or "")
  elseif chance(25) then
    put("::" .. pick(labels) .. "::", chance(30) and ";" or "")
  end
  in_loop = in_loop - (kind == "loop" and 1 or 0)
  depth = depth - 1
end

local function generate()
  buffer, depth, in_loop, vararg, n_labels, open_labels = {}, 0, 0, true, 0, {}
  put("local up1, up2 = 1, 'u' local K <const> = 7\nreturn function(out, tick, a, b, ...) local c, d, e = K, 1, 0\n")
  put("local t = object() ")
  block(random(4, 9), "main")
  put("\nout(a, b, c, d, e, t.x, t[1], up1, up2, glob) return a, b end")
  return table.concat(buffer, " ")
end

-- {====== Running ======

local function environment()
  local env = setmetatable({}, { __index = _G })
  function env.num(x) return math.type(x) == "integer" and x % 1000 or type(x) == "string" and 3 or x and 2 or 0 end
  function env.id(...) return ... end
  function env.iter(n)
    return function(s, i) if i < s then return i + 1, i * 2, "third" end end, n, 0
  end
  function env.call(f, x)
    if type(f) == "function" then
      return f(x)
    end
  end
  function env.object()
    return { 4, 5, 6, x = 1, get = function(self, y) return self.x, y end, set = function(self, y) self.x = y end }
  end
  return env
end

local function show(x)
  local kind = type(x)
  return (kind == "table" or kind == "function") and kind or tostring(x)
end

local function observe(f, ...)
  local log, fuel = {}, 60
  local function out(...)
    local r = table.pack(...)
    for i = 1, r.n do r[i] = show(r[i]) end
    log[#log + 1] = table.concat(r, " ")
    if #log > 300 then error("too much output", 0) end
  end
  local function tick()
    fuel = fuel - 1
    if fuel < 0 then error("out of fuel", 0) end
  end
  debug.sethook(function() error("too many instructions", 0) end, "", 200000)
  local r = table.pack(pcall(f, out, tick, ...))
  debug.sethook()
  for i = 1, r.n do r[i] = show(r[i]) end
  log[#log + 1] = table.concat(r, " ")
  return table.concat(log, "\n")
end

local calls = { { 1, 2, 3 }, { 5, "x", nil, 4 }, { false, true } }
-- Errors of Lua itself that a runtime in Lua words otherwise, and time.
local function comparable(log)
  return not log:find("too many instructions", 1, true)
end

local function check(text, mode)
  local R, stats = runtime.new(mode)
  for _, args in ipairs(calls) do
    local f = assert(load(text, "=random", "t", environment()))()
    local want = observe(f, table.unpack(args, 1, 4))
    if not comparable(want) then
      return
    end
    local f2 = assert(load(text, "=random", "t", environment()))()
    local g, message, wrapper = runtime.convert(f2, text, R, 1, false)
    if not g then
      if message:find("overflow", 1, true) or message:find("registers", 1, true) or message:find("too many", 1, true) then
        return
      end
      return message .. "\n" .. (wrapper or "")
    end
    local got = observe(g, table.unpack(args, 1, 4))
    if comparable(got) and got ~= want then
      return ("want:\n%s\ngot:\n%s\n%s\n%s"):format(want, got, text, wrapper)
    end
    local n, dead = stats()
    if n > 0 or dead then
      return n .. " frames left open\n" .. text .. "\n" .. wrapper
    end
  end
end

local n_valid, n_wrong_parse, n_wrong = 0, 0, 0
for i = 1, n_programs do
  math.randomseed(seed, i)
  local text = generate()
  local valid, message = load(text, "=random")
  local accepted, ours = rw.accepts(text)
  local limit = not valid and (message:find("overflow") or message:find("too many"))
  if accepted ~= (valid ~= nil) and not limit then
    n_wrong_parse = n_wrong_parse + 1
    print("# program " .. i .. ": Lua: " .. tostring(message) .. "; parser: " .. tostring(ours))
  end
  if valid then
    n_valid = n_valid + 1
    for m, mode in ipairs(modes) do
      local problem = check(text, mode)
      if problem then
        n_wrong = n_wrong + 1
        if n_wrong <= 3 then
          print(("# program %d of seed %d, mode %d: %s"):format(i, seed, m, problem):gsub("\n", "\n# "))
        end
        break
      end
    end
  end
end
ok(n_wrong_parse == 0, ("the parser agrees with Lua on %d random programs"):format(n_programs))
ok(n_valid > n_programs / 20, n_valid .. " of them are valid")
ok(n_wrong == 0, "rewritten they do what they did")
