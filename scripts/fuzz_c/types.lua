-- types.lua: the element types of random kernels: what C calls them, and the table of mixed types
-- in docs/kernels_values.md, as the reference has it.
local M = {}

local function int(name, bits, signed, c)
  return { name = name, bits = bits, c = c, int = true, signed = signed, narrow = bits < 32 }
end
local function float(name, bits, digits, c)
  return {
    name = name, bits = bits, c = c, float = true, digits = digits,
    signed = true, narrow = bits < 32,
  }
end

-- In the order in which tensors are passed and results are written.
M.list = {
  int("i32", 32, true, "int32_t"), int("i64", 64, true, "int64_t"),
  int("u32", 32, false, "uint32_t"), int("u64", 64, false, "uint64_t"),
  int("i8", 8, true, "int8_t"), int("u8", 8, false, "uint8_t"),
  int("i16", 16, true, "int16_t"), int("u16", 16, false, "uint16_t"),
  float("f16", 16, 11, "half_t"), float("f32", 32, 24, "float"), float("f64", 64, 53, "double"),
}
for i, t in ipairs(M.list) do
  M[t.name], t.place = t, i
end

-- What arithmetic makes of a narrow type.
function M.computed(t)
  return t.narrow and (t.float and M.f32 or M.i32) or t
end

local function beside(t, other)
  local u = M.computed(other)
  return t.narrow and t.int and not t.signed and u.int and not u.signed and u or M.computed(t)
end

-- The type of two operands of an operation; nil where they have none.
function M.common(a, b)
  local s, t = beside(a, b), beside(b, a)
  if (s.float or t.float) and not (s.float and t.float) then return s.float and s or t end
  if s.int and s.signed ~= t.signed then
    return s ~= M.u64 and t ~= M.u64 and M.i64 or nil
  end
  return s.bits >= t.bits and s or t
end

function M.least(t) return t.signed and -1 << (t.bits - 1) or 0 end
function M.most(t)
  if t.bits == 64 then return t.signed and math.maxinteger or -1 end
  return (1 << (t.bits - (t.signed and 1 or 0))) - 1
end

-- Does the type have the Lua integer? One of u64 says its 64 bits.
function M.fits(t, i) return t == M.u64 or (M.least(t) <= i and i <= M.most(t)) end

-- The type of a Lua number beside a value of type t, or that it has alone.
function M.of_number(n, t)
  t = t and M.computed(t)
  if math.type(n) == "float" then return t and t.float and t or M.f32 end
  if t and (t.float or M.fits(t, n)) then return t end
  return not t and M.fits(M.i32, n) and M.i32 or M.i64
end

-- May a value of type `is` become one of type `t` without a cast?
function M.converts(t, is)
  if t == is or (is.int and t.float and not t.narrow) then return true end
  if t.float or is.float then return t.float and is.float and is.digits <= t.digits end
  return is.bits + (t.signed and not is.signed and 1 or 0) <= t.bits and (t.signed or not is.signed)
end

return M
