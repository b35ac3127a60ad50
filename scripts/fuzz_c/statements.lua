-- statements.lua: what one thread of a random kernel does alone, with control flow of its own: the same
-- statements in Lua and in C, inside C's loop over threads.
local types, numbers, expressions, writer = ...
local M = {}
local random = math.random
local pick, chance, as = expressions.pick, expressions.chance, expressions.as
local put, put_c, fresh, with, extended = writer.put, writer.put_c, writer.fresh, writer.with, writer.extended
local I32 <const>, I64 <const>, U32 <const> = types.i32, types.i64, types.u32

M.SLOTS = 4  -- of a thread in each tensor that is written
M.loop = nil -- the label at the end of the innermost loop, to continue at

-- {====== Assignments ======

local function assign()
  local v = pick(writer.scope.variables)
  local e
  if not v.t then
    e = expressions.truth(2)
  else
    e = chance(5) and { n = numbers.of(v.t) } or expressions.any(3)
    e = expressions.exactly(e, v.t)
  end
  put(("%s = %s\n"):format(v.l, e.l), ("%s = %s;\n"):format(v.c, e.c))
end
M.assign = assign

-- Into one of the thread's own elements that are no variable's.
local function store()
  local t = pick(writer.scope.types)
  local e = expressions.stored(expressions.any(3), t)
  local values = { T = t.name, S = M.SLOTS, k = random(2, M.SLOTS - 1), l = e.l, c = e.c }
  put("g_$T[g * $S + $k] = $l\n", "g_$T[g * $S + $k] = $c;\n", values)
end

M.atomics = { "add", "min", "max", "and", "or", "xor" } -- the word of each operation

-- The order of threads must not matter: one operation for each word, no result, small float numbers.
function M.atomic(name, t)
  local k = t.float and 1 or random(#M.atomics)
  local e
  if t.float then
    e = expressions.cast(expressions.value(1, types.u8), t)
  else
    e = expressions.value(2, t)
  end
  local values = { op = M.atomics[k], a = name, k = k - 1, T = t.name, l = e.l, c = e.c }
  put("atomic_$op($a, $k, $l)\n", "$a[$k] = $op" .. "_$T($a[$k], $c);\n", values)
end

local function atomic_global()
  if #writer.scope.atomic_types == 0 then return assign() end
  local t = pick(writer.scope.atomic_types)
  M.atomic("a_" .. t.name, t)
end

-- {====== Control flow ======

local statements

local function if_statement()
  put("if $l then\n", "if ($c) {\n", expressions.truth(2))
  statements(random(3))
  if chance(50) then
    put("else\n", "} else {\n")
    statements(random(2))
  end
  put("end\n", "}\n")
end

-- The body of a loop with a label to continue at, left when a variable has counted its turns.
local function body(count, label, inside, ...)
  put("$k = $k + 1\nif $k > $most then break end\ndo\n", "$k = $k + 1;\nif ($k > $most) break;\n{\n",
    { k = count, most = random(0, 4) })
  local before = M.loop
  M.loop = label
  inside(...)
  M.loop = before
  put("end\n", "}\n")
end

-- A bound of a loop: an element or argument, which may be an end of its type, or a small number.
local function bound()
  local k = random(10)
  if k <= 3 then return { n = random(-3, 3) } end
  if k <= 6 then
    local v = expressions.any(1, "int")
    local t = types.computed(v.t)
    if v.t == types.u64 then return { n = 2 } end
    return { t = t, l = ("(%s & 3)"):format(v.l), c = ("and_%s(%s, 3)"):format(t.name, as(v, t)) }
  end
  if k <= 7 then
    local t = pick { I32, I64, U32, types.i8 }
    return expressions.cast({ n = numbers.int(t) }, t)
  end
  return pick(writer.scope.bounds)
end

local steps <const> = { 1, 2, -1, -1, -3, 7, 1 << 30, -(1 << 30), 1 << 40, math.mininteger }

local function choose_step()
  local step = { n = chance(50) and 1 or pick(steps) }
  return step.n ~= 1 and chance(30) and expressions.cast(step, I64) or step
end

local function index_type(parts)
  for _, e in ipairs(parts) do
    if e.t == I64 or e.t == U32 or (e.n and not types.fits(I32, e.n)) then return I64 end
  end
  return I32
end

local function text(e) return e.n and numbers.lua(e.n) or e.l end

-- A numeric 'for' as Lua defines it: the turns are counted before the first.
local for_in_c <const> = [[
{ int $k = 0; $T $i = $from; const $T to = $to, by = $by;
if (by > 0 ? $i <= to : $i >= to) {
uint64_t way = by > 0 ? (uint64_t)to - (uint64_t)$i : (uint64_t)$i - (uint64_t)to;
uint64_t left_$i = way / (by > 0 ? (uint64_t)by : 0 - (uint64_t)by);
for (const $T by_$i = by;; $i = add_$S($i, by_$i)) {
]]

function M.for_statement(inside, ...)
  local from, to = bound(), bound()
  if from.n and to.n then to = pick(writer.scope.bounds) end
  if from.t == types.u64 or to.t == types.u64 then return end
  local step = choose_step()
  local has_step = not (step.n == 1 and chance(70))
  local t = index_type { from, to, has_step and step or { n = 1 } }
  local i, count, label = fresh "at", fresh "k", fresh "next"
  put(("local %s = 0\nfor %s = %s, %s%s do\n"):format(count, i, text(from), text(to),
    has_step and ", " .. text(step) or ""), "")
  put_c(for_in_c, { k = count, T = t.c, S = t.name, i = i, from = as(from, t), to = as(to, t), by = as(step, t) })
  with({ values = extended(writer.scope.values, { t = t, l = i, c = i }) }, body, count, label, inside, ...)
  put("::$next::\nend\n", "$next:; if (left_$i-- == 0) break;\n}}}\n", { next = label, i = i })
end

local function while_statement()
  local count, label = fresh "k", fresh "next"
  local e = expressions.truth(2)
  local is_repeat = chance(30)
  local values = { k = count, next = label, l = e.l, c = e.c }
  put("local $k = 0\n", "{ int $k = 0;\n", values)
  if is_repeat then
    put("repeat\n", "for (;;) {\n")
  else
    put("while $l do\n", "while ($c) {\n", values)
  end
  body(count, label, statements, random(3))
  put("::$next::\n", "$next:;\n", values)
  if is_repeat then
    put("until $l\n", "if ($c) break;\n}}\n", values)
  else
    put("end\n", "}}\n")
  end
end

local function leave_loop()
  if not M.loop then return assign() end
  local e = expressions.truth(1)
  local values = { l = e.l, c = e.c, next = M.loop }
  if chance(50) then
    put("if $l then break end\n", "if ($c) break;\n", values)
  else
    put("if $l then goto $next end\n", "if ($c) goto $next;\n", values)
  end
end

local kinds = {
  assign, assign, assign, assign, assign, assign, store, store,
  if_statement, if_statement, while_statement, leave_loop,
  function() M.for_statement(statements, random(3)) end,
  atomic_global,
}

function statements(n)
  writer.repeatedly(n, function() return writer.depth > 4 and assign or pick(kinds) end)
end
M.some = statements

return M
