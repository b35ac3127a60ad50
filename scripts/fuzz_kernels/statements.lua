-- statements.lua: random control flow, functions, assignments and jumps.
local writer, expressions, simple, records, callbacks = ...
local random = math.random
local put, pick, chance, new_name, int = writer.put, writer.pick, writer.chance, writer.new_name, writer.int
local float, bool = writer.float, writer.bool
local integer, condition, call, own = expressions.integer, expressions.condition, expressions.call, expressions.own
local small_int, small_real, assign, declare = simple.small_int, simple.small_real, simple.assign, simple.declare
local block = simple.block
local new_table, some_record, change_field = records.new_table, records.some_record, records.change_field
local change_record, choose_record = records.change_record, records.choose_record
local return_record, share_record, observe = records.return_record, records.share_record, records.observe
local keep_record = callbacks.keep_record
local new_callback, call_back = callbacks.new_callback, callbacks.call_back
local keep_best, change_array = records.keep_best, records.change_array

local function spend() put "fuel = fuel - 1" end

-- A loop's body, with its own label to continue at.
local function body(n, finish)
  local before = writer.scope
  local label = chance(40) and new_name "continue"
  writer.scope = writer.inner { continue = label or false, in_loop = true }
  if label and (finish or chance(50)) then
    put "do"
    block(n)
    put("end ::" .. label .. "::", finish or "")
  else
    block(n)
    put(label and "::" .. label .. "::" or finish or "")
  end
  writer.scope = before
end

local function forward_goto()
  local label, before = new_name "label", writer.scope
  put "do"
  writer.see("labels", label)
  block(random(2))
  put("if", condition(1), "then")
  block(random(0, 1))
  put("goto", label, "end")
  block(random(3))
  writer.scope = before
  put(chance(50) and "::" .. label .. ":: end" or "end ::" .. label .. "::")
  assign()
end

local function results(kind)
  if kind == "nothing" then return "" end
  if kind == "record" then return some_record() end
  local first = kind == "int" and small_int() or kind == "float" and small_real() or condition(1)
  return first .. ", " .. small_int()
end

-- A function of an integer and a float that returns a value of `kind` and an integer. Expressions call it, so it
-- assigns no number around it: Lua does not say whether `d + f()` reads d before f assigns it.
local function helper()
  if writer.depth > 3 then return assign() end
  local kind, name, before = pick { "int", "int", "float", "bool" }, new_name "fun", writer.scope
  local i, r = int(), float()
  writer.scope = writer.inner { labels = {}, callbacks = {}, continue = false, in_loop = false, kind = kind }
  put(chance(50) and "local function " .. name or "local " .. name .. " = function", "(" .. i .. ", " .. r .. ")")
  -- Its own variables, else those around it, which it can read.
  local is_closed = chance(70)
  if is_closed then
    put "local fuel, a, b, c, d, e, u, v, w, p, q = 5, a, b, c, d, e, u, v, w, p, q"
    block(random(3))
  end
  put("return", results(kind), "end")
  writer.scope = before
  local functions = {}
  for k, list in pairs(before.functions) do
    functions[k] = { table.unpack(list) }
  end
  table.insert(functions[kind], name)
  writer.scope = writer.inner { functions = functions }
end

local function leave()
  if writer.scope.kind then
    put("do return", results(writer.scope.kind), "end")
  else
    put "do return end"
  end
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

local function break_if() put(writer.scope.in_loop and "if " .. condition(1) .. " then break end" or "") end
local function leave_if() put("if", condition(1), "then") leave() put "end" end
local function goto_if()
  local labels = writer.scope.labels
  put(#labels > 0 and "if " .. condition(1) .. " then goto " .. pick(labels) .. " end" or "")
end
local function static_loop() callbacks.static_loop(body) end

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
  new_callback, call_back, call_back, static_loop, keep_record,
  function() callbacks.generated_loop(body) end,
  break_if,
  function() put(writer.scope.in_loop and chance(40) and "break" or "") end,
  function()
    local label = writer.scope.continue
    put(label and "if " .. condition(1) .. " then goto " .. label .. " end" or "")
  end,
  function() put(writer.scope.continue and chance(20) and "goto " .. writer.scope.continue or "") end,
  leave_if,
  function() if chance(15) then leave() end end,
  goto_if,
}

-- Some programs do little else than change, choose and share records.
local about_records = {
  new_table, change_field, change_field, change_field, change_record, change_record, choose_record, return_record,
  share_record, share_record, keep_best, observe, observe, if_statement, if_statement, numeric_for, assign,
  forward_goto, keep_record,
}

-- {====== What functions captured, in loops that run-time jumps leave ======

local function jump_if(jump)
  put("if", callbacks.holds(), "then")
  jump()
  put "end"
end

-- A thread that leaves the kernel has no answer to compare.
local function leave_soon()
  if writer.scope.kind or chance(5) then jump_if(leave) else callbacks.set() end
end

local function break_soon()
  if writer.scope.in_loop then jump_if(function() put "break" end) else leave_soon() end
end

local function goto_soon()
  local label = writer.scope.continue or pick(writer.scope.labels)
  if label then jump_if(function() put("goto", label) end) else break_soon() end
end

local function short_loop() callbacks.short_loop(body) end

-- A loop that is left between two changes, or whose first change after it is in the next turn.
local function left_loop()
  local step, soon = callbacks.step, pick { break_soon, break_soon, goto_soon, leave_soon }
  local steps = pick { { step, soon }, { step, soon, step }, { soon, step, step }, { step, step, soon },
    { step, soon, step, step } }
  callbacks.static_loop(function(_, finish) body(steps, finish) end)
end

local function goto_end()
  local label, before = new_name "label", writer.scope
  put "do"
  writer.see("labels", label)
  block(random(3))
  put("if", callbacks.holds(), "then goto", label, "end")
  block(random(2))
  writer.scope = before
  put("end ::" .. label .. "::")
  callbacks.set()
end

local about_callbacks = {
  new_callback, call_back, call_back, call_back, call_back, left_loop, left_loop, static_loop, short_loop,
  callbacks.new_record, keep_record, callbacks.replace, callbacks.replace, callbacks.change, callbacks.change,
  callbacks.set, callbacks.set, callbacks.observe, callbacks.observe, callbacks.if_holds, break_soon, break_soon,
  leave_soon, goto_soon, goto_end, share_record,
}

local function begin_captured()
  for _, f in ipairs { callbacks.new_record, pick { callbacks.new_record, keep_record }, new_callback } do
    f()
    put "\n"
  end
end

return {
  begin_captured = begin_captured, all = statements, about_records = about_records, about_callbacks = about_callbacks,
}
