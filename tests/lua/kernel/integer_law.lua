-- Each function of integers, on each pair of integer types and of values at the edges of their ranges, against exact
-- arithmetic: with both operands known only at run time, one of them a Lua number, both known while tracing, and
-- where the ranges of run-time values are known.
local types <const> = { i8, u8, i16, u16, i32, u32, i64, u64 }
local N_RANGES <const> = tonumber(arg[1] or 4) -- random ranges of each type; given one, all pairs of edges, too
local IS_WHOLE <const> = arg[1] ~= nil
local is_signed, mask = {}, {}
for _, T in ipairs(types) do
  is_signed[T] = T.name:sub(1, 1) == "i"
  mask[T] = T.bits == 64 and -1 or (1 << T.bits) - 1
end

-- {====== Exact arithmetic: integers of 64 bits stand for values of any type ======

local function wrapped(T, v)
  v = v & mask[T]
  local is_negative = is_signed[T] and T.bits < 64 and v >> (T.bits - 1) ~= 0
  return is_negative and v - (1 << T.bits) or v
end

local function less(T, a, b)
  if T == u64 then return math.ult(a, b) end
  return a < b
end

local function divided(T, a, b)
  if T ~= u64 then return a // b end
  if b < 0 then return less(u64, a, b) and 0 or 1 end
  local q = (a >> 1) // b << 1
  return less(u64, a - q * b, b) and q or q + 1
end

local function left_over(T, a, b) return a - divided(T, a, b) * b end

local function rounded_up(T, a, b)
  return divided(T, a, b) + (left_over(T, a, b) ~= 0 and 1 or 0)
end

local function shifted(T, a, n) -- to the left
  if n >= T.bits or n <= -T.bits then return 0 end
  return n >= 0 and (a & mask[T]) << n or (a & mask[T]) >> -n
end

local function shifted_right(T, a, n) return shifted(T, a, n == math.mininteger and 64 or -n) end

local function shifted_by_sign(T, a, n)
  if not is_signed[T] or n < 0 then return shifted_right(T, a, n) end
  if n >= T.bits - 1 then return a < 0 and -1 or 0 end
  return a // (1 << n)
end

local function high_half(T, a, b)
  if T.bits == 32 then return a * b >> 32 end
  local low, middle = (a & 0xffffffff) * (b & 0xffffffff), (a >> 32) * (b & 0xffffffff)
  middle = middle + (low >> 32)
  local other = (a & 0xffffffff) * (b >> 32) + (middle & 0xffffffff)
  local high = (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32)
  if not is_signed[T] then return high end
  return high - (a < 0 and b or 0) - (b < 0 and a or 0)
end

local function one_if(condition) return condition and 1 or 0 end

-- {====== The functions ======

-- in_kernel: what a script writes; exact: what it means in the type that both operands have.
local functions <const> = {
  { "+", function(a, b) return a + b end, function(_, a, b) return a + b end },
  { "-", function(a, b) return a - b end, function(_, a, b) return a - b end },
  { "*", function(a, b) return a * b end, function(_, a, b) return a * b end },
  { "//", function(a, b) return a // b end, divided, divides = true },
  { "%", function(a, b) return a % b end, left_over, divides = true },
  { "cdiv", function(a, b) return cdiv(a, b) end, rounded_up, divides = true },
  { "&", function(a, b) return a & b end, function(_, a, b) return a & b end },
  { "|", function(a, b) return a | b end, function(_, a, b) return a | b end },
  { "~", function(a, b) return a ~ b end, function(_, a, b) return a ~ b end },
  { "<<", function(a, b) return a << b end, shifted, shifts = true },
  { ">>", function(a, b) return a >> b end, shifted_right, shifts = true },
  { "ashr", function(a, b) return ashr(a, b) end, shifted_by_sign, shifts = true },
  { "min", function(a, b) return min(a, b) end,
    function(T, a, b) return less(T, a, b) and a or b end },
  { "max", function(a, b) return max(a, b) end,
    function(T, a, b) return less(T, a, b) and b or a end },
  { "mulhi", function(a, b) return mulhi(a, b) end, high_half },
  { "<", function(a, b) return where(a < b, 1, 0) end,
    function(T, a, b) return one_if(less(T, a, b)) end },
  { "<=", function(a, b) return where(a <= b, 1, 0) end,
    function(T, a, b) return one_if(not less(T, b, a)) end },
  { "==", function(a, b) return where(a == b, 1, 0) end,
    function(_, a, b) return one_if(a == b) end },
  { "-a", function(a) return -a end, function(_, a) return -a end, alone = true },
  { "~a", function(a) return ~a end, function(_, a) return ~a end, alone = true },
  { "abs", function(a) return abs(a) end,
    function(T, a) return is_signed[T] and a < 0 and -a or a end, alone = true },
}
local N_FUNCTIONS <const> = #functions

local function computed(T) return T.bits < 32 and i32 or T end

-- The type of a sum of both; nil: there is none.
local function common(T, U)
  local a, b = computed(T), computed(U)
  if not is_signed[T] and T.bits < 32 and not is_signed[b] then a = b end
  if not is_signed[U] and U.bits < 32 and not is_signed[a] then b = a end
  if is_signed[a] == is_signed[b] then return a.bits >= b.bits and a or b end
  return a ~= u64 and b ~= u64 and i64 or nil
end

-- The type in which f computes on a T and a U; nil: it refuses them.
local function type_of(f, T, U)
  local is_of_first = f.alone or (f.shifts and not is_signed[computed(T)])
  return is_of_first and computed(T) or common(T, U)
end

local function expected(f, C, a, b)
  if f.shifts and not is_signed[C] then
    b = b < 0 and 64 or b -- counts of unsigned numbers are unsigned
  else
    b = wrapped(C, b)
  end
  return wrapped(C, f[3](C, wrapped(C, a), b))
end

-- {====== Values ======

local function edges(T, is_few)
  local half, seen, list = 1 << (T.bits - 1), {}, {}
  local wanted = { 0, 1, -1, 2, 7, -7, half, half - 1, half + 1 }
  if not is_few then
    table.move({ -2, 3, -3, 8, -8, 31, 32, 63, 64, 100, 65536, half - 2, half >> 1, half // 3,
      1 << 31, (1 << 32) + 1 }, 1, 16, #wanted + 1, wanted)
  end
  for _, v in ipairs(wanted) do
    v = wrapped(T, v)
    if not seen[v] then
      seen[v] = true
      list[#list + 1] = v
    end
  end
  table.sort(list, function(a, b) return less(T, a, b) end)
  return list
end

local n_compared, n_wrong = {}, 0

local function compare(form, f, C, a, b, got)
  local want = expected(f, C, a, b)
  n_compared[form] = (n_compared[form] or 0) + 1
  if got == want then return end
  n_wrong = n_wrong + 1
  if n_wrong <= 20 then
    print(("%s: %d %s %d in %s is %d, expected %d"):format(form, a, f[1], b, C.name, got, want))
  end
end

-- Stores what all functions give of a T and a U where they have a result.
local function store_all(z, place, T, U, a, b)
  for j, f in ipairs(functions) do
    if type_of(f, T, U) then
      place[#place + 1] = j - 1
      if not f.divides then
        z[place] = cast(f[2](a, b), i64)
      elseif b ~= 0 then
        z[place] = cast(f[2](a, b), i64)
      end
      place[#place] = nil
    end
  end
end

local function compare_all(form, T, U, a, b, at)
  for j, f in ipairs(functions) do
    local C = type_of(f, T, U)
    if C and not (f.divides and b == 0) then compare(form, f, C, a, b, at(j - 1)) end
  end
end

-- {====== The forms ======

local function both_at_run_time(T, U)
  local is_few = not IS_WHOLE and (T ~= U or T.bits < 32)
  local A, B = edges(T, is_few), edges(U, is_few)
  local x, y, z = from_table(T, A), from_table(U, B), zeros(i64, { #A, #B, N_FUNCTIONS })
  kernel("pairs", function(x, y, z)
    store_all(z, { threadIdx.x, threadIdx.y }, T, U, x[threadIdx.x], y[threadIdx.y])
  end){ grid = 1, block = { #A, #B } }(x, y, z)
  z = z:to "cpu"
  for i, a in ipairs(A) do
    for k, b in ipairs(B) do
      compare_all("at run time", T, U, a, b, function(j) return z[{ i - 1, k - 1, j }] end)
    end
  end
end

local function both_known(T, U)
  local A, B = edges(T, true), edges(U, true)
  local z = zeros(i64, { #A, #B, N_FUNCTIONS })
  kernel("known", function(z)
    for i, a in ipairs(A) do
      for k, b in ipairs(B) do store_all(z, { i - 1, k - 1 }, T, U, cast(a, T), cast(b, U)) end
    end
  end){ grid = 1, block = 1 }(z)
  z = z:to "cpu"
  for i, a in ipairs(A) do
    for k, b in ipairs(B) do
      compare_all("known", T, U, a, b, function(j) return z[{ i - 1, k - 1, j }] end)
    end
  end
end

-- A Lua number has the other's type, or i64 if that does not hold it.
local function beside_number(T, numbers)
  local A, C = edges(T, not IS_WHOLE), computed(T)
  local x, z = from_table(T, A), zeros(i64, { #A, #numbers, 2, N_FUNCTIONS })
  local function type_beside(n) return (C == u64 or wrapped(C, n) == n) and C or i64 end
  kernel("numbers", function(x, z)
    local a = x[threadIdx.x]
    for k, n in ipairs(numbers) do
      for j, f in ipairs(functions) do
        if not f.alone and not (f.divides and n == 0) then
          z[{ threadIdx.x, k - 1, 0, j - 1 }] = cast(f[2](a, n), i64)
        end
        if not f.alone and not f.divides then
          z[{ threadIdx.x, k - 1, 1, j - 1 }] = cast(f[2](n, a), i64)
        elseif f.divides and a ~= 0 then
          z[{ threadIdx.x, k - 1, 1, j - 1 }] = cast(f[2](n, a), i64)
        end
      end
    end
  end){ grid = 1, block = #A }(x, z)
  z = z:to "cpu"
  for i, a in ipairs(A) do
    for k, n in ipairs(numbers) do
      local U = type_beside(n)
      for j, f in ipairs(functions) do
        local function at(order) return z[{ i - 1, k - 1, order, j - 1 }] end
        if not f.alone and not (f.divides and n == 0) then
          compare("number on the right", f, U, a, n, at(0))
        end
        if not f.alone and not (f.divides and a == 0) then
          compare("number on the left", f, U, n, a, at(1))
        end
      end
    end
  end
end

-- Values between bounds: the compiler knows their ranges and chooses by them what it computes.
local function in_ranges(T, list, a_from, a_to, b_from, b_to)
  local A, B = table.move(list, a_from, a_to, 1, {}), table.move(list, b_from, b_to, 1, {})
  local x, y, z = from_table(T, A), from_table(T, B), zeros(i64, { #A, #B, N_FUNCTIONS })
  kernel("ranges", function(x, y, z)
    local a = min(max(x[threadIdx.x], cast(A[1], T)), cast(A[#A], T))
    local b = min(max(y[threadIdx.y], cast(B[1], T)), cast(B[#B], T))
    store_all(z, { threadIdx.x, threadIdx.y }, T, T, a, b)
  end){ grid = 1, block = { #A, #B } }(x, y, z)
  z = z:to "cpu"
  for i, a in ipairs(A) do
    for k, b in ipairs(B) do
      compare_all("in ranges", T, T, a, b, function(j) return z[{ i - 1, k - 1, j }] end)
    end
  end
end

local function in_order(a, b) return math.min(a, b), math.max(a, b) end

for _, T in ipairs(types) do
  for _, U in ipairs(types) do
    both_at_run_time(T, U)
    if IS_WHOLE or (T.bits >= 32 and (T == U or U == i64)) then both_known(T, U) end
  end
end
for _, T in ipairs(types) do
  beside_number(T, edges(i64, true))
  beside_number(T, edges(i32, not IS_WHOLE))
  beside_number(T, edges(u32, true))
end
math.randomseed(32)
for _, T in ipairs { i32, u32, i64, u64 } do
  local list = edges(T)
  local function any() return in_order(math.random(#list), math.random(#list)) end
  for _ = 1, N_RANGES do
    local a_from, a_to = any()
    in_ranges(T, list, a_from, a_to, any())
  end
end

-- The host: of Lua's integers, alone and in tables.
for _, a in ipairs(edges(i64)) do
  for _, b in ipairs(edges(i64)) do
    local is_refused = b == 0 or (a == math.mininteger and b == -1)
    local ok, q = pcall(cdiv, a, b)
    local ok_in_table, quotients = pcall(cdiv, { a, { b } }, { b, { 1 } })
    if ok == is_refused or ok_in_table ~= ok then print("host", a, b, q, quotients) end
    if ok then
      compare("on the host", functions[6], i64, a, b, q)
      compare("on the host", functions[6], i64, a, b, quotients[1])
    end
  end
end

for _, form in ipairs { "at run time", "known", "number on the right", "number on the left",
  "in ranges", "on the host" } do
  assert(n_compared[form] > 1000, form)
end
print(n_wrong)  -- expect: 0
if IS_WHOLE then for form, n in pairs(n_compared) do print(form, n) end end

-- A number of tiles near 2^31, from an extent that only the launch knows.
local n, T = 2140000000, 1 << 27
local tiles = kernel("tiles", function(x, y)
  local g = tile(guard(x), T, _)
  y[0], y[1] = cdiv(size(x), T), size(g, 1)
  for _ in axes(g, 1) do y[2] = y[2] + 1 end
end)
local y = zeros(i64, 3)
tiles{ grid = 1, block = 1 }(view(zeros(u8, 1), layout(n, 0)), y)
print(y[0], y[1], y[2])  -- expect: 16	16	16
