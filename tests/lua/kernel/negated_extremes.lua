-- max(max(b, -a), c) keeps the sign of a: an assembler that makes one instruction of it may lose it.
local values = from_table(i32, {-7, -1, 0, 1, 5, 9, -2147483648, 2147483647})
local k = kernel("k", function(x, most, least, chosen)
  local i, j, n = threadIdx.x // 8, threadIdx.x % 8, blockIdx.x
  local a, b, c = x[i], x[j], x[n]
  local at = threadIdx.x + 64 * n
  most[at] = max(max(b, -a), c)
  least[at] = min(c, min(-a, b))
  local r = max(-a, b)
  if r < c then r = c end
  chosen[at] = r
end)
local most, least, chosen = zeros(i32, 512), zeros(i32, 512), zeros(i32, 512)
local launch = k{grid = 8, block = 64}
launch(values, most, least, chosen)
print(launch:source(values, most, least, chosen):find("= negated(a);", 1, true) ~= nil)     -- expect: true

local wrong = 0
for at = 0, 511 do
  local a, b, c = values[at % 64 // 8], values[at % 8], values[at // 64]
  a = a == -2147483648 and a or -a
  local want = math.max(a, b, c)
  local is_right = most[at] == want and chosen[at] == want and least[at] == math.min(a, b, c)
  if not is_right then wrong = wrong + 1 end
end
print(wrong)     -- expect: 0

-- So does a negated number that is widened: the least one stays as it is.
local widened = kernel("widened", function(x, y)
  local a = x[threadIdx.x]
  y[{threadIdx.x, 0}], y[{threadIdx.x, 1}] = cast(-a, i64), cast(0 - a, i64)
  y[{threadIdx.x, 2}], y[{threadIdx.x, 3}] = cast(-1 * a, i64), cast(-(threadIdx.x + 1), i64)
end)
local y = zeros(i64, {8, 4})
launch = widened{grid = 1, block = 8}
launch(values, y)
for j = 0, 2 do print(y[{6, j}], y[{7, j}], y[{0, j}]) end
-- expect: -2147483648	-2147483647	7
-- expect: -2147483648	-2147483647	7
-- expect: -2147483648	-2147483647	7
local source = launch:source(values, y)
print(source:find("widened((int)(0u - a))", 1, true) ~= nil)     -- expect: true
print(source:find("(long long)-(tid_x + 1)", 1, true) ~= nil)     -- expect: true
