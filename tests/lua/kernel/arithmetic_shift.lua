-- ashr keeps the sign, >> does not: both engines' text, every count, constants and run-time values.
local values = { 0, 1, -1, 7, -8, 255, -256, 0x7fffffff, -0x80000000 }
local counts = { 0, 1, 7, 24, 31, 32, 33, 100, -1, -31, -32, -100 }

-- The same by division, of `width` bits.
local function expected(v, n, width)
  if n < 0 then
    local left = n > -width and v << -n or 0
    return width == 64 and left or (left + 2^31 // 1 | 0) % (1 << 32) - (1 << 31)
  end
  return n >= width - 1 and (v < 0 and -1 or 0) or v // (1 << n)
end

for _, T in ipairs { i32, i64 } do
  local m, n = #values, #counts
  local x, c = from_table(T, values), from_table(i32, counts)
  local by_value, by_number = zeros(T, { m, n }), zeros(T, { m, n })
  kernel("shifts", function(x, c, by_value, by_number)
    local i = threadIdx.x
    for j = 0, n - 1 do
      by_value[{ i, j }] = ashr(x[i], c[j])
      by_number[{ i, j }] = ashr(x[i], counts[j + 1])
    end
  end){grid = 1, block = m}(x, c, by_value, by_number)
  for i, v in ipairs(values) do
    for j, count in ipairs(counts) do
      local want = expected(v, count, T.bits)
      local at = { i - 1, j - 1 }
      if by_value[at] ~= want or by_number[at] ~= want then
        print(T, v, count, by_value[at], by_number[at], want)
      end
      if T == i64 and ashr(v, count) ~= want then print("host", v, count, ashr(v, count), want) end
    end
  end
end

-- A narrow value is an i32; an unsigned one has no sign.
local bytes, words = from_table(i8, { -128, -1 }), from_table(u32, { 0x80000000, 0xffffffff })
local out = zeros(i32, 2)
local k = kernel("types", function(bytes, words, out)
  local i = threadIdx.x
  out[i] = ashr(bytes[i], 3)
  words[i] = ashr(words[i], 28)
  if i == 0 then printf("%d %d\n", ashr(bytes[0] + 0, 1), (bytes[0] + 0) >> 28) end
end)
k{grid = 1, block = 2}(bytes, words, out)  -- expect: -64 15
print(out[0], out[1], words[0], words[1])  -- expect: -16	-1	8	15

-- A known count is one shift; a count that may be anything is a call.
local plain = kernel("plain", function(x) x[0] = ashr(x[0], 4) + ashr(x[1], x[2]) end)
local text = plain{grid = 1, block = 1}:source(zeros(i32, 3))
print(text:match "x%[0%] >> 4", text:match "arithmetic_shift%(x%[1%], x%[2%]%)")
-- expect: x[0] >> 4	arithmetic_shift(x[1], x[2])
print((select(2, pcall(ashr, 1.5, 2)):gsub("^.-:%d+: ", "")))  -- expect: ashr: integers expected, got 1.5
