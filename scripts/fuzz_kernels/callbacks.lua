-- callbacks.lua: short statements about what functions capture: they assign scalars and records of the code around
-- them, under conditions, in loops whose first turns are static, and run-time jumps leave them. Values and conditions
-- are short, so that nearly every change shows in the answers.
local writer, expressions, simple = ...
local random = math.random
local put, pick, chance, new_name, int = writer.put, writer.pick, writer.chance, writer.new_name, writer.int
local integer = expressions.integer
local assign, block = simple.assign, simple.block

-- Half of these are the same in all threads of a block: it skips what they jump over.
local function holds()
  return pick { ("n > %d"):format(random(2, 6)), ("x[%d] > %d"):format(random(0, 7), random(0, 4)),
    ("blockIdx.x == %d"):format(random(0, 1)), ("x[blockIdx.x + %d] > %d"):format(random(0, 6), random(0, 4)),
    ("t > %d"):format(random(0, 6)), ("t %% 3 == %d"):format(random(0, 2)),
    ("x[t] > %d"):format(random(0, 4)), ("%s > %d"):format(int(), random(0, 9)), pick { "p", "q", "not p" } }
end

local function value()
  return pick { tostring(random(0, 96)), ("t + %d"):format(random(0, 80)), ("x[t] + %d"):format(random(5, 80)), int() }
end

local function record()
  return ("{ %s, %s, i = %s, f = %s, sub = { %s } }"):format(value(), value(), value(),
    pick { random(0, 30) .. ".5", "v", "y[t]" }, value())
end

local function replace()
  local name = pick(writer.scope.tables)
  if not name then return assign() end
  put(name, "=", chance(85) and record() or pick(writer.scope.tables))
end

local function new_record()
  if writer.depth > random(0, 3) then return replace() end
  local name = new_name "tab"
  put("local", name, "=", record())
  writer.see("tables", name)
end

-- A record in another one.
local function keep_record()
  if writer.depth > random(0, 3) then return replace() end
  local name = new_name "box"
  put("local", name, "= { r =", record(), "}")
  writer.see("tables", name .. ".r")
end

local function change()
  local name = pick(writer.scope.tables)
  if not name then return assign() end
  local k = random(4)
  if k == 1 then
    put(name .. ".sub = {", value(), "}")
  elseif k == 2 then
    put(name .. ".f =", pick { ("%d.5"):format(random(0, 30)), "u", "y[t]" })
  else
    put(name .. pick { ".i", "[1]", ".sub[1]" }, "=", value())
  end
end

local function set()
  local k = random(5)
  if k == 1 then
    put(int(), "=", value())
  elseif k == 2 then
    local name = int()
    put(name, "= (" .. name, "+", value() .. ") % 97")
  elseif k == 3 then
    put(pick { "p", "q" }, "=", holds())
  elseif k == 4 then
    put(pick { "u", "v" }, "=", pick { "y[t]", "y[t] + 2.0", random(0, 9) .. ".25" })
  else
    put(int() .. ", " .. int(), "=", value() .. ", " .. value())
  end
end

local function observe()
  local name = pick(writer.scope.tables)
  if not name then return set() end
  put(("%s = (3 * a + %s.i + 5 * %s[1] + 7 * %s.sub[1]) %% 97"):format(pick { "a", "b" }, name, name, name))
end

local function if_holds()
  put("if", holds(), "then")
  block(random(2))
  if chance(30) then
    put "else"
    block(random(2))
  end
  put "end"
end

-- A function whose body sees and assigns the variables around it. A plain `return` may leave it.
local function new_callback()
  if writer.depth > random(0, 3) then return replace() end
  local name, before = new_name "call", writer.scope
  writer.scope = writer.inner { labels = {}, continue = false, in_loop = false, kind = "nothing" }
  put(chance(50) and "local function " .. name or "local " .. name .. " = function", "(k)")
  if chance(50) then
    put("if", holds(), "then")
    pick { replace, change, set }()
    put "end "
  end
  block(random(3))
  put "end"
  writer.scope = before
  writer.see("callbacks", name)
end

local function call_back()
  local name = pick(writer.scope.callbacks)
  if not name then return new_callback() end
  local k = random(10)
  if k <= 7 then
    put(name .. "(" .. integer(0) .. ")")
  elseif k == 8 then
    put("twice(" .. name .. ", 1)")
  elseif k == 9 then
    put("pcall(" .. name .. ", 1)")
  else
    put("if", holds(), "then", name .. "(0) end")
  end
end

-- A loop that is unrolled until a run-time jump leaves it. `body` writes a loop's body.
local function static_loop(body)
  local w = new_name "w"
  local k, has_condition = random(9), chance(30)
  put("do local", w, "=", pick { "2", "3" })
  if k == 9 then
    local label = new_name "again"
    put("::" .. label .. "::", w, "=", w, "- 1 do")
    block(random(2))
    put("end if", w, "> 0 then goto", label, "end")
  elseif k <= 2 then
    put("repeat", w, "=", w, "- 1 do")
    body(random(3), "")
    put("end until", w, "<= 0", has_condition and "or " .. holds() or "")
  elseif k <= 4 then
    put("for", w, "= 1,", pick { "2", "3" }, "do")
    body(random(3))
    put "end"
  else
    put("while", w, "> 0", has_condition and "and " .. holds() or "", "do", w, "=", w, "- 1")
    body(random(3))
    put "end"
  end
  put "end"
end

local function step() pick { replace, change, change, set, call_back, call_back, observe }() end

local function short_loop(body)
  put("for k = 1,", pick { "t % 3", "x[t] % 3", "n - 3", "2" }, "do")
  body(random(3))
  put "end"
end

-- Values from a coroutine that a run-time jump may leave.
local function generated_loop(body)
  if chance(80) then return call_back() end
  put("for", int(), "in coroutine.wrap(function() for k = 1, 3 do if", holds(), "then", pick { "break", "return" },
    "end")
  set()
  put "coroutine.yield(k) end end) do"
  body(random(2))
  put "end"
end

return {
  holds = holds, new_record = new_record, keep_record = keep_record, replace = replace, change = change, set = set,
  observe = observe, if_holds = if_holds, new_callback = new_callback, call_back = call_back,
  step = step, static_loop = static_loop, short_loop = short_loop, generated_loop = generated_loop,
}
