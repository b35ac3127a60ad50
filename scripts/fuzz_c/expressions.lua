-- expressions.lua: random expressions in two languages at once: {l = as Lua, c = as C, t = type}. A
-- truth has no type. A plain Lua number is {n = number}: it takes the type of what it meets.
local types, numbers = ...
local M = {}
local random = math.random
local I32 <const>, I64 <const> = types.i32, types.i64
local U32 <const>, U64 <const> = types.u32, types.u64
local F32 <const>, F64 <const> = types.f32, types.f64

local function pick(list) return list[random(#list)] end
local function chance(percent) return random(100) <= percent end
M.pick, M.chance = pick, chance

-- What is in sight: names by type, loads; set by statements.lua for each program.
M.scope = nil

local function new(t, l, c) return { t = t, l = l, c = c } end

-- {====== Conversions ======

-- The C of a value of type `from` as one of type `to`; from nil: a truth.
local function convert(c, from, to)
  if from == to then return c end
  if from == types.f16 then
    c, from = ("of_f16(%s)"):format(c), F32
    if to == F32 then return c end
  end
  if to == types.f16 then return ("to_f16((double)(%s))"):format(c) end
  if from and from.float and to.int then return ("sat_%s(%s)"):format(to.name, c) end
  return ("((%s)(%s))"):format(to.c, c)
end

-- The C of an operand as type t.
local function as(e, t)
  if not e.n then return convert(e.c, e.t, t) end
  return convert(numbers.c(e.n), math.type(e.n) == "float" and types.f64 or I64, t)
end
M.as = as

function M.cast(e, t)
  local l = e.n and numbers.lua(e.n) or e.l
  local form = chance(50) and "cast(%s, %s)" or "%2$s"
  l = form == "%2$s" and ("%s(%s)"):format(t.name, l) or form:format(l, t.name)
  return new(t, l, as(e, t))
end

-- As a value of type t, for variables: one that is assigned takes the type of the value.
function M.exactly(e, t) return e.t == t and e or M.cast(e, t) end

-- As a value that may be stored as type t: with a cast if it needs one, sometimes if it needs none.
function M.stored(e, t)
  if e.n then
    local fits
    if math.type(e.n) == "float" then fits = t.float else fits = t.int and types.fits(t, e.n) end
    return fits and chance(70) and new(t, numbers.lua(e.n), as(e, t)) or M.cast(e, t)
  end
  if types.converts(t, e.t) and chance(e.t == t and 95 or 50) then return new(t, e.l, as(e, t)) end
  return M.cast(e, t)
end

local function text(e) return e.n and numbers.lua(e.n) or e.l end

-- {====== Leaves ======

local function typed_constant()
  local t = pick(types.list)
  return M.cast({ n = t.int and chance(5) and numbers.float(F32) or numbers.of(t) }, t)
end

local function is_kind(t, kind) return not kind or t[kind] end

local function variable(kind)
  local found = {}
  for _, v in ipairs(M.scope.values) do
    if is_kind(v.t, kind) then found[#found + 1] = v end
  end
  return #found > 0 and pick(found)
end

-- What folds while tracing, and must not lose its type by it.
local function folded()
  local v = variable "int"
  if not v then return typed_constant() end
  local t = types.computed(v.t)
  local zero = new(t, pick { "(%s - %s)", "(%s ~ %s)" }:format(v.l, v.l), ("((%s)0)"):format(t.c))
  local forms = { zero }
  for i, form in ipairs { "(%s * 0)", "(%s & 0)", "(%s %% 1)" } do
    forms[i + 1] = new(t, form:format(v.l), zero.c)
  end
  return pick(forms)
end

local function load(kind)
  local x = #M.scope.loads > 0 and pick(M.scope.loads)
  if not x or not is_kind(x.t, kind) then return end
  local i = M.any(1, "int")
  return new(x.t, ("%s[%s & 63]"):format(x.l, i.l), ("%s[%s]"):format(x.c, as(i, U64) .. " & 63"))
end

local function leaf(kind)
  local k = random(20)
  local e = k <= 12 and variable(kind) or k <= 14 and load(kind)
  e = e or k <= 15 and kind ~= "float" and folded()
  if e then return e end
  e = typed_constant()
  if is_kind(e.t, kind) then return e end
  return M.cast(e, kind == "int" and pick { I32, I64, U32 } or pick { F32, F64 })
end

-- {====== Operations ======

-- An operand: mostly a value, else a Lua number that suits one of type `beside`.
local function operand(n, kind, beside)
  if not beside or chance(80) then return M.any(n, kind) end
  local is_float = kind == "float" or (kind ~= "int" and (beside.float or chance(10)))
  if is_float then return { n = numbers.float(pick { F32, F64 }) } end
  if beside.float then return { n = random(-99, 99) } end
  return { n = numbers.int(pick { types.computed(beside), I32, types.i8, types.i8 }) }
end

-- Both operands and their common type. One of u64 beside a signed one is cast.
local function pair(n, kind, left, right)
  local a = left or M.any(n, kind)
  local b = right or operand(n, kind == "int" and kind or chance(80) and kind or nil, a.t)
  local t = types.common(a.t, b.t or types.of_number(b.n, a.t))
  if not t then
    if a.t == U64 then a = M.cast(a, I64) else b = M.cast(b, I64) end
    return pair(n, kind, a, b)
  end
  if not left and chance(30) then a, b = b, a end
  return a, b, t
end

-- What the function of the reference gives of both as type t; in Lua by `form`.
local function two(form, name, a, b, t)
  return new(t, form:format(text(a), text(b)),
    ("%s_%s(%s, %s)"):format(name, t.name, as(a, t), as(b, t)))
end

local function infix(token, name, kind)
  return function(n, want)
    local a, b, t = pair(n, kind or want)
    return two("(%s " .. token .. " %s)", name, a, b, t)
  end
end

-- Not by 0: integer divisors are odd.
local function division(form, name)
  return function(n, want)
    local a, b = M.any(n, want), M.any(n, want)
    local c = types.computed(b.t)
    if b.t.int then
      b = new(c, ("(%s | 1)"):format(b.l), ("or_%s(%s, 1)"):format(c.name, as(b, c)))
    end
    local x, y, t = pair(n, want, a, b)
    return two(form, name, x, y, t)
  end
end

-- A shift of an unsigned number has its type, whatever counts it.
local function shift(form, name)
  return function(n)
    local a, b = M.any(n, "int"), operand(n, "int", I32)
    if b.n and chance(70) then b = { n = random(0, 70) } end
    local t = a.t
    if b.n or t.signed or t.narrow then
      a, b, t = pair(n, "int", a, b)
    elseif t == U32 and types.computed(b.t).bits == 64 then
      b = new(U32, b.l, ("count_u32(%s)"):format(as(b, U64)))
    end
    return two(form, name, a, b, t)
  end
end

local function call_pair(name)
  return function(n, want)
    local a, b, t = pair(n, want)
    return two(name .. "(%s, %s)", name, a, b, t)
  end
end

local function unary(form, name, kind)
  return function(n, want)
    local a = M.any(n, kind or want)
    local t = types.computed(a.t)
    if kind == "float" and t.int then t = F32 end
    return new(t, form:format(a.l), ("%s_%s(%s)"):format(name, t.name, as(a, t)))
  end
end

local function bits(name)
  return function(n)
    local a = M.any(n, "int")
    local t = types.computed(a.t)
    return new(name == "brev" and t or I32, ("%s(%s)"):format(name, a.l),
      ("%s_%s(%s)"):format(name, t.name, as(a, t)))
  end
end

local function fma(n)
  local t = pick { F32, F64 }
  local a, b, c = M.value(n, t), M.value(n, t), M.value(n, t)
  return new(t, ("fma(%s, %s, %s)"):format(a.l, b.l, c.l),
    ("fma_%s(%s, %s, %s)"):format(t.name, a.c, b.c, c.c))
end

-- Narrow operands of one type keep it when they are chosen.
local function choice(n, want)
  local a, b, t
  local cond = M.truth(n)
  if chance(40) then
    a = M.any(n, want)
    b, t = M.value(n, a.t), a.t
  else
    a, b, t = pair(n, want)
    t = a.t == b.t and a.t or t
  end
  if a.n or (b.n and a.t.narrow) then return M.any(n, want) end
  local is_where = a.t ~= b.t or chance(60)
  local form = is_where and "where(%s, %s, %s)" or "(%s and %s or %s)"
  return new(t, form:format(cond.l, text(a), text(b)),
    ("(%s ? %s : %s)"):format(cond.c, as(a, t), as(b, t)))
end

local function cast(n, want)
  local t = pick(types.list)
  if not is_kind(t, want) then t = want == "int" and I32 or F32 end
  return M.cast(M.any(n), t)
end

-- Bits of finite numbers only: those of a NaN are the engine's own.
local bitcasts <const> = {
  { I32, U32 }, { U64, I64 }, { types.u8, types.i8 }, { types.i16, types.u16 },
}
local function bitcast(n)
  local a = M.value(n, types.i16)
  if chance(50) then
    return new(U32, ("bitcast(cast(%s, f32), u32)"):format(a.l), ("bits_f32((float)%s)"):format(a.c))
  end
  local p = pick(bitcasts)
  local v = M.value(n, p[1])
  return new(p[2], ("bitcast(%s, %s)"):format(v.l, p[2].name), as(v, p[2]))
end

local ints = {
  infix("+", "add"), infix("-", "sub"), infix("*", "mul"), infix("+", "add"), infix("-", "sub"),
  infix("&", "and", "int"), infix("|", "or", "int"), infix("~", "xor", "int"),
  division("(%s // %s)", "div"), division("(%s %% %s)", "mod"), shift("(%s << %s)", "shl"),
  shift("(%s >> %s)", "shr"), shift("ashr(%s, %s)", "ashr"),
  division("cdiv(%s, %s)", "cdiv"), call_pair "min", call_pair "max", call_pair "mulhi",
  unary("(-%s)", "neg"), unary("(~%s)", "not", "int"), unary("abs(%s)", "abs"),
  bits "popc", bits "clz", bits "ffs", bits "brev", choice, cast, cast, bitcast,
}
local reals = {
  infix("+", "add"), infix("-", "sub"), infix("*", "mul"), infix("/", "quot"),
  infix("+", "add"), infix("*", "mul"), division("(%s // %s)", "div"), division("(%s %% %s)", "mod"),
  call_pair "min", call_pair "max", unary("(-%s)", "neg"), unary("abs(%s)", "abs"),
  unary("floor(%s)", "floor", "float"), unary("ceil(%s)", "ceil", "float"),
  unary("sqrt(%s)", "sqrt", "float"), fma, choice, cast, cast,
}

-- Functions that both engines compute by a text of their own.
for name in ("exp exp2 exp10 expm1 log log2 log10 log1p sin cos tanh sinh cosh asin acos atan erf erfc erfinv "
  .. "cbrt rsqrt trunc round rint"):gmatch "%S+" do
  reals[#reals + 1] = unary(name .. "(%s)", name, "float")
end
for name in ("hypot atan2 fmod copysign"):gmatch "%S+" do reals[#reals + 1] = call_pair(name) end

-- A value of any type, or of one that is `kind`; n: how deep it may be.
function M.any(n, kind)
  if n <= 0 or chance(15) then return leaf(kind) end
  kind = kind or (chance(70) and "int" or "float")
  local e = pick(kind == "int" and ints or reals)(n - 1, kind)
  return is_kind(e.t, kind) and e or leaf(kind)
end

-- A value of the type.
function M.value(n, t)
  return M.exactly(M.any(n, chance(80) and (t.float and "float" or "int") or nil), t)
end

-- {====== Truths ======

local tokens <const> = { "<", "<=", ">", ">=", "==", "~=" }

local function comparison(n)
  local a, b, t = pair(n, nil)
  local token = pick(tokens)
  return new(nil, ("(%s %s %s)"):format(text(a), token, text(b)),
    ("(%s %s %s)"):format(as(a, t), token == "~=" and "!=" or token, as(b, t)))
end

local function known_truth()
  if #M.scope.truths == 0 then return comparison(0) end
  local v = pick(M.scope.truths)
  return new(nil, v.l, v.c)
end

local truths = {
  comparison, comparison, comparison, comparison, known_truth,
  function(n)
    local a = M.truth(n)
    return new(nil, ("(not %s)"):format(a.l), ("(!%s)"):format(a.c))
  end,
  function(n)
    local a, b = M.truth(n), M.truth(n)
    return new(nil, ("(%s and %s)"):format(a.l, b.l), ("(%s && %s)"):format(a.c, b.c))
  end,
  function(n)
    local a, b = M.truth(n), M.truth(n)
    return new(nil, ("(%s or %s)"):format(a.l, b.l), ("(%s || %s)"):format(a.c, b.c))
  end,
}

function M.truth(n) return n <= 0 and comparison(0) or pick(truths)(n - 1) end

return M
