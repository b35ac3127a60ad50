-- operands.lua: operands of SASS, as nvdisasm writes them, in C: what a lane `l` of the warp `w`
-- reads and writes. For instructions.lua; run.h has the names.
local M = {}

local RZ <const>, PT <const>, URZ <const> = 255, 7, 63
local NOWHERE <const>, NO_PREDICATE <const>, NO_UNIFORM <const> = 256, 8, 64

local special_floats <const> = {
  ["+INF"] = 0x7f800000, INF = 0x7f800000, ["-INF"] = 0xff800000, ["+QNAN"] = 0x7fffffff,
  QNAN = 0x7fffffff, ["-QNAN"] = 0xffffffff, ["+SNAN"] = 0x7fbfffff,
}

--- The operands of a text; commas within brackets part nothing.
function M.split(text)
  local list, depth, word = {}, 0, ""
  for c in (text:gsub("%.reuse", "") .. ","):gmatch "." do
    if c == "," and depth == 0 then
      if word:match "%S" then list[#list + 1] = word:match "^%s*(.-)%s*$" end
      word = ""
    else
      depth = depth + (c:match "[%[(]" and 1 or c:match "[%])]" and -1 or 0)
      word = word .. c
    end
  end
  return list
end

local function number(text) return math.tointeger(tonumber(text)) end
local function hex(n) return ("0x%xu"):format(n & 0xffffffff) end

--- The number of a register, or nil.
function M.register(o)
  if o == "RZ" or o == "SRZ" then return RZ end
  return number(o:match "^R(%d+)$")
end

function M.uniform(o)
  if o == "URZ" then return URZ end
  return number(o:match "^UR(%d+)$")
end

--- Its sign ("", "-", "~", "!"), what is behind it, and whether that is between bars.
function M.parts(o)
  if tonumber(o) then return "", o, false end
  local sign, rest = o:match "^([-~!]?)(.*)$"
  local abs = rest:match "^|(.*)|$"
  return sign, abs or rest, abs ~= nil
end

local function constant(bank, inner, more)
  assert(bank == "0x0", "bank " .. bank)
  local sum = {}
  for part in inner:gmatch "[^+%s]+" do
    sum[#sum + 1] = number(part) and hex(number(part)) or M.raw(part)
  end
  return ("constant(%s + %du)"):format(table.concat(sum, " + "), 4 * more)
end

--- The 32 bits of an operand without a sign; `more` 1: of the register after it.
function M.raw(o, more)
  more = more or 0
  local r, u = M.register(o), M.uniform(o)
  if r == RZ or u == URZ then return "0u" end
  if r then return ("w->R[%d][l]"):format(r + more) end
  if u then return ("w->UR[%d]"):format(u + more) end
  local bank, inner = o:match "^c%[(0x%x+)%]%[(.*)%]$"
  if bank then return constant(bank, inner, more) end
  if o:match "^%-?0x%x+$" then return hex(number(o) >> 32 * more) end
  error("operand " .. o, 0)
end

--- As an integer.
function M.int(o)
  local sign, rest, abs = M.parts(o)
  local x = M.raw(rest)
  if abs then x = ("(uint32_t)abs((int32_t)%s)"):format(x) end
  return sign == "-" and ("(0u - %s)"):format(x) or sign == "~" and ("(~%s)"):format(x) or x
end

--- As the bits of a float.
function M.float_bits(o)
  if not o:match "^[-+|~]*U?R" and not o:match "c%[" then
    if o:match "^0x" then return o .. "u" end
    local value = special_floats[o]
    return hex(value or (string.unpack("<I4", string.pack("<f", assert(tonumber(o), o)))))
  end
  local sign, rest, abs = M.parts(o)
  local x = M.raw(rest)
  if abs then x = ("(%s & 0x7fffffffu)"):format(x) end
  return sign == "-" and ("(%s ^ 0x80000000u)"):format(x) or x
end

function M.float(o) return ("as_f(%s)"):format(M.float_bits(o)) end

--- As an integer of 64 bits: a pair of registers.
function M.wide(o)
  local sign, rest = M.parts(o)
  local x = rest == "RZ" and "0ull" or ("pair(%s, %s)"):format(M.raw(rest), M.raw(rest, 1))
  return sign == "-" and ("(0ull - %s)"):format(x) or x
end

function M.double(o)
  if o:match "INF" then return o:match "^%-" and "-INFINITY" or "INFINITY" end
  if tonumber(o) and not o:match "^%-?0x" then return ("(%.17g)"):format(tonumber(o)) end
  local sign, rest, abs = M.parts(o)
  local x = ("as_d(pair(%s, %s))"):format(M.raw(rest), M.raw(rest, 1))
  if abs then x = "fabs(" .. x .. ")" end
  return sign == "-" and "-" .. x or x
end

--- Half of a pair, as a float.
function M.half(o, is_high, is_bf)
  local half = o:match "%.H([01])_H[01]"
  o = o:gsub("%.H[01]_H[01]", "")
  if tonumber(o) and not o:match "^%-?0x" then return ("(float)(%.17g)"):format(tonumber(o)) end
  local sign, rest, abs = M.parts(o)
  local at = (half == "1" or not half and is_high) and 16 or 0
  local x = ("%s((%s) >> %d & 0xffff)"):format(is_bf and "as_bf" or "as_h", M.raw(rest), at)
  if abs then x = "fabsf(" .. x .. ")" end
  return sign == "-" and "-" .. x or x
end

--- A predicate, as a mask of lanes.
function M.lanes(o)
  local no, u, n = o:match "^(!?)(U?)P([%dT])$"
  if not n then error("predicate " .. o, 0) end
  n = n == "T" and PT or number(n)
  local x = u == "U" and ("(w->UP[%d] ? ~0u : 0u)"):format(n) or ("w->P[%d]"):format(n)
  return no == "!" and "(~" .. x .. ")" or x
end

function M.of_lane(o) return ("(%s >> l & 1)"):format(M.lanes(o)) end
function M.is_predicate(o) return o ~= nil and o:match "^!?U?P[%dT]$" ~= nil end

--- The number of a predicate that is written.
function M.written(o)
  local n = o:match "P([%dT])$"
  return n == "T" and NO_PREDICATE or number(n)
end

--- Where a register is written.
function M.target(o)
  local r, u = M.register(o), M.uniform(o)
  if r then return r == RZ and NOWHERE or r end
  return nil, u == URZ and NO_UNIFORM or u
end

--- A statement that sets a register.
function M.set(o, value)
  local r, u = M.target(o)
  return (r and "w->R[%d][l] = %s;" or "w->UR[%d] = %s;"):format(r or u, value)
end

--- One that sets a pair.
function M.set_wide(o, value)
  local r, u = M.target(o)
  if r == NOWHERE or u == NO_UNIFORM then return ("(void)(%s);"):format(value) end
  local name = r and "w->R[%d][l]" or "w->UR[%d]"
  return ("{ uint64_t v_ = %s; %s = (uint32_t)v_; %s = (uint32_t)(v_ >> 32); }"):format(value,
    name:format(r or u), name:format((r or u) + 1))
end

--- The address between the last brackets of a text, as C; and, if it is simple, the register in it
--- (255: none), whether that is a pair, and the rest.
function M.address(text)
  local inner = text:match "%[([^%[%]]*)%]$"
  local sum, more, r, is_pair, is_simple = {}, {}, RZ, false, true
  for part in inner:gmatch "[^+]+" do
    local pair, scaled, scale = part:match "^(U?R%w+)%.64$", part:match "^(R%w+)%.X(%d+)$"
    local x
    if number(part) then x = ("(uint64_t)(int64_t)%d"):format(number(part))
    elseif pair then x = M.wide(pair)
    elseif scaled then x = ("(uint64_t)(%s * %su)"):format(M.raw(scaled), scale)
    else x = "(uint64_t)" .. M.raw((part:gsub("%.U32$", ""))) end
    sum[#sum + 1] = x
    local own = M.register(pair or part)
    if own and own ~= RZ then
      is_simple = is_simple and r == RZ
      r, is_pair = own, pair ~= nil
    elseif own ~= RZ then
      is_simple = is_simple and not scaled
      more[#more + 1] = x
    end
  end
  local all = #sum > 0 and table.concat(sum, " + ") or "0ull"
  if not is_simple then return all end
  return all, r, is_pair, #more > 0 and table.concat(more, " + ") or "0ull"
end

return M
