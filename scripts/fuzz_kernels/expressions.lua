-- expressions.lua: random expressions of integers, floats and conditions.
local writer = ...
local random = math.random
local pick, chance, int, float, bool = writer.pick, writer.chance, writer.int, writer.float, writer.bool

local integer, real, condition

-- "x[k]", "m[{i, j}]": an element of a tensor that nobody writes.
local function int_element(n)
  if chance(50) then return "x[" .. integer(n - 1) .. " % 8]" end
  local i, j = integer(n - 1) .. " % 4", pick { "0", "1", integer(n - 1) .. " % 2" }
  return chance(50) and ("m[{%s, %s}]"):format(i, j) or ("m(%s, %s)"):format(i, j)
end

local function own(tensor) return ("%s[t * 4 + %s]"):format(tensor, pick { "0", "1", "a % 4", "3" }) end

-- A call of a function in scope that gives a value of this kind first.
local function call(kind, n)
  local f = pick(writer.scope.functions[kind])
  return f and ("%s(%s, %s)"):format(f, integer(n - 1), real(n - 1))
end

local function array_place(array) return ("%s[(%s) %% %d]"):format(array.name, integer(1), array.size) end

local function array_element(kind)
  local array = pick(writer.scope.arrays)
  return array and array.kind == kind and array_place(array)
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
  function(n) return ("where(%s, %s, (%s))"):format(condition(n - 1), integer(n - 1), integer(n - 1)) end,
  function(n) return ("%s(%s, %s)"):format(pick { "min", "math.max" }, integer(n - 1), integer(n - 1)) end,
  function(n) return ("math.floor(%s)"):format(real(n - 1)) end,
  function() return ("dynamic(%s)"):format(pick { "0", "2", "5", "-3", int() }) end,
  int_element,
  function() return own "ints" end,
  function(n) return call("int", n) end,
  function(n) return call("int", n) end,
  function()
    return #writer.scope.tables > 0 and pick(writer.scope.tables) .. pick { "[1]", "[2]", ".i", ".sub[1]" }
  end,
  function() return #writer.scope.tables > 0 and pick(writer.scope.tables) .. pick { "[1]", ".i", ".sub[1]" } end,
  function() return array_element "i32" end,
  function() return #writer.scope.tables > 0 and "#" .. pick(writer.scope.tables) end,
  function(n) return ("sum(%s, %s, %s)"):format(integer(n - 1), int(), integer(n - 1)) end,
  function(n) return ("climb(%d, %s)"):format(random(0, 3), integer(n - 1)) end,
  function(n)
    return ("(pair(%s, %s) + pair(%s, 0.5)):most(%s)"):format(int(), real(n - 1), integer(n - 1), int())
  end,
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
  function() return #writer.scope.tables > 0 and pick(writer.scope.tables) .. ".f" end,
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

return {
  integer = integer, real = real, condition = condition, call = call, own = own, array_place = array_place,
}
