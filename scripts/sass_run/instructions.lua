-- instructions.lua: what instructions of SASS do, in C, for lanes `m` of a warp `w`. For
-- translate.lua. Each is a function(mods, operands, place, labels) -> C; mods has what is behind
-- the name: mods.U32, and in order mods[1], mods[2].
local operands = require "scripts.sass_run.operands"
local int, float, double, wide, raw = operands.int, operands.float, operands.double, operands.wide,
  operands.raw
local set, set_wide, register, of_lane = operands.set, operands.set_wide, operands.register,
  operands.of_lane
local is_predicate, lanes = operands.is_predicate, operands.lanes

local M = {
  ops = {},
  control = {}, -- they may leave the function
  access_of = {}, -- numbers of what is counted, by place
}
local ops, control = M.ops, M.control

-- What of a table the mods name, and its name.
local function pick_of(mods, values)
  for _, name in ipairs(mods) do
    if values[name] then return values[name], name end
  end
end

-- A statement for each lane, and predicates that it sets: {P0 = expression}. The expressions are
-- of before.
local function each(body, predicates)
  local before, after, inside = "", "", ""
  for o, value in pairs(predicates or {}) do
    local n = operands.written(o)
    if o:match "^U" then
      inside = inside .. ("w->UP[%d] = (%s) != 0; "):format(n, value)
    else
      before = before .. ("uint32_t p%d_ = 0; "):format(n)
      inside = inside .. ("p%d_ |= (uint32_t)((%s) != 0) << l; "):format(n, value)
      after = after .. (" w->P[%d] = (w->P[%d] & ~m) | p%d_;"):format(n, n, n)
    end
  end
  return ("%sFOR (m) { %s%s }%s"):format(before, inside, body, after)
end

local function one(o, value) return each(set(o[1], value)) end
local function one_wide(o, value) return each(set_wide(o[1], value)) end
local function one_float(o, value) return one(o, ("f_as(%s)"):format(value)) end
local function one_double(o, value) return one_wide(o, ("d_as(%s)"):format(value)) end

-- Values of all lanes in an array.
local function array(name, value, type)
  return ("%s %s[LANES] = {0}; FOR (m) { %s[l] = %s; } "):format(type or "uint32_t", name, name,
    value)
end

-- {====== Integers ======

local function take_predicates(o, at)
  local list = {}
  while is_predicate(o[at]) and not o[at]:find "!" do list[#list + 1] = table.remove(o, at) end
  return list
end

local function sum_of(o, carries)
  local parts = {}
  for i, x in ipairs(o) do
    local sign, rest, abs = operands.parts(x)
    local plain = abs and int("|" .. rest .. "|") or raw(rest)
    parts[i] = sign == "-" and ("((uint64_t)~%s & 0xffffffffu) + 1"):format(plain)
      or sign == "~" and ("(uint64_t)(~%s)"):format(plain) or "(uint64_t)" .. plain
  end
  for _, p in ipairs(carries) do parts[#parts + 1] = of_lane(p) end
  return table.concat(parts, " + ")
end

-- A sum with its carries: of the first predicate from 2^32 on, of the second from 2^33 on.
local function carried(d, predicates, sum)
  local flags = {}
  for i, p in ipairs(predicates) do
    if not p:match "PT$" then flags[p] = ("(%s) >> 32 >= %d"):format(sum, i) end
  end
  return each(set(d, ("(uint32_t)(%s)"):format(sum)), flags)
end

-- One operation on whole registers, which is compiled once; `get` is for other operands.
local function vector(how, d, o, get)
  local list, signs = {}, 0
  for i = 1, 3 do
    local sign, rest, abs = operands.parts(o[i] or "RZ")
    local r = register(rest)
    if r then
      list[i] = ("w->R[%d]"):format(r)
      signs = signs | (sign == "-" and 1 << (i - 1) or 0) | (abs and 8 << (i - 1) or 0)
    else
      list[i] = ("sass_splat(%d, %s)"):format(i - 1, get(o[i]))
    end
  end
  return ("sass_vector(%s, m, w->R[%d], %s, %d);"):format(how, (operands.target(d)),
    table.concat(list, ", "), signs)
end

local function is_plain(d, o, p, mods)
  return register(d) and #p == 0 and not mods.X and not table.concat(o, " "):find "[~|]"
end

function ops.IADD3(mods, o)
  local d = table.remove(o, 1)
  local p, carries = take_predicates(o, 1), {}
  while is_predicate(o[#o]) do table.insert(carries, 1, table.remove(o)) end
  if is_plain(d, o, p, mods) then return vector("V_IADD3", d, o, int) end
  return carried(d, p, sum_of(o, mods.X and carries or {}))
end

local function product_of(mods, a, b)
  if mods.U32 then return ("(uint64_t)%s * %s"):format(int(a), int(b)) end
  return ("(uint64_t)((int64_t)(int32_t)%s * (int32_t)%s)"):format(int(a), int(b))
end

function ops.IMAD(mods, o)
  local d = table.remove(o, 1)
  local p = take_predicates(o, 1)
  local carry = mods.X and " + " .. of_lane(o[4]) or ""
  if not mods.WIDE and not mods.HI then
    if is_plain(d, o, p, mods) then return vector("V_IMAD", d, { o[1], o[2], o[3] }, int) end
    return each(set(d, ("%s * %s + %s%s"):format(int(o[1]), int(o[2]), int(o[3]), carry)))
  end
  local product, flags = product_of(mods, o[1], o[2]), {}
  local sum = ("(%s) + %s%s"):format(product, wide(o[3]), carry)
  if p[1] then
    flags[p[1]] = ("((unsigned __int128)(%s) + %s) >> 64"):format(product, wide(o[3]))
  end
  if mods.HI then return each(set(d, ("(uint32_t)((%s) >> 32)"):format(sum)), flags) end
  return each(set_wide(d, sum), flags)
end

function ops.LEA(mods, o)
  local d = table.remove(o, 1)
  local p = take_predicates(o, 1)
  local i = mods.HI and not mods.SX32 and 4 or 3 -- of the shift
  local carry = mods.X and " + " .. of_lane(o[i + 1]) or ""
  local low = ("(uint32_t)(%s << %s)"):format(int(o[1]), int(o[i]))
  if mods.HI then
    local high = mods.SX32 and ("(uint32_t)((int32_t)%s >> 31)"):format(int(o[1])) or int(o[3])
    low = ("(uint32_t)(pair(%s, %s) << %s >> 32)"):format(int(o[1]), high, int(o[i]))
  end
  return carried(d, p, ("(uint64_t)%s + %s%s"):format(low, int(o[2]), carry))
end

function ops.LOP3(_, o)
  local p = is_predicate(o[1]) and table.remove(o, 1) or "PT"
  local value, flags = ("lop3(%s, %s, %s, %s)"):format(int(o[2]), int(o[3]), int(o[4]), o[5]), {}
  if not p:match "PT$" then
    flags[p] = ("%s != 0 || %s"):format(value, o[6] and of_lane(o[6]) or "0")
  end
  return each(set(o[1], value), flags)
end

function ops.PLOP3(_, o)
  local flags = {}
  for i = 1, 2 do
    if not o[i]:match "PT$" then
      flags[o[i]] = ("lop3(%s, %s, %s, %s) >> l & 1"):format(lanes(o[3]), lanes(o[4]), lanes(o[5]),
        o[5 + i])
    end
  end
  return each("", flags)
end

function ops.SHF(mods, o)
  local n = int(o[3])
  if mods.W then n = ("(%s & %d)"):format(n, (mods.U64 or mods.S64) and 63 or 31) end
  return one(o, ("(uint32_t)shf(%s, %s, %s, %s, %s, %s)"):format(tostring(mods.L or false),
    tostring(mods.S32 or mods.S64 or false), tostring(mods.HI or false), int(o[2]), n, int(o[4])))
end

function ops.VIADD(_, o) return one(o, int(o[2]) .. " + " .. int(o[3])) end
function ops.MOV(_, o) return one(o, int(o[2])) end
function ops.IABS(_, o) return one(o, ("(uint32_t)abs((int32_t)%s)"):format(int(o[2]))) end
function ops.POPC(_, o) return one(o, ("(uint32_t)__builtin_popcount(%s)"):format(int(o[2]))) end
function ops.BREV(_, o) return one(o, ("brev(%s)"):format(int(o[2]))) end
function ops.PRMT(_, o)
  return one(o, ("prmt(%s, %s, %s)"):format(int(o[2]), int(o[3]), int(o[4])))
end
function ops.SEL(_, o)
  return one(o, ("%s ? %s : %s"):format(of_lane(o[4]), int(o[2]), int(o[3])))
end

function ops.FLO(mods, o)
  local x = int(o[2])
  if not mods.U32 then x = ("((int32_t)%s < 0 ? ~%s : %s)"):format(x, x, x) end
  return one(o, ("%s == 0 ? ~0u : (uint32_t)(%s__builtin_clz(%s))"):format(x,
    mods.SH and "" or "31 - ", x))
end

local function min_max(mods, x, y, p)
  local type = mods.U32 and "(uint32_t)" or "(int32_t)"
  return ("(%s%s < %s%s) == (%s != 0) ? %s : %s"):format(type, x, type, y, of_lane(p), x, y)
end
function ops.VIMNMX(mods, o) return one(o, min_max(mods, int(o[2]), int(o[3]), o[4])) end
ops.IMNMX = ops.VIMNMX
function ops.VIADDMNMX(mods, o)
  return one(o, min_max(mods, ("(%s + %s)"):format(int(o[2]), int(o[3])), int(o[4]), o[5]))
end

function ops.IDP(mods, o)
  assert(mods["4A"], "IDP")
  return one(o, ("dp4a(%s, %s, %s, %s, %s)"):format(int(o[2]), int(o[3]), int(o[4]),
    tostring(mods[#mods - 1] == "S8"), tostring(mods[#mods] == "S8")))
end

-- {====== Comparisons ======

local compared <const> = { LT = "<", EQ = "==", LE = "<=", GT = ">", NE = "!=", GE = ">=" }
local joined <const> = { AND = "&&", OR = "||", XOR = "!=" }
local float_compared <const> = { LT = 1, EQ = 2, LE = 3, GT = 4, NE = 5, GE = 6, NUM = 7, NAN = 8,
  LTU = 9, EQU = 10, LEU = 11, GTU = 12, NEU = 13, GEU = 14 }

-- Two predicates: the test, and its opposite, each joined with a third.
local function set_pair(mods, o, test)
  local join, flags = pick_of(mods, joined) or "&&", {}
  for i, format in ipairs { "(%s) %s (%s != 0)", "(!(%s)) %s (%s != 0)" } do
    if not o[i]:match "PT$" then flags[o[i]] = format:format(test, join, of_lane(o[5])) end
  end
  return each("", flags)
end

function ops.ISETP(mods, o)
  local how, name = pick_of(mods, compared)
  local type = mods.U32 and "(uint32_t)" or "(int32_t)"
  local a, b = type .. int(o[3]), type .. int(o[4])
  local test = ("%s %s %s"):format(a, how, b)
  if mods.EX then -- the lower halves were compared before
    local strict, rest = how:sub(1, 1), ("%s == %s && %s"):format(a, b, of_lane(o[6]))
    test = name == "EQ" and rest
      or name == "NE" and ("%s != %s || %s"):format(a, b, of_lane(o[6]))
      or ("%s %s %s || (%s)"):format(a, strict, b, rest)
  end
  return set_pair(mods, o, test)
end

function ops.FSETP(mods, o)
  return set_pair(mods, o, ("compare(%d, %s, %s)"):format(pick_of(mods, float_compared),
    float(o[3]), float(o[4])))
end
function ops.DSETP(mods, o)
  return set_pair(mods, o, ("compare(%d, %s, %s)"):format(pick_of(mods, float_compared),
    double(o[3]), double(o[4])))
end

-- {====== Floats ======

local function float_vector(how)
  return function(_, o) return vector(how, o[1], { o[2], o[3], o[4] }, operands.float_bits) end
end
ops.FADD, ops.FMUL, ops.FFMA = float_vector "V_FADD", float_vector "V_FMUL", float_vector "V_FFMA"

function ops.DADD(_, o) return one_double(o, ("%s + %s"):format(double(o[2]), double(o[3]))) end
function ops.DMUL(_, o) return one_double(o, ("%s * %s"):format(double(o[2]), double(o[3]))) end
function ops.DFMA(_, o)
  return one_double(o, ("fma(%s, %s, %s)"):format(double(o[2]), double(o[3]), double(o[4])))
end
function ops.FMNMX(mods, o)
  return one(o, ("float_min_max(%s, %s, %s, %s)"):format(operands.float_bits(o[2]),
    operands.float_bits(o[3]), of_lane(o[4]), tostring(mods.NAN or false)))
end
function ops.FSEL(_, o)
  return one(o, ("%s ? %s : %s"):format(of_lane(o[4]), operands.float_bits(o[2]),
    operands.float_bits(o[3])))
end
function ops.FCHK(_, o)
  return each("", { [o[1]] = ("is_hard_division(%s, %s)"):format(float(o[2]), float(o[3])) })
end

local special <const> = { RCP = "1.0f / (%s)", RSQ = "1.0f / sqrtf(%s)", SQRT = "sqrtf(%s)",
  EX2 = "exp2f(%s)", LG2 = "log2f(%s)", SIN = "sinf(%s)", COS = "cosf(%s)", TANH = "tanhf(%s)" }
function ops.MUFU(mods, o)
  if mods.RCP64H then -- the upper half of a double
    return one(o, ("(uint32_t)(d_as(1.0 / as_d(pair(0u, %s))) >> 32)"):format(int(o[2])))
  end
  return one_float(o, assert(pick_of(mods, special), "MUFU"):format(float(o[2])))
end

local function as_double(mods, o)
  if mods.U64 or mods.S64 then
    return ("(double)(%s)(%s)"):format(mods.S64 and "int64_t" or "uint64_t", wide(o))
  end
  return ("(double)(%s)(%s)"):format(mods.U32 and "uint32_t" or "int32_t", int(o))
end
function ops.I2F(mods, o)
  local x = as_double(mods, o[2])
  if mods[1] == "F64" then return one_double(o, x) end
  return one_float(o, mods.RP and ("round_up(%s)"):format(x) or "(float)" .. x)
end
function ops.I2FP(mods, o) return one_float(o, "(float)" .. as_double(mods, o[2])) end

local rounded <const> = { TRUNC = "trunc", FLOOR = "floor", CEIL = "ceil" }
function ops.F2I(mods, o)
  local x = ("%s((double)%s)"):format(pick_of(mods, rounded) or "rint",
    mods.F64 and double(o[2]) or float(o[2]))
  if mods.U64 then return one_wide(o, ("to_u64(%s)"):format(x)) end
  return one(o, (mods.U32 and "to_u32(%s)" or "to_s32(%s)"):format(x))
end
function ops.FRND(mods, o)
  return one_float(o, ("%sf(%s)"):format(pick_of(mods, rounded) or "rint", float(o[2])))
end
function ops.F2F(mods, o)
  if mods[1] == "F64" then return one_double(o, "(double)" .. float(o[2])) end
  assert(mods[1] == "F32", "F2F")
  return one_float(o, "(float)" .. double(o[2]))
end
function ops.F2FP(mods, o)
  if mods.E4M3 and mods.PACK_AB_MERGE_C then
    return one(o, ("(%s & 0xffff) << 16 | e4m3_as(%s) << 8 | e4m3_as(%s)"):format(int(o[4]),
      float(o[2]), float(o[3])))
  end
  assert(mods.PACK_AB, "F2FP")
  local f = mods.BF16 and "bf_as" or "h_as"
  return one(o, ("%s(%s) << 16 | %s(%s)"):format(f, float(o[2]), f, float(o[3])))
end

-- An immediate of a pair is two operands, the upper first.
local function halves_of(o, n, is_high, is_bf)
  local list, i = {}, 2
  for k = 1, n do
    local is_pair = tonumber(o[i]) and not o[i]:match "0x"
    list[k] = operands.half(is_pair and not is_high and o[i + 1] or o[i], is_high, is_bf)
    i = i + (is_pair and 2 or 1)
  end
  return list
end
local function pairs_by(n, format)
  return function(mods, o)
    local is_bf = mods.BF16_V2 or mods.BF16
    local function side(is_high)
      return ("%s(%s)"):format(is_bf and "bf_as" or "h_as",
        format:format(table.unpack(halves_of(o, n, is_high, is_bf))))
    end
    return one(o, side(true) .. " << 16 | " .. side(false))
  end
end
ops.HMUL2, ops.HFMA2 = pairs_by(2, "%s * %s"), pairs_by(3, "fmaf(%s, %s, %s)")
local add_pairs <const> = pairs_by(2, "%s + %s")
function ops.HADD2(mods, o)
  if not mods.F32 then return add_pairs(mods, o) end
  local a = o[2] == "-RZ" and "-0.0f" or operands.half(o[2], false)
  return one_float(o, ("%s + %s"):format(a, operands.half(o[3], false)))
end

function ops.HMMA(mods, o)
  local k = mods[1]:match "^16816" and 16 or mods[1]:match "^1688" and 8
    or mods[1] == "1684" and 4
  assert(k, "HMMA." .. mods[1])
  local kind = mods.TF32 and 2 or mods.BF16 and 1 or 0
  return ("sass_hmma(w, %d, %d, %s, %d, %d, %d, %d);"):format(k, kind, tostring(not mods.F32),
    register(o[1]), register(o[2]), register(o[3]), register(o[4]))
end

-- {====== Special registers, and other lanes ======

local thread <const> = "(w->index * LANES + l)"
local registers <const> = {
  ["SR_TID.X"] = thread .. " % launch.shape[0]",
  ["SR_TID.Y"] = thread .. " / launch.shape[0] % launch.shape[1]",
  ["SR_TID.Z"] = thread .. " / launch.shape[0] / launch.shape[1]",
  ["SR_CTAID.X"] = "w->block->id[0]", ["SR_CTAID.Y"] = "w->block->id[1]",
  ["SR_CTAID.Z"] = "w->block->id[2]", SR_CgaCtaId = "0u", SR_LANEID = "l", SRZ = "0u",
  SR_LTMASK = "(1u << l) - 1", SR_EQMASK = "1u << l", SR_LEMASK = "(2u << l) - 1",
  SR_GTMASK = "~((2u << l) - 1)", SR_GEMASK = "~((1u << l) - 1)", SR_CLOCKLO = "(uint32_t)w->n",
  SR_VIRTID = "0u", SR_SWINHI = "0x10000000u",
}
function ops.S2R(_, o) return one(o, assert(registers[o[2]], o[2])) end
function ops.CS2R(mods, o)
  return (mods["32"] and one or one_wide)(o, assert(registers[o[2]], o[2]))
end
function ops.LDC(mods, o)
  if mods["64"] then return one_wide(o, wide(o[2])) end
  assert(#mods == 0, "LDC")
  return one(o, int(o[2]))
end
function ops.R2UR(_, o)
  return ("if (m != 0) { uint32_t l = (uint32_t)__builtin_ctz(m); %s }"):format(
    set(o[#o - 1], int(o[#o])))
end
function ops.P2R(_, o)
  local sum = {}
  for i = 0, 6 do sum[#sum + 1] = ("(w->P[%d] >> l & 1) << %d"):format(i, i) end
  return one(o, ("((%s) & %s) | (%s & ~%s)"):format(table.concat(sum, " | "), int(o[4]), int(o[3]),
    int(o[4])))
end
function ops.R2P(_, o)
  return each(("for (int i = 0; i < 7; i++) if (%s >> i & 1) "):format(int(o[3]))
    .. ("w->P[i] = (w->P[i] & ~(1u << l)) | (%s >> i & 1) << l;"):format(int(o[2])))
end

function ops.VOTE(mods, o)
  local d = not is_predicate(o[1]) and table.remove(o, 1)
  local code = ("uint32_t b_ = %s & m; "):format(lanes(o[2]))
  local test = mods.ALL and "b_ == m" or mods.EQ and "(b_ == m || b_ == 0)" or "b_ != 0"
  if d then code = code .. (register(d) and each(set(d, "b_")) or set(d, "b_")) end
  if o[1]:match "PT$" then return code end
  local n = operands.written(o[1])
  if o[1]:match "^U" then return code .. (" w->UP[%d] = %s;"):format(n, test) end
  return code .. (" w->P[%d] = (w->P[%d] & ~m) | (%s ? m : 0);"):format(n, n, test)
end

local shuffles <const> = { IDX = 0, UP = 1, DOWN = 2, BFLY = 3 }
function ops.SHFL(mods, o)
  return array("from_", int(o[4])) .. array("clamp_", int(o[5]))
    .. ("sass_shuffle(w, m, %d, %d, %d, from_, clamp_, %d);"):format(pick_of(mods, shuffles),
      (operands.target(o[2])), register(o[3]), operands.written(o[1]))
end
function ops.MATCH(mods, o)
  assert(mods.ANY, "MATCH")
  return ("sass_match(w, m, %d, %d, %s);"):format((operands.target(o[#o - 1])), register(o[#o]),
    tostring(mods.U64 or false))
end
local reductions <const> = { OR = "v_ | x_", AND = "v_ & x_", SUM = "v_ + x_", XOR = "v_ ^ x_",
  MIN = "T(x_) < T(v_) ? x_ : v_", MAX = "T(x_) > T(v_) ? x_ : v_" }
function ops.REDUX(mods, o)
  local f = pick_of(mods, reductions) or reductions.SUM
  f = f:gsub("T%(", mods.S32 and "(int32_t)(" or "(uint32_t)(")
  return ("bool any_ = false; uint32_t v_ = 0; FOR (m) { uint32_t x_ = %s; "):format(int(o[2]))
    .. ("v_ = any_ ? (%s) : x_; any_ = true; } %s"):format(f, set(o[1], "v_"))
end

-- {====== Memory ======

local function bits_of(mods)
  return (mods.U8 or mods.S8) and 8 or (mods.U16 or mods.S16) and 16 or mods["64"] and 64
    or mods["128"] and 128 or 32
end

local spaces <const> = { LDS = "SHARED", STS = "SHARED", LDG = "GLOBAL", STG = "GLOBAL",
  LD = "GENERIC", ST = "GENERIC", LDL = "LOCAL", STL = "LOCAL" }

local function access(name, mods, text, r, at)
  local all, base, is_pair, more = operands.address(text)
  local before = ""
  if not base then
    before, base, is_pair, more = array("at_", all, "uint64_t"), 255, false, "0ull"
  end
  local is_signed = mods.S8 or mods.S16 or false
  local fields = { spaces[name], tostring(name:find "^S" ~= nil), base, tostring(is_pair), more,
    before == "" and "NULL" or "at_", r, bits_of(mods), tostring(is_signed), M.access_of[at] or -1 }
  return before .. ("sass_access(w, m, (SassAccess){%s});"):format(table.concat(fields, ", "))
end
for _, name in ipairs { "LDG", "LDS", "LD", "LDL" } do
  ops[name] = function(mods, o, at)
    while is_predicate(o[1]) do table.remove(o, 1) end
    return access(name, mods, o[2], register(o[1]), at)
  end
end
for _, name in ipairs { "STG", "STS", "ST", "STL" } do
  ops[name] = function(mods, o, at) return access(name, mods, o[1], register(o[2]), at) end
end

-- A copy whose predicate is false reads nothing, and writes zeros.
function ops.LDGSTS(mods, o, at)
  return array("from_", (operands.address(o[2])), "uint64_t")
    .. array("to_", "(uint32_t)(" .. operands.address(o[1]) .. ")", "uint64_t")
    .. ("sass_copy(w, m, m & %s, from_, to_, %d, %d);"):format(o[3] and lanes(o[3]) or "~0u",
      bits_of(mods) // 8, M.access_of[at] or -1)
end
function ops.LDSM(mods, o)
  return array("at_", "(uint32_t)(" .. operands.address(o[2]) .. ")")
    .. ("sass_load_matrices(w, m, at_, %s, %s, %d);"):format(mods[#mods]:match "^%d$" or "1",
      tostring(mods.MT88 or false), register(o[1]))
end

local combined <const> = { ADD = "A_ADD", MIN = "A_MIN", MAX = "A_MAX", AND = "A_AND", OR = "A_OR",
  XOR = "A_XOR", EXCH = "A_EXCH", INC = "A_INC", CAS = "A_CAS" }
local types <const> = { U64 = "T_U64", S64 = "T_S64", ["64"] = "T_U64", F64 = "T_F64",
  F32 = "T_F32", F16x2 = "T_F16X2", BF16_V2 = "T_BF16X2", S32 = "T_S32" }

-- CAS is shown with the first register of an address of 64 bits.
local function place_of(mods, text)
  if not mods.CAS or not mods.E or text:find(".64", 1, true) then return text end
  return (text:gsub("%[(R%d+)", "[%1.64"))
end

local function atomic(place, returns)
  return function(mods, o)
    while is_predicate(o[1]) do table.remove(o, 1) end
    local d = returns and table.remove(o, 1) or "RZ"
    local how, type = assert(pick_of(mods, combined), "atomic"), pick_of(mods, types) or "T_U32"
    local get = type:match "64" and wide or int
    local value = mods.POPC and "1u" or get(o[mods.CAS and 3 or 2])
    local at = place:format((operands.address(place_of(mods, o[1]))))
    local call = ("sass_atomic(%s, %s, %s, %s, %s)"):format(at,
      mods.POPC and "A_ADD" or how, type, value, mods.CAS and get(o[2]) or "0")
    return each(type:match "64" and set_wide(d, call) or set(d, "(uint32_t)" .. call))
  end
end
local in_shared <const>, in_global <const>, anywhere <const> = "shared_at(w, (uint32_t)(%s))",
  "(unsigned char *)(uintptr_t)(%s)", "generic_at(w, %s)"
ops.ATOMS, ops.ATOMG, ops.ATOM = atomic(in_shared, true), atomic(in_global, true),
  atomic(anywhere, true)
ops.RED, ops.REDG = atomic(anywhere, false), atomic(in_global, false)

for _, name in ipairs { "NOP", "YIELD", "NANOSLEEP", "MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL",
  "DEPBAR", "LDGDEPBAR", "FENCE", "ENDCOLLECTIVE", "PREEXIT", "ACQBULK", "BMOV" } do
  ops[name] = function() return "" end
end

-- {====== Control ======

local function target_of(o, labels) return assert(labels[o:match "`%((.-)%)"], o) end

-- A warp is together where shuffles are, so that the way for others is not taken.
function control.BRA(mods, o, at, labels)
  if mods.DIV then return "" end
  local to, taken = target_of(o[#o], labels), o[2] and ("(m & %s)"):format(lanes(o[1])) or "m"
  return ("uint32_t t_ = %s; "):format(taken)
    .. ("if (t_ == mask && 0x%xu < stop && ++turns < MAX_TURNS) goto L_%x; "):format(to, to)
    .. ("if (t_ != 0) { sass_part(w, mask, t_, 0x%xu, 0x%xu); return; }"):format(to, at + 16)
end
function control.CALL(_, o, at, labels)
  return ("if (m != 0) { sass_part(w, mask, m, 0x%xu, 0x%xu); return; }"):format(
    target_of(o[#o], labels), at + 16)
end
function control.RET(_, o, at)
  return ("if (m != 0) { sass_go(w, mask, 0x%xu); FOR (m) { w->pc[l] = %s; } return; }"):format(
    at + 16, raw((o[1]:match "^%S+")))
end

-- Lanes of m wait, or are over.
local function wait(state, named, at)
  return ("if (m != 0) { sass_wait(w, mask, m, 0x%xu, %s, %s); return; }"):format(at + 16, state,
    named)
end
local function barrier_of(o) return assert(o:match "^B(%d+)$", o) end
function control.EXIT(_, _, at) return wait("EXITED", "0", at) end
function control.BSSY(_, o) return ("w->B[%s] = mask;"):format(barrier_of(o[1])) end
function control.BREAK(_, o)
  local some = o[2] and ("(m & %s)"):format(lanes(o[1])) or "m"
  return ("w->B[%s] &= ~%s;"):format(barrier_of(o[#o]), some)
end
function control.BSYNC(_, o, at) return wait("WAITS_REJOIN", barrier_of(o[1]), at) end
function control.WARPSYNC(mods, o, at)
  if mods.COLLECTIVE then return "sass_stop(\"a collective\", 0);" end
  if mods.ALL then return wait("WAITS_WARP", "w->live", at) end
  return ("FOR (m) { w->named[l] = %s; } "):format(int(o[1])) .. wait("WAITS_WARP",
    "w->named[__builtin_ctz(m)]", at)
end
function control.BAR(mods, o, at)
  local id, count = o[1] and int(o[1]) or "0u", o[2] and int(o[2]) or "0u"
  local first = "if (m != 0) { uint32_t l = (uint32_t)__builtin_ctz(m); (void)l; "
  if mods.ARV then return first .. ("sass_arrive(w, m, %s, %s); }"):format(id, count) end
  assert(mods.SYNC, "BAR")
  return first .. ("sass_arrive(w, 0, %s, %s); "):format(id, count)
    .. ("sass_wait(w, mask, m, 0x%xu, WAITS_BLOCK, %s); return; }"):format(at + 16, id)
end

return M
