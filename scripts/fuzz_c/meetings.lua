-- meetings.lua: what the threads of a block of a random kernel do together: barriers, shared memory, shuffles,
-- votes, reductions and scans, in control flow that is the same for all of them. In C each step is a loop over
-- all threads.
local types, expressions, writer, statements = ...
local M = {}
local random = math.random
local pick, chance = expressions.pick, expressions.chance
local put, put_c, fresh, with, extended = writer.put, writer.put_c, writer.fresh, writer.with, writer.extended
local I32 <const>, I64 <const>, U32 <const>, U64 <const> = types.i32, types.i64, types.u32, types.u64
local F32 <const>, F64 <const> = types.f32, types.f64

local FOR_EACH <const> = "for (int t = 0; t < N; t++) { const int g = b * N + t; (void)g;"

-- What each thread does alone by f(...).
function M.threads(f, ...)
  put_c(FOR_EACH .. "\n")
  statements.loop = nil
  f(...)
  put_c "}\n"
end
local threads = M.threads

local function assign_two()
  statements.assign()
  statements.assign()
end

-- Assigns a little with one more value, or truth, in sight.
local function use(v)
  local list = v.t and "values" or "truths"
  with({ [list] = extended(writer.scope[list], v) }, threads, assign_two)
end

-- Each thread's value of the C into an array.
local function gather(array, c) put_c(FOR_EACH .. " $a[t] = $c; }\n", { a = array, c = c }) end

-- {====== Shared memory ======

local neighbours <const> = { "(t + %d) %% N", "(%d + 7 * t) %% N", "(t ~ 1) %% N", "(N - 1 - t)" }

-- What was written before a barrier is there after it; another barrier comes before it is written again.
local function exchange()
  local t = pick(writer.scope.types)
  local e = expressions.stored(expressions.any(2), t)
  local s, by, block = fresh "s", random(0, 100), writer.scope.block
  put("local $s = shared($T, $N)\n$s[t] = $l\nsync_threads()\n", "$U $s[N];\n",
    { s = s, T = t.name, U = t.c, N = block, l = e.l })
  gather(s, e.c)
  local at = pick(neighbours):gsub("N", block):format(by)
  local v = { t = t, l = ("%s[%s]"):format(s, at), c = ("%s[%s]"):format(s, (at:gsub("~", "^"))) }
  with({ loads = {} }, use, v)
  put("sync_threads()\n", "")
end

local function atomic_shared()
  local t = pick { I32, U32, I64, U64, F32 }
  local s = fresh "s"
  local values = { s = s, T = t.name, U = t.c, n = #statements.atomics, l = t.float and "0.0" or "7" }
  put("local $s = shared($T, $n)\nif t < $n then $s[t] = $l end\nsync_threads()\n",
    "$U $s[$n]; for (int i = 0; i < $n; i++) $s[i] = $l;\n", values)
  threads(function()
    put("if $l then\n", "if ($c) {\n", expressions.truth(1))
    statements.atomic(s, t)
    put("end\n", "}\n")
    statements.atomic(s, t)
  end)
  local word = ("%s[%d]"):format(s, random(0, #statements.atomics - 1))
  put("sync_threads()\n", "")
  with({ loads = {}, values = extended(writer.scope.values, { t = t, l = word, c = word }) }, threads,
    statements.assign)
  put("sync_threads()\n", "")
end

-- {====== Warps ======

local function variable()
  local found = {}
  for _, v in ipairs(writer.scope.variables) do
    if v.t then found[#found + 1] = v end
  end
  return pick(found)
end

local function shuffle()
  local v = variable()
  local e = expressions.any(2)
  local kind = pick { "up", "down", "xor", "idx" }
  local by = { c = chance(60) and tostring(random(0, 31)) }
  by.l = by.c
  if not by.c then
    local lanes = expressions.value(1, I32)
    by = { l = ("(%s & 31)"):format(lanes.l), c = lanes.c .. " & 31" }
  end
  local width = pick { 32, 32, 16, 8, 4, 2 }
  local values = { kind = kind, from = fresh "from", to = fresh "lane", U = e.t.c, width = width }
  put_c("$U $from[N]; int $to[N];\n", values)
  gather(values.from, e.c)
  gather(values.to, by.c)
  local last = width < 32 and ", " .. width or ""
  local got = { t = e.t, l = ("shfl_%s(%s, %s%s)"):format(kind, e.l, by.l, last),
    c = ("$from[lane_$kind(t, $to[t], $width)]"):gsub("%$(%w+)", values) }
  got = expressions.exactly(got, v.t)
  put(("%s = %s\n"):format(v.l, got.l), "")
  gather(v.c:gsub("%[t%]$", ""), got.c)
end

local function vote()
  local e = expressions.truth(2)
  local kind = pick { "ballot", "ballot", "vote_any", "vote_all" }
  local values = { held = fresh "held", votes = fresh "votes", vote = fresh "vote", kind = kind, l = e.l }
  put_c("bool $held[N]; uint32_t $votes[N];\n", values)
  gather(values.held, e.c)
  put("local $vote = $kind($l)\n", [[
for (int t = 0; t < N; t++) {
  $votes[t] = 0;
  for (int i = 0; i < 32; i++) $votes[t] |= (uint32_t)$held[t - t % 32 + i] << i;
}
]], values)
  local votes = values.votes .. "[t]"
  if kind == "ballot" then
    use { t = U32, l = values.vote, c = votes }
  else
    use { l = values.vote, c = ("(%s %s)"):format(votes, kind == "vote_any" and "!= 0" or "== 0xffffffff") }
  end
end

-- {====== Reductions and scans ======

-- Of operations whose order does not matter.
local function reduction()
  local t = pick { I32, I64, U32, U64, F32, F64 }
  local op = pick(t.float and { "min", "max" } or { "add", "min", "max", "and", "or", "xor", "mul" })
  local e = expressions.value(2, t)
  local values = { from = fresh "from", out = fresh "sum", U = t.c, T = t.name, op = op, l = e.l }
  local is_block, is_scan = chance(50), chance(50)
  put_c("$U $from[N], $out[N];\n", values)
  gather(values.from, e.c)
  values.first = is_block and "0" or "t - t % 32"
  values.last = is_scan and "t" or is_block and "N - 1" or "t - t % 32 + 31"
  values.sum, values.name = fresh "sum", (is_block and "block" or "warp") .. (is_scan and "_scan" or "_reduce")
  put("local $sum = $name($l, '$op')\n", [[
for (int t = 0; t < N; t++) {
  $out[t] = $from[$first];
  for (int i = $first + 1; i <= $last; i++) $out[t] = OP($out[t], $from[i]);
}
]], values)
  writer.c[#writer.c] = writer.c[#writer.c]:gsub("OP", op .. "_" .. t.name)
  use { t = t, l = values.sum, c = values.out .. "[t]" }
end

-- {====== Control flow ======

local together

-- With expressions of what is the same in all threads of a block.
local function uniform(f, ...)
  local scope = writer.scope
  with({ values = scope.uniform, truths = {}, bounds = scope.uniform_bounds }, f, ...)
end

local function uniform_if()
  local e
  uniform(function() e = expressions.truth(1) end)
  put("if $l then\n", "if ($c) {\n", e)
  together(random(2))
  if chance(40) then
    put("else\n", "} else {\n")
    together(1)
  end
  put("end\n", "}\n")
end

local function uniform_loop()
  local before = writer.scope
  uniform(statements.for_statement, function()
    local index = writer.scope.values[#writer.scope.values]
    with({ values = extended(before.values, index), truths = before.truths, bounds = before.bounds,
      uniform = extended(before.uniform, index) }, together, random(2))
  end)
end

local function alone() threads(statements.some, random(4)) end

local kinds <const> = {
  alone, alone, exchange, shuffle, shuffle, vote, vote, reduction, atomic_shared, uniform_if, uniform_loop,
}
local plain <const> = { exchange, shuffle, vote, reduction, atomic_shared }

function together(n)
  writer.repeatedly(n, function() return pick(writer.depth > 2 and plain or kinds) end)
end
M.some = together

return M
