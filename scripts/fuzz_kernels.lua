-- fuzz_kernels.lua: random kernels against plain Lua. Each program is a function over tensors and numbers,
-- made by a grammar from every kind of control flow, with operations of lanes under conditions. It runs as a
-- kernel on the current device, and as it is, by plain Lua, once for each thread, with numbers for threadIdx
-- and tables for tensors. Integers stay small and floats are multiples of 1/64 below 2^18, so that both
-- compute exactly.
--   cuttle scripts/fuzz_kernels.lua [PROGRAMS [SEED]]      prints TAP; a difference with its program
local tap = dofile "tests/support/tap.lua"
local n_programs = tonumber(arg[1] or 300)
local seed = tonumber(arg[2] or 1)
local GRID <const>, BLOCK <const> = 2, 4
local THREADS <const> = GRID * BLOCK
local SLOTS <const> = 4 -- elements of `ints` and `floats` that belong to a thread

-- {====== The generator ======

local random = math.random
local buffer, depth, n_names, scope

local function put(...)
  for _, s in ipairs { ... } do
    buffer[#buffer + 1] = s
  end
end

local function pick(list) return list[random(#list)] end
local function chance(percent) return random(100) <= percent end
local function int() return pick { "a", "b", "c", "d", "e" } end
local function float() return pick { "u", "v", "w" } end
local function bool() return pick { "p", "q" } end

local function new_name(prefix)
  n_names = n_names + 1
  return prefix .. n_names
end

local integer, real, condition, block, array_element

-- "x[k]", "m[{i, j}]": an element of a tensor that nobody writes.
local function int_element(n)
  if chance(50) then return "x[" .. integer(n - 1) .. " % 8]" end
  local i, j = integer(n - 1) .. " % 4", pick { "0", "1", integer(n - 1) .. " % 2" }
  return chance(50) and ("m[{%s, %s}]"):format(i, j) or ("m(%s, %s)"):format(i, j)
end

local function own(tensor) return ("%s[t * 4 + %s]"):format(tensor, pick { "0", "1", "a % 4", "3" }) end

-- A call of a function in scope that gives a value of this kind first.
local function call(kind, n)
  local f = pick(scope.functions[kind])
  return f and ("%s(%s, %s)"):format(f, integer(n - 1), real(n - 1))
end

local integers = {
  int, int, int,
  function() return pick { "0", "1", "2", "3", "5", "(-2)" } end,
  function() return pick { "t", "n", "threadIdx.x", "blockIdx.x", "blockDim.x", "gridDim.x" } end,
  function(n) return ("(%s %s %s)"):format(integer(n - 1), pick { "+", "-" }, integer(n - 1)) end,
  function(n) return ("(%s %s %s)"):format(integer(n - 1), pick { "+", "-" }, integer(n - 1)) end,
  function() return "(" .. int() .. " * " .. int() .. ")" end,
  function() return "(-" .. int() .. ")" end,
  function(n) return ("((%s) %s %s)"):format(integer(n - 1), pick { "//", "%" }, pick { 2, 3, 5, -3 }) end,
  function(n) return ("(%s %s (%s %% 5 + 1))"):format(int(), pick { "//", "%" }, integer(n - 1)) end,
  function() return ("(%s %s %s)"):format(int(), pick { "&", "|", "~" }, pick { int(), 3, 12 }) end,
  function() return ("((%s & 63) %s %d)"):format(int(), pick { "<<", ">>" }, random(0, 3)) end,
  function() return "(~" .. int() .. ")" end,
  function(n) return ("(%s and %s or %s)"):format(condition(n - 1), integer(n - 1), integer(n - 1)) end,
  function(n) return ("(%s and %s or %s)"):format(condition(n - 1), integer(n - 1), integer(n - 1)) end,
  function(n) return ("where(%s, %s, %s)"):format(condition(n - 1), integer(n - 1), integer(n - 1)) end,
  function(n) return ("%s(%s, %s)"):format(pick { "min", "math.max" }, integer(n - 1), integer(n - 1)) end,
  function(n) return ("math.floor(%s)"):format(real(n - 1)) end,
  function() return ("dynamic(%s)"):format(pick { "0", "2", "5", "-3", int() }) end,
  int_element,
  function() return own "ints" end,
  function(n) return call("int", n) end,
  function(n) return call("int", n) end,
  function() return #scope.tables > 0 and pick(scope.tables) .. pick { "[1]", "[2]", ".i", ".sub[1]" } end,
  function() return #scope.tables > 0 and pick(scope.tables) .. pick { "[1]", ".i", ".sub[1]" } end,
  function() return array_element "i32" end,
  function() return #scope.tables > 0 and "#" .. pick(scope.tables) end,
  function(n) return ("sum(%s, %s, %s)"):format(integer(n - 1), int(), integer(n - 1)) end,
  function(n) return ("climb(%d, %s)"):format(random(0, 3), integer(n - 1)) end,
  function(n) return ("(pair(%s, %s) + pair(%s, 0.5)):most(%s)"):format(int(), real(n - 1), integer(n - 1), int()) end,
  function(n) return ("select(2, pcall(climb, 1, %s))"):format(integer(n - 1)) end,
}

local reals = {
  float, float, float,
  function() return pick { "0.0", "0.5", "1.0", "-2.0", "3.25" } end,
  function() return "y[" .. int() .. " % 8]" end,
  function(n) return ("(%s %s %s)"):format(real(n - 1), pick { "+", "-" }, real(n - 1)) end,
  function(n) return ("(%s %s %s)"):format(real(n - 1), pick { "+", "-" }, integer(n - 1)) end,
  function() return "(" .. float() .. " * " .. pick { "0.5", "2.0", "2", int() } .. ")" end,
  function() return "(-" .. float() .. ")" end,
  function() return ("(%s %s %s)"):format(float(), pick { "//", "%" }, pick { "2.0", "4", "-0.5" }) end,
  function() return "(" .. float() .. " / " .. pick { "2", "-4.0" } .. ")" end,
  function(n) return ("(%s and %s or %s)"):format(condition(n - 1), real(n - 1), real(n - 1)) end,
  function(n) return ("%s(%s, %s)"):format(pick { "max", "math.min" }, real(n - 1), real(n - 1)) end,
  function(n) return ("%s(%s)"):format(pick { "abs", "floor", "ceil", "trunc", "round", "rint" }, real(n - 1)) end,
  function() return own "floats" end,
  function() return ("dynamic(%s)"):format(pick { "0.0", "1.5", "-2.0", float() }) end,
  function(n) return call("float", n) end,
  function() return #scope.tables > 0 and pick(scope.tables) .. ".f" end,
  function() return array_element "f32" end,
  function(n) return ("pair(%s, %s)(%s)"):format(int(), float(), real(n - 1)) end,
  function(n) return ("(-pair(%s, %s)).f"):format(int(), real(n - 1)) end,
}

local comparisons = { " < ", " <= ", " > ", " >= ", " == ", " ~= " }
local conditions = {
  function(n) return integer(n - 1) .. pick(comparisons) .. integer(n - 1) end,
  function(n) return integer(n - 1) .. pick(comparisons) .. integer(n - 1) end,
  function(n) return real(n - 1) .. pick(comparisons) .. real(n - 1) end,
  function(n) return real(n - 1) .. pick(comparisons) .. integer(n - 1) end,
  bool,
  function(n) return "not (" .. condition(n - 1) .. ")" end,
  function(n) return ("(%s and %s)"):format(condition(n - 1), condition(n - 1)) end,
  function(n) return ("(%s or %s)"):format(condition(n - 1), condition(n - 1)) end,
  function(n) return ("(%s %s (%s))"):format(bool(), pick { "==", "~=" }, condition(n - 1)) end,
  function() return pick { "true", "n > 3", "blockDim.x == 4", "s == 'yes'", "not s", "none == nil" } end,
  function(n) return call("bool", n) end,
}

-- An expression of one of the kinds above; of those that need no more expressions when n is used up.
local function expression(kinds, simple, n)
  return n > 0 and pick(kinds)(n) or kinds[random(simple)](n)
end

function integer(n) return expression(integers, 5, n) end
function real(n) return expression(reals, 5, n) end
function condition(n) return n > 0 and pick(conditions)(n) or int() .. pick(comparisons) .. random(0, 3) end

local function small_int() return "(" .. integer(3) .. ") % 97" end
local function small_real() return "((" .. real(2) .. ") * 8.0 // 1.0) / 8.0 % 64.0" end

local function assign()
  local k = random(5)
  if k <= 2 then
    put(int(), "=", small_int())
  elseif k <= 4 then
    put(float(), "=", small_real())
  else
    put(bool(), "=", condition(2))
  end
end

local function declare()
  local k = random(3)
  if k == 1 then
    put("local", int(), "=", small_int())
  elseif k == 2 then
    put("local", float(), "=", small_real())
  else
    put("local", bool(), "=", condition(2))
  end
end

local function spend() put "fuel = fuel - 1" end

-- A loop's body, with its own label to continue at.
local function body(n, finish)
  local before = scope
  local label = chance(40) and new_name "continue"
  scope = setmetatable({ continue = label or false, in_loop = true }, { __index = before })
  if label and (finish or chance(50)) then
    put "do"
    block(n)
    put("end ::" .. label .. "::", finish or "")
  else
    block(n)
    put(label and "::" .. label .. "::" or finish or "")
  end
  scope = before
end

local function forward_goto()
  local label, before = new_name "label", scope
  put "do"
  scope = setmetatable({ labels = { label, table.unpack(before.labels) } }, { __index = before })
  block(random(2))
  put("if", condition(1), "then")
  block(random(0, 1))
  put("goto", label, "end")
  block(random(3))
  scope = before
  put(chance(50) and "::" .. label .. ":: end" or "end ::" .. label .. "::")
  assign()
end

local some_record

local function results(kind)
  if kind == "record" then return some_record() end
  local first = kind == "int" and small_int() or kind == "float" and small_real() or condition(1)
  return first .. ", " .. small_int()
end

-- A function of an integer and a float that returns a value of `kind` and an integer.
local function helper()
  if depth > 3 then return assign() end
  local kind, name, before = pick { "int", "int", "float", "bool" }, new_name "fun", scope
  local i, r = int(), float()
  scope = setmetatable({ labels = {}, continue = false, in_loop = false, kind = kind }, { __index = before })
  put(chance(50) and "local function " .. name or "local " .. name .. " = function", "(" .. i .. ", " .. r .. ")")
  -- Its own variables, else those around it, which it can read.
  local is_closed = chance(70)
  if is_closed then put "local fuel, a, b, c, d, e, u, v, w, p, q = 5, a, b, c, d, e, u, v, w, p, q" end
  if is_closed then
    block(random(3))
  end
  put("return", results(kind), "end")
  scope = before
  local functions = {}
  for k, list in pairs(before.functions) do
    functions[k] = { table.unpack(list) }
  end
  table.insert(functions[kind], name)
  scope = setmetatable({ functions = functions }, { __index = before })
end

local function leave()
  if scope.kind then
    put("do return", results(scope.kind), "end")
  else
    put "do return end"
  end
end

local function new_table()
  local name = new_name "tab"
  put("local", name, "= {", small_int(), ",", int(), ", i =", small_int(), ", f =", small_real(), ", sub = {", int(), "} }")
  scope = setmetatable({ tables = { name, table.unpack(scope.tables) } }, { __index = scope })
end

-- {====== Records: changed, chosen by a condition, returned, shared by two names ======

local function record()
  return ("{ %s, %s, i = %s, f = %s, sub = { %s } }"):format(small_int(), int(), small_int(), small_real(), int())
end

-- A record that exists, else a new one.
function some_record() return chance(50) and pick(scope.tables) or record() end

local function see(name) scope = setmetatable({ tables = { name, table.unpack(scope.tables) } }, { __index = scope }) end

local function change_field()
  local name = pick(scope.tables)
  if not name then return assign() end
  local k = random(7)
  if k <= 2 then
    put(name .. pick { "[1]", "[2]", ".i", ".sub[1]" }, "=", small_int())
  elseif k == 3 then
    put(name .. ".f =", small_real())
  elseif k == 4 then
    put(name .. ".i,", name .. ".f =", small_int() .. ", " .. small_real())
  elseif k == 5 then
    put(name .. ".i = (", name .. ".i +", small_int() .. ") % 97")
  elseif k == 6 then
    put("bump(" .. name .. ",", small_int() .. ")")
  else
    put(name .. ".sub =", chance(70) and "{ " .. small_int() .. " }" or pick(scope.tables) .. ".sub")
  end
end

local function change_record()
  local name = pick(scope.tables)
  if not name then return new_table() end
  put(name, "=", some_record())
end

local function choose_record()
  local name = new_name "rec"
  put("local", name, "if", condition(2), "then", name, "=", some_record(), "else", name, "=", some_record(), "end")
  see(name)
end

local function return_record()
  if depth > 3 then return assign() end
  local f, name, before = new_name "g", new_name "rec", scope
  scope = setmetatable({ labels = {}, continue = false, in_loop = false, kind = "record" }, { __index = before })
  put("local function " .. f .. "(" .. int() .. ") if", condition(1), "then return", some_record(), "end")
  block(random(2))
  put("return", some_record(), "end")
  scope = before
  put("local", name, "=", f .. "(" .. integer(1) .. ")")
  see(name)
end

local function share_record()
  local from, name = pick(scope.tables), new_name "also"
  if not from then return new_table() end
  put("local", name, "=", from)
  see(name)
end

-- What a record holds shows in the answers.
local function observe()
  local name = pick(scope.tables)
  if not name then return assign() end
  put(("a = (a + 3 * %s.i + 5 * %s[1] + 7 * %s.sub[1]) %% 97 "):format(name, name, name))
  put(("u = (u + %s.f) %% 64.0"):format(name))
end

-- The best of some in a loop, by its fields or as a whole.
local function keep_best()
  local best, i, one = new_name "best", int(), new_name "one"
  put("local", best, "=", record(), "for", i, "=", "0,", integer(1), "% 4 do")
  block(random(2))
  if chance(50) then
    put("local", one, "=", record(), "if", one .. ".f > " .. best .. ".f then", best, "=", one, "end")
  else
    put("if", condition(1), "then", best .. ".f,", best .. ".i =", small_real() .. ",", int(), "end")
  end
  block(random(1))
  put "end"
  see(best)
end

-- {====== Arrays of a thread ======

local function array_place(array) return ("%s[(%s) %% %d]"):format(array.name, integer(1), array.size) end

local function new_array()
  local array = { name = new_name "arr", size = pick { 2, 4, 6 }, kind = pick { "i32", "f32" } }
  put("local", array.name, ("= local_array(%s, %d)"):format(array.kind, array.size))
  put(("for k = 0, %d do %s[k] ="):format(array.size - 1, array.name), array.kind == "i32" and "k" or "k * 0.5", "end")
  scope = setmetatable({ arrays = { array, table.unpack(scope.arrays) } }, { __index = scope })
end

local function change_array()
  local array = pick(scope.arrays)
  if not array then return new_array() end
  put(array_place(array), "=", array.kind == "i32" and small_int() or small_real())
end

function array_element(kind)
  local array = pick(scope.arrays)
  return array and array.kind == kind and array_place(array)
end

local function if_statement()
  put("if", condition(2), "then")
  block(random(3))
  for _ = 1, random(0, 2) do
    put("elseif", condition(1), "then")
    block(random(2))
  end
  if chance(60) then
    put "else"
    block(random(2))
  end
  put "end"
end

local function numeric_for()
  local step = pick { "", "", "", ", 2", ", -1", ", gridDim.x" }
  local from, to = pick { "0", "1", "t", "threadIdx.x" }, pick { "2", "3", integer(1) .. " % 4", "n - 2" }
  if step == ", -1" then from, to = to, from end
  put("for", int(), "=", from, ",", to, step, "do")
  body(random(4))
  put "end"
end

local statements = {
  assign, assign, assign, assign, declare, declare, helper, if_statement, if_statement, numeric_for, numeric_for,
  forward_goto, new_table, change_field, change_field, change_field, change_record, choose_record, return_record,
  share_record, keep_best, change_array, change_array,
  function() put(int() .. ", " .. float(), "=", small_int() .. ", " .. small_real()) end,
  function() put(int() .. ", " .. int(), "=", small_int() .. ", " .. small_int()) end,
  function() -- several results
    local kind = pick { "int", "float", "bool" }
    local f = call(kind, 1)
    if not f then return assign() end
    put(chance(30) and "local " or "", kind == "int" and "a" or kind == "float" and float() or bool(), ", b =", f)
  end,
  function() put "do" block(random(3)) put "end" end,
  function() -- no first value
    local name = new_name "z"
    put("local", name, "if", condition(2), "then", name, "=", small_int(), "else", name, "=", small_int(), "end")
    put(int(), "=", name)
  end,
  function()
    if chance(80) then return assign() end -- refused where it can be left early
    put("for", int(), "in coroutine.wrap(upwards) do")
    body(random(2))
    put "end"
  end,
  function() -- a callback assigns what it captured
    local f = new_name "set"
    put("local function", f .. "(", int(), ")", int(), "=", small_int(), "end", f .. "(", integer(1), ")")
    if chance(50) then put("for k = 1,", integer(1), "% 3 do", f .. "(k) end") end
  end,
  function()
    local name = new_name "k"
    put("local", name, "<const> =", small_int(), int(), "=", name, "-", int())
  end,
  function() put("if", condition(2), "then") block(random(2)) put "end" end,
  function() put("while", condition(2), "and fuel > 0 do") spend() body(random(3)) put "end" end,
  function()
    put "while true do"
    spend()
    put "if fuel < 0 then break end"
    body(random(3), "if " .. condition(1) .. " then break end")
    put "end"
  end,
  function() put "repeat" spend() body(random(3), "") put("until fuel < 0 or", condition(1)) end,
  function() put("for", float(), "= 0.0, 1.0,", pick { "0.5", "0.25" }, "do") body(random(2)) put "end" end,
  function()
    put("for", int(), "in", pick { "range(%s)", "range(1, %s)", "unroll(2)" }:format(integer(1) .. " % 4"), "do")
    body(random(3))
    put "end"
  end,
  function() put("for _,", int(), "in ipairs { 3,", int(), ", 5 } do") body(random(2)) put "end" end,
  function() put(own "ints", "=", small_int()) end,
  function() put(own "floats", "=", small_real()) end,
  function() put(scope.in_loop and "if " .. condition(1) .. " then break end" or "") end,
  function() put(scope.in_loop and chance(40) and "break" or "") end,
  function() put(scope.continue and "if " .. condition(1) .. " then goto " .. scope.continue .. " end" or "") end,
  function() put(scope.continue and chance(20) and "goto " .. scope.continue or "") end,
  function() put("if", condition(1), "then") leave() put "end" end,
  function() if chance(15) then leave() end end,
  function()
    put(#scope.labels > 0 and "if " .. condition(1) .. " then goto " .. pick(scope.labels) .. " end" or "")
  end,
}

-- {====== Lanes together ======
-- Statements for all lanes of a mask, whose name is m. No lane leaves early, so that all of them come
-- to each operation.

local function with(m) return ("{ mask = %s }"):format(m) end

-- A shuffle's value where its source is a lane of the mask. A lane above the block's last one has no bit there.
local function shuffled(m)
  local k = pick { 1, 2, 3 }
  local kind, source = table.unpack(pick {
    { "xor", "threadIdx.x ~ " .. k }, { "up", "max(threadIdx.x - " .. k .. ", 0)" },
    { "down", "threadIdx.x + " .. k } })
  return ("where(%s >> (%s) & 1 == 1, shfl_%s(%s, %d, %s), 7)"):format(m, source, kind, integer(1), k, with(m))
end

local exchanges = {
  shuffled, shuffled,
  function(m) return ("popc(ballot(%s, %s))"):format(condition(2), with(m)) end,
  function(m) return ("popc(match_any((%s) %% 3, %s))"):format(integer(2), with(m)) end,
  function(m)
    return ("where(%s(%s, %s), %s, 1)"):format(pick { "any", "all" }, condition(1), with(m), int())
  end,
  function(m)
    return ("where(select(2, match_all((%s) %% 2, %s)), %s, 2)"):format(integer(1), with(m), int())
  end,
  function(m)
    local op = pick { "add", "min", "max", "and", "or", "xor" }
    return ("warp_reduce(%s, '%s', %s)"):format(small_int(), op, with(m))
  end,
  function(m) return ("warp_scan(%s, '%s', %s)"):format(small_int(), pick { "add", "max" }, with(m)) end,
  function(m) return ("shfl_idx(%s, ffs(%s) - 1, %s)"):format(integer(2), m, with(m)) end,
}

local together

-- Names a mask of the lanes of m in which a condition holds, and the condition.
local function named_part(m)
  local c, lanes = new_name "holds", new_name "lanes"
  put("local", c, "=", condition(2), "local", lanes, "= ballot(" .. c .. ",", with(m) .. ")")
  return c, lanes
end

local joint = {
  function(m) put(int(), "= (" .. pick(exchanges)(m) .. ") % 97") end,
  function(m) put(int(), "= (" .. pick(exchanges)(m) .. ") % 97") end,
  function(m) put(float(), "=", ("shfl_idx(%s, ffs(%s) - 1, %s)"):format(float(), m, with(m))) end,
  function() assign() end,
  function(m) put("sync_warp", with(m)) end,
  function(m)
    put "do"
    local c, lanes = named_part(m)
    put("if", c, "then")
    together(lanes, random(2))
    if chance(50) then
      put("else local rest =", m, "& ~" .. lanes)
      together("rest", random(2))
    end
    put "end end"
  end,
  function(m)
    put("for", int(), "in", pick { "range(n - 3)", "range(1, 4)", "unroll(2)" }, "do")
    together(m, random(2))
    put "end"
  end,
  function(m) -- fewer lanes in each turn
    local lanes, c = new_name "lanes", new_name "goes"
    put("do local", lanes, "=", m, "repeat local", c, "=", condition(1), "and fuel > 0 fuel = fuel - 1")
    put(lanes, "= ballot(" .. c .. ",", with(lanes) .. ") if", c, "then")
    together(lanes, random(2))
    put("end until not", c, "end")
  end,
}

function together(m, n)
  depth = depth + 1
  for _ = 1, n do
    joint[depth > 3 and random(4) or random(#joint)](m)
    put " "
  end
  depth = depth - 1
end

-- All lanes that have not ended are together where no condition is around.
local function lanes_together()
  if depth > 0 or scope.kind then return assign() end
  local c, lanes = new_name "holds", new_name "lanes"
  put("do local", c, "=", condition(2), "local", lanes, "= ballot(" .. c .. ")")
  put("if", c, "then")
  together(lanes, random(4))
  put("end", int(), "=", pick { "shfl_xor(%s, 0)", "popc(match_any(%s))" }:format(int()), "end")
end

-- Some programs do little else than change, choose and share records.
local about_records = {
  new_table, change_field, change_field, change_field, change_record, change_record, choose_record, return_record,
  share_record, share_record, keep_best, observe, observe, if_statement, if_statement, numeric_for, assign,
  forward_goto,
}

function block(n)
  local before = scope
  depth = depth + 1
  scope = setmetatable({}, { __index = before })
  for _ = 1, n do
    (depth > 5 and assign or pick(scope.statements))()
    put " "
  end
  scope = before
  depth = depth - 1
end

-- Alternatives that gave nothing (there is no function or table yet) are another draw.
local function redraw(kinds)
  for i, f in ipairs(kinds) do
    kinds[i] = function(n)
      local text = f(n)
      while not text do
        text = kinds[random(3)](n)
      end
      return text
    end
  end
end
redraw(integers)
redraw(reals)
redraw(conditions)

-- Helpers in Lua's own style: several arguments, recursion, objects, an iterator.
local prelude <const> = [[
local function sum(...) local n = 0 for i = 1, select("#", ...) do n = n + (select(i, ...)) end return n end
local function climb(k, v) if k <= 0 then return v end return climb(k - 1, v + k) end
local function upwards() for k = 1, 3 do coroutine.yield(k + 1) end end
local Pair = {}
Pair.__index = Pair
local function pair(i, f) return setmetatable({ i = i, f = f }, Pair) end
function Pair.__add(l, r) local f = l.f if f < r.f then f = r.f end return pair(l.i + r.i, f) end
function Pair.__unm(l) return pair(-l.i, l.i > 2 and l.f or -l.f) end
function Pair:__call(f) if self.i > 2 then return self.f end return f end
local function bump(r, v) if v > 3 then r.i = v else r.f = r.f * 4.0 // 1.0 / 8.0 end end
function Pair:most(k) if self.i > k then return self.i end return k end
]]

-- A chunk that returns a kernel's function.
local function generate()
  buffer, depth, n_names = {}, 0, 0
  scope = { labels = {}, tables = {}, arrays = {}, functions = { int = {}, float = {}, bool = {} }, continue = false, in_loop = false }
  put("local s, none =", pick { "'yes'", "nil" }, ", nil\n", prelude)
  put("return function(x, y, m, ints, floats, n)\n")
  put("local t, fuel = blockIdx.x * blockDim.x + threadIdx.x, 6\n")
  put("local a, b, c, d, e, u, v, w, p, q = x[t], t, 2, n, 0, y[t], 0.5, 1.0, t > 3, false\n")
  scope.statements = chance(40) and about_records or statements
  for _ = 1, random(3, 8) do
    (chance(15) and lanes_together or pick(scope.statements))()
    put "\n"
  end
  for _, name in ipairs { table.unpack(scope.tables) } do
    if chance(70) then
      scope.tables = { name }
      observe()
      put "\n"
    end
  end
  put("ints[t * 4 + 2] = (a + 3 * b + 5 * c + 7 * d + 11 * e) % 1009\n")
  put("floats[t * 4 + 2] = (p and 1.0 or 2.0) + u + 2.0 * v + (q and 4.0 or 8.0) * w\nend")
  return table.concat(buffer, " ")
end

-- {====== Plain Lua ======

-- A tensor that plain Lua understands: t[i], t[{i, j}], t(i, j), t[i] = v.
local function proxy(data, extent)
  local function at(_, i, j) return data[i + (j or 0) * extent + 1] end
  return setmetatable({}, {
    __index = function(_, key)
      if type(key) == "table" then return at(nil, key[1], key[2]) end
      return data[key + 1]
    end,
    __newindex = function(_, key, value) data[key + 1] = value end,
    __call = at,
  })
end

local function count(first, stop)
  if not stop then first, stop = 0, first end
  local i = first - 1
  return function()
    i = i + 1
    if i < stop then return i end
  end
end

-- Rounding as plain Lua has it; the sign of a zero is that of x.
local function truncated(x)
  if x < 0 then return -(-x // 1) end
  return x // 1
end
local function rounded(x)
  local t = truncated(x)
  return math.abs(x - t) >= 0.5 and t + (x < 0 and -1.0 or 1.0) or t
end
local function to_even(x)
  local t = truncated(x)
  local far = math.abs(x - t)
  return (far > 0.5 or far == 0.5 and t % 2 == 1) and t + (x < 0 and -1.0 or 1.0) or t
end

local environment = {
  trunc = truncated, round = rounded, rint = to_even,
  math = math, ipairs = ipairs, setmetatable = setmetatable, coroutine = coroutine, pcall = pcall,
  select = select, min = math.min, max = math.max, abs = math.abs,
  local_array = function(_, n) return proxy({}, n) end,
  dynamic = function(v) return v end,
  range = count, unroll = count, blockDim = { x = BLOCK }, gridDim = { x = GRID },
  floor = function(x) return x // 1 end,
  ceil = function(x) return -(-x // 1) end,
  where = function(c, x, y) if c then return x end return y end,
}

-- Lanes of a warp are coroutines. An operation of several lanes yields what it asks for; it is done when
-- all lanes of its mask ask for the same.
local function bits(lanes, f)
  local r = 0
  for lane in pairs(lanes) do r = f(lane) and r | 1 << lane or r end
  return r
end

-- Combines the values of the lanes up to `last`, in their order.
local function combined(asks, lanes, op, last)
  local r
  for lane = 0, last do
    local v = lanes[lane] and asks[lane].value
    if v then r = r and op(r, v) or r or v end
  end
  return r
end

local word_ops = {
  add = function(a, b) return a + b end, min = math.min, max = math.max,
  ["and"] = function(a, b) return a & b end, ["or"] = function(a, b) return a | b end,
  xor = function(a, b) return a ~ b end,
}

local function equal_lanes(asks, lanes, lane)
  return bits(lanes, function(l) return asks[l].value == asks[lane].value end)
end

-- What a lane gets, of what the lanes of its group ask for.
local answers = {
  ballot = function(asks, lanes) return bits(lanes, function(l) return asks[l].value end) end,
  any = function(asks, lanes) return bits(lanes, function(l) return asks[l].value end) ~= 0 end,
  all = function(asks, lanes) return bits(lanes, function(l) return not asks[l].value end) == 0 end,
  match_any = equal_lanes,
  match_all = function(asks, lanes, lane)
    local all = bits(lanes, function() return true end)
    local same = equal_lanes(asks, lanes, lane) == all
    return same and all or 0, same
  end,
  warp_reduce = function(asks, lanes, lane)
    return combined(asks, lanes, word_ops[asks[lane].by], BLOCK - 1)
  end,
  warp_scan = function(asks, lanes, lane) return combined(asks, lanes, word_ops[asks[lane].by], lane) end,
  sync_warp = function() end,
}
for kind, source in pairs {
  up = function(lane, by) return lane - by end, down = function(lane, by) return lane + by end,
  xor = function(lane, by) return lane ~ by end, idx = function(_, by) return by end,
} do
  answers["shfl_" .. kind] = function(asks, lanes, lane)
    local from = source(lane, asks[lane].by)
    return asks[lanes[from] and from or lane].value
  end
end
for name in pairs(answers) do
  local has_by = name:find "shfl" or name == "warp_reduce" or name == "warp_scan"
  environment[name] = function(value, by, options)
    if not has_by then options = by end
    if name == "sync_warp" then options = value end
    return coroutine.yield { name = name, value = value, by = by, mask = options and options.mask }
  end
end
environment.popc = function(v)
  local n = 0
  while v ~= 0 do v, n = v & v - 1, n + 1 end
  return n
end
environment.ffs = function(v)
  for i = 0, 31 do
    if v >> i & 1 == 1 then return i + 1 end
  end
  return 0
end

-- The lanes that a lane's operation is for, as a set: nil if not all of them are there yet.
local function group_of(asks, alive, lane)
  local ask, lanes = asks[lane], {}
  for l in pairs(alive) do
    if not ask.mask or ask.mask >> l & 1 == 1 then
      local other = asks[l]
      if not other or other.name ~= ask.name or other.mask ~= ask.mask then return nil end
      lanes[l] = true
    end
  end
  return lanes
end

local function run_warp(first, start)
  local threads, asks, alive, given = {}, {}, {}, {}
  for lane = 0, BLOCK - 1 do threads[lane], alive[lane], given[lane] = coroutine.create(start), true, {} end
  while next(alive) do
    local moved = false
    for lane = 0, BLOCK - 1 do
      if given[lane] then
        environment.threadIdx, environment.blockIdx = { x = lane }, { x = first // BLOCK }
        local good, ask = coroutine.resume(threads[lane], table.unpack(given[lane]))
        if not good then error(ask, 0) end
        asks[lane], given[lane], moved = ask, nil, true
        if not ask then alive[lane] = nil end
      end
    end
    for lane in pairs(alive) do
      local lanes = asks[lane] and group_of(asks, alive, lane)
      for l in pairs(lanes or {}) do given[l] = { answers[asks[l].name](asks, lanes, l) } end
      for l in pairs(lanes or {}) do asks[l] = nil end
    end
    if not moved then error "lanes wait for each other" end
  end
end

local function run_plainly(text, x, y, m, ints, floats, n)
  for first = 0, THREADS - 1, BLOCK do
    run_warp(first, function()
      local f = load(text, "=program", "t", environment)()
      f(proxy(x), proxy(y), proxy(m, 4), proxy(ints), proxy(floats), n)
    end)
  end
end

-- {====== Running ======

-- What a kernel cannot express, by words of its message.
local refusals = {
  "change with it in the next turn", "which may be this one", "made by the kernel", "the kernel did not make",
  "has no value on some path", "right side of 'and'", "locals without a first value",
  "unrolled", "no exit", "nest less deep", "to be traced", "is changed under a run-time condition",
  "is indexed by a run-time value", "changes Lua state", "a coroutine is resumed under", "assigned by an inner function",
  "is read in this loop before an inner function",
  "operations by here", "has found one more table",
}

local function refusal(message)
  for _, part in ipairs(refusals) do
    if message:find(part, 1, true) then
      return part
    end
  end
end

local int_data <const>, real_data <const> = { 0, 3, 5, 1, 2, -4, 7, 96 }, { 0.5, -1.25, 2, 7.75, 0, 3, -8, 31.5 }
local matrix_data <const> = { 1, 2, -1, 4, 2, 3, 0, 50 }
local x, y, m = from_table(i32, int_data), from_table(f32, real_data), from_table(i32, matrix_data, layout({ 4, 2 }))
local where_to = device().sm and "cuda" or "cpu"
x, y, m = x:to(where_to), y:to(where_to), m:to(where_to)

local function zeros_table()
  local t = {}
  for i = 1, THREADS * SLOTS do t[i] = 0 end
  return t
end

local n_compared, n_refused, n_wrong, n_invalid, reasons = 0, 0, 0, 0, {}

local function report(text, number, message)
  n_wrong = n_wrong + 1
  if n_wrong <= 5 then
    print(("# program %d of seed %d: %s"):format(number, seed, message))
    print("# " .. text:gsub("\n", "\n# "))
  end
end

local function compare(text, number, want, got)
  for i = 1, THREADS * SLOTS do
    if want[i] ~= got[i] then
      report(text, number, ("thread %d, element %d: want %s, got %s"):format((i - 1) // SLOTS, (i - 1) % SLOTS,
        want[i], got[i]))
      return false
    end
  end
  return true
end

local function check(text, number)
  local f, syntax = load(text, "=program")
  if not f then
    n_invalid = n_invalid + 1
    if not syntax:find("jumps into the scope", 1, true) then report(text, number, syntax) end
    return
  end
  local want_ints, want_floats = zeros_table(), zeros_table()
  local plain, why = pcall(run_plainly, text, int_data, real_data, matrix_data, want_ints, want_floats, 5)
  if not plain then return report(text, number, "plain Lua: " .. why) end
  local ints, floats = zeros(i32, THREADS * SLOTS), zeros(f32, THREADS * SLOTS)
  local k = kernel("program", f())
  local passed, message = pcall(function() k { grid = GRID, block = BLOCK }(x, y, m, ints, floats, 5) end)
  if not passed then
    local reason = refusal(message)
    if not reason then return report(text, number, message) end
    n_refused = n_refused + 1
    reasons[reason] = (reasons[reason] or 0) + 1
    return
  end
  n_compared = n_compared + 1
  if compare(text, number, want_ints, ints:totable()) then
    compare(text, number, want_floats, floats:totable())
  end
end

for i = 1, n_programs do
  math.randomseed(seed, i)
  check(generate(), i)
end

for reason, n in pairs(reasons) do
  print(("# refused: %d, %s"):format(n, reason))
end
tap.ok(n_compared > 0.7 * n_programs,
  ("%d random kernels of seed %d: %d compared, %d refused, %d no Lua"):format(n_programs, seed, n_compared, n_refused,
    n_invalid))
tap.ok(n_wrong == 0, ("each gives what plain Lua gives: %d differences"):format(n_wrong))
tap.done()
