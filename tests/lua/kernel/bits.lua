-- popc, clz, ffs and brev of every integer type, against plain Lua; constants are folded to the same.
local function count(v)
  local n = 0
  while v ~= 0 do n, v = n + 1, v & (v - 1) end
  return n
end
local function expected(v, width)
  v = width == 64 and v or v & ((1 << width) - 1)
  local front, reversed = width, 0
  for i = 0, width - 1 do
    local bit = v >> i & 1
    front = bit == 1 and width - 1 - i or front
    reversed = reversed << 1 | bit
  end
  return count(v), front, v == 0 and 0 or count((v & -v) - 1) + 1, reversed
end

local values = {0, 1, -1, 2, 7, -2, 255, -256, 0x7fffffff, 0x55, 0x12345678, 65536, 4095}
local wide = {1 << 63, (1 << 63) - 1, 1 << 32, 0x123456789abcdef0, -(1 << 32)}
for _, case in ipairs{{i32, i32}, {u32, u32}, {i64, i64}, {u64, u64}, {i16, i32}, {i8, i32},
  {u16, i32}, {u8, i32}} do
  local T, C = case[1], case[2]
  local mask = T.bits == 64 and -1 or (1 << T.bits) - 1
  local list = {table.unpack(values)}
  if T.bits == 64 then table.move(wide, 1, #wide, #list + 1, list) end
  local signed = T == i32 or T == i64 or T == i16 or T == i8
  for i, v in ipairs(list) do -- into the type's range
    v = v & mask
    list[i] = signed and T.bits < 64 and v >> (T.bits - 1) == 1 and v - mask - 1 or v
  end
  local x = from_table(T, list)
  local n = #list
  local counts, reversed, folded = zeros(i32, {n, 3}), zeros(C, n), zeros(i32, {n, 4})
  kernel("bits", function(x, counts, reversed, folded)
    local i = threadIdx.x
    counts[{i, 0}] = popc(x[i])
    counts[{i, 1}] = clz(x[i])
    counts[{i, 2}] = ffs(x[i])
    reversed[i] = brev(x[i])
    -- Constants, and a block's value: other code of the CPU engine. (An i32 that is known while
    -- tracing is an integer of Lua.)
    for j, v in ipairs(list) do
      local same = cast(v, C) + cast(blockIdx.x, C)
      local const = C == i32 and same or C(v)
      if i == 0 then
        folded[{j - 1, 0}] = popc(const) * 100 + popc(same)
        folded[{j - 1, 1}] = clz(const) * 100 + clz(same)
        folded[{j - 1, 2}] = ffs(const) * 100 + ffs(same)
        folded[{j - 1, 3}] = where(brev(const) == brev(same), 1, 0)
      end
    end
  end){grid = 1, block = n}(x, counts, reversed, folded)
  local bad
  for i = 0, n - 1 do
    local p, c, f, r = expected(list[i + 1], C.bits)
    if C == i32 and r >= 1 << 31 then r = r - (1 << 32) end
    if counts[{i, 0}] ~= p or counts[{i, 1}] ~= c or counts[{i, 2}] ~= f or reversed[i] ~= r
      or folded[{i, 0}] ~= p * 101 or folded[{i, 1}] ~= c * 101 or folded[{i, 2}] ~= f * 101
      or folded[{i, 3}] ~= 1 then
      bad = bad or ("%d: %d %d %d %x"):format(list[i + 1], counts[{i, 0}], counts[{i, 1}],
        counts[{i, 2}], reversed[i])
    end
  end
  print(T, bad or "agrees")
end
-- expect: i32	agrees
-- expect: u32	agrees
-- expect: i64	agrees
-- expect: u64	agrees
-- expect: i16	agrees
-- expect: i8	agrees
-- expect: u16	agrees
-- expect: u8	agrees

-- An integer of Lua has 64 bits.
print(popc(-1), clz(1), ffs(8), ffs(0), brev(1) == math.mininteger) -- expect: 64	63	4	0	true

-- Counts are i32, whatever they count in; -brev of an i32 is an int again.
local y = zeros(i32, 3)
kernel("types", function(y, wide)
  y[0] = popc(wide[0]) + 1
  y[1] = where(brev(y[2] + 1) < 0, 1, 0)
end){grid = 1, block = 1}(y, from_table(u64, {-1}))
print(y[0], y[1])                        -- expect: 65	1
