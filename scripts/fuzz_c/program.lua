-- program.lua: a random kernel as a function in Lua and as its reference in C: its types, arguments and
-- variables, and what both leave in memory.
local types, numbers, expressions = ...
local folder = debug.getinfo(1, "S").source:match "^@(.*/)"
local function part(name, ...) return assert(loadfile(folder .. name .. ".lua"))(...) end
local writer = part("writer", expressions)
local statements = part("statements", types, numbers, expressions, writer)
local meetings = part("meetings", types, expressions, writer, statements)
local M = { SLOTS = statements.SLOTS, WORDS = #statements.atomics }
local random = math.random
local pick, chance, as = expressions.pick, expressions.chance, expressions.as
local put, put_c = writer.put, writer.put_c
local I32 <const>, I64 <const>, U32 <const>, U64 <const> = types.i32, types.i64, types.u32, types.u64

M.LOADS = 64 -- elements of each tensor that is read

-- A few types each, so that they meet.
local function choose_types()
  local chosen, n = {}, random(3, 6)
  while #chosen < n do
    local t = pick(types.list)
    if not chosen[t] then chosen[t], chosen[#chosen + 1] = true, t end
  end
  table.sort(chosen, function(a, b) return a.place < b.place end)
  return chosen
end

local function choose_atomic_types(all)
  local may = { [I32] = true, [U32] = true, [U64] = true, [I64] = true, [types.f32] = true }
  local chosen = {}
  for _, t in ipairs(all) do
    if may[t] and chance(60) then chosen[#chosen + 1] = t end
  end
  return chosen
end

local function begin()
  local p = { types = choose_types(), arguments = {} }
  p.block, p.grid = pick { 32, 64, 64, 96, 128 }, pick { 1, 1, 2 }
  p.atomic_types = choose_atomic_types(p.types)
  writer.begin { types = p.types, atomic_types = p.atomic_types, block = p.block, variables = {},
    values = { { t = I32, l = "t", c = "t" } }, truths = {}, loads = {}, bounds = {}, uniform = {},
    uniform_bounds = {} }
  return p
end

-- {====== Arguments and variables ======

local function append(list, v) list[#list + 1] = v end

local arguments <const> = {
  { "n", I32 }, { "m", I64 }, { "w", U32 }, { "q", types.f32 }, { "d", types.f64 },
}

local function add_arguments(p)
  local scope = writer.scope
  for _, a in ipairs(arguments) do
    local name, t = a[1], a[2]
    local v, n = { t = t, l = name, c = name }, numbers.of(t)
    append(p.arguments, { t = t, n = n })
    put_c("const $T $name = $n;\n", { T = t.c, name = name, n = as({ n = n }, t) })
    append(scope.uniform, v)
    append(scope.values, v)
    if t.int then
      append(scope.bounds, v)
      append(scope.uniform_bounds, v)
    end
  end
end

local function parameters(p)
  local names = {}
  for _, a in ipairs(arguments) do append(names, a[1]) end
  for _, t in ipairs(p.types) do
    append(names, "x_" .. t.name)
    append(names, "g_" .. t.name)
  end
  for _, t in ipairs(p.atomic_types) do append(names, "a_" .. t.name) end
  return table.concat(names, ", ")
end

local function add_variable(t, k)
  local v = { t = t, l = ("%s_%d"):format(t.name, k), c = ("v_%s_%d[t]"):format(t.name, k), slot = k }
  local values = { T = t.c, v = v.l, x = "x_" .. t.name, at = random(0, M.LOADS - 1), last = M.LOADS - 1 }
  put("local $v = $x[(t + $at) & $last]\n",
    "$T v_$v[N]; for (int t = 0; t < N; t++) v_$v[t] = $x[(t + $at) & $last];\n", values)
  append(writer.scope.variables, v)
  append(writer.scope.values, v)
end

local function add_bounds(t)
  local name, at = "x_" .. t.name, random(0, M.LOADS - 1)
  local element = ("%s[%d]"):format(name, at)
  append(writer.scope.uniform_bounds, { t = t, l = element, c = element })
  element = ("%s[(t + %d) & 63]"):format(name, at)
  append(writer.scope.bounds, { t = t, l = element, c = element })
end

local function add_variables(p)
  local scope = writer.scope
  for _, t in ipairs(p.types) do
    add_variable(t, 0)
    add_variable(t, 1)
    append(scope.loads, { t = t, l = "x_" .. t.name, c = "x_" .. t.name })
    if t.int and t ~= U64 then add_bounds(t) end
  end
  for k = 0, 1 do
    local v = { l = "yes_" .. k, c = ("v_yes_%d[t]"):format(k) }
    put("local yes_$k = t % $n == 1\n",
      "bool v_yes_$k[N]; for (int t = 0; t < N; t++) v_yes_$k[t] = t % $n == 1;\n", { k = k, n = k + 2 })
    append(scope.variables, v)
    append(scope.truths, v)
  end
end

-- {====== Results ======

local function declare_results(p)
  put_c(("enum { N = %d };\n"):format(p.block))
  for _, t in ipairs(p.types) do
    put_c("static $T g_$t[N * $n];\n", { T = t.c, t = t.name, n = p.grid * M.SLOTS })
  end
  for _, t in ipairs(p.atomic_types) do
    put_c("$T a_$t[$n] = {0};\n", { T = t.c, t = t.name, n = M.WORDS })
  end
end

local function keep_variables()
  for _, v in ipairs(writer.scope.variables) do
    local values = v.t and { T = v.t.name, S = M.SLOTS, k = v.slot, l = v.l, c = v.c }
    if v.t then put("g_$T[g * $S + $k] = $l\n", "g_$T[g * $S + $k] = $c;\n", values) end
  end
end

-- C that writes n elements of an array, all integers as int64_t and all floats as double.
local function write(name, n, t)
  local wide = t.float and types.f64 or I64
  put_c("for (int i = 0; i < $n; i++) { $T x = $x; fwrite(&x, 8, 1, stdout); }\n",
    { n = n, T = wide.c, x = as({ t = t, c = name .. "[i]" }, wide) })
end

local function write_results(p)
  for _, t in ipairs(p.types) do write("g_" .. t.name, p.block * p.grid * M.SLOTS, t) end
  for _, t in ipairs(p.atomic_types) do write("a_" .. t.name, M.WORDS, t) end
end

-- A NaN has no fixed sign, so none is taken from it.
local COPYSIGN <const> = "local of = copysign\n"
  .. "local function copysign(a, b) return of(a, where(b == b, b, 1.0)) end\n"

-- A program: {types, atomic_types, arguments, block, grid, lua, c}. math.randomseed decides it.
function M.generate()
  local p = begin()
  declare_results(p)
  put(COPYSIGN .. "return function($names)\nlocal t = threadIdx.x\nlocal g = blockIdx.x * $N + t\n", "",
    { names = parameters(p), N = p.block })
  add_arguments(p)
  put_c(("for (int b = 0; b < %d; b++) {\n"):format(p.grid))
  add_variables(p)
  meetings.some(random(3, 6))
  meetings.threads(keep_variables)
  put("end\n", "}\n")
  write_results(p)
  p.lua, p.c = table.concat(writer.lua), table.concat(writer.c)
  return p
end

return M
