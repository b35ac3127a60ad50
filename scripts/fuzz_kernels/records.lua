-- records.lua: statements about records, which are changed, chosen by a condition, returned and shared by two
-- names; and about arrays of a thread.
local writer, expressions, simple = ...
local random = math.random
local put, pick, chance, new_name, int = writer.put, writer.pick, writer.chance, writer.new_name, writer.int
local integer, condition, array_place = expressions.integer, expressions.condition, expressions.array_place
local small_int, small_real, assign, block = simple.small_int, simple.small_real, simple.assign, simple.block

local function see(name) writer.see("tables", name) end

local function new_table()
  local name = new_name "tab"
  put("local", name, "= {", small_int(), ",", int(), ", i =", small_int())
  put(", f =", small_real(), ", sub = {", int(), "} }")
  see(name)
end

local function record()
  return ("{ %s, %s, i = %s, f = %s, sub = { %s } }"):format(small_int(), int(), small_int(), small_real(), int())
end

-- A record that exists, else a new one.
local function some_record() return chance(50) and pick(writer.scope.tables) or record() end

local function change_field()
  local name = pick(writer.scope.tables)
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
    put(name .. ".sub =", chance(70) and "{ " .. small_int() .. " }" or pick(writer.scope.tables) .. ".sub")
  end
end

local function change_record()
  local name = pick(writer.scope.tables)
  if not name then return new_table() end
  put(name, "=", some_record())
end

local function choose_record()
  local name = new_name "rec"
  put("local", name, "if", condition(2), "then", name, "=", some_record(), "else", name, "=", some_record(), "end")
  see(name)
end

local function return_record()
  if writer.depth > 3 then return assign() end
  local f, name, before = new_name "g", new_name "rec", writer.scope
  writer.scope = writer.inner { labels = {}, continue = false, in_loop = false, kind = "record" }
  put("local function " .. f .. "(" .. int() .. ") if", condition(1), "then return", some_record(), "end")
  block(random(2))
  put("return", some_record(), "end")
  writer.scope = before
  put("local", name, "=", f .. "(" .. integer(1) .. ")")
  see(name)
end

local function share_record()
  local from, name = pick(writer.scope.tables), new_name "also"
  if not from then return new_table() end
  put("local", name, "=", from)
  see(name)
end

-- What a record holds shows in the answers.
local function observe()
  local name = pick(writer.scope.tables)
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

local function new_array()
  local array = { name = new_name "arr", size = pick { 2, 4, 6 }, kind = pick { "i32", "f32" } }
  put("local", array.name, ("= local_array(%s, %d)"):format(array.kind, array.size))
  put(("for k = 0, %d do %s[k] ="):format(array.size - 1, array.name), array.kind == "i32" and "k" or "k * 0.5", "end")
  writer.see("arrays", array)
end

local function change_array()
  local array = pick(writer.scope.arrays)
  if not array then return new_array() end
  put(array_place(array), "=", array.kind == "i32" and small_int() or small_real())
end

return {
  some_record = some_record, new_table = new_table, change_field = change_field, change_record = change_record,
  choose_record = choose_record, return_record = return_record, share_record = share_record, observe = observe,
  keep_best = keep_best, new_array = new_array, change_array = change_array,
}
