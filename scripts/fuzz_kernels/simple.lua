-- simple.lua: assignments, and blocks of statements.
local writer, expressions = ...
local random = math.random
local put, pick, int, float, bool = writer.put, writer.pick, writer.int, writer.float, writer.bool
local integer, real, condition = expressions.integer, expressions.real, expressions.condition

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

-- n statements of those that the scope has, or those that the list n has; deep inside others they are assignments.
local function block(n)
  local before = writer.scope
  writer.depth = writer.depth + 1
  writer.scope = writer.inner {}
  local list = type(n) == "table" and n
  for i = 1, list and #list or n do
    put(writer.scope.separator);
    (list and list[i] or writer.depth > 5 and assign or pick(writer.scope.statements))()
  end
  put(writer.scope.separator)
  writer.scope = before
  writer.depth = writer.depth - 1
end

return {
  small_int = small_int, small_real = small_real, assign = assign, declare = declare, block = block,
}
