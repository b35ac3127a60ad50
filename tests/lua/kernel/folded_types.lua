-- An expression has the same type and value, whether or not a part of it is known while tracing. Each pair
-- computes the same of constants and of numbers of the launch, which no trace knows.
local o, big = zeros(i64, 64), 100000

local function run(f, ...)
  kernel("folded", f){grid = 1, block = 1}(o, ...)
end

local function show(n)
  local t = o:totable()
  print(table.concat(t, " ", 1, n))
end

-- Constants of a type keep it: casts, variables that begin with one, products with an i32.
run(function(o, v)
  local one, sum = i64(1), i64(0)
  sum = sum + 1
  o[0] = i64(1) * v * v
  o[1] = cast(1, i64) * v * v
  o[2] = one * v * v
  o[3] = sum * v * v
  o[4] = (i64(0) + 1) * v * v
  o[5] = u32(0) - v
end, big)
show(6) -- expect: 10000000000 10000000000 10000000000 10000000000 10000000000 -100000

-- A plain number of Lua adapts to what is beside it.
run(function(o, v)
  local u = cast(v, u32)
  o[0] = 1 * v * v
  o[1] = u - (0 + 1)
  o[2] = v + 4294967296
end, big)
show(3) -- expect: 1410065408 99999 4295067296

-- What folds has the type of its operands: x * 0, x & 0, x - x, x % 1, 0 // x beside other types.
run(function(o, v, zero)
  local u = cast(v, u32) - v
  o[0], o[1] = clz(v - v), clz(v * zero)
  o[2], o[3] = popc((v & 0) - 1), popc((v & zero) - 1)
  o[4], o[5] = cast(u, u32) - ((v & 0) + 1), cast(u, u32) - ((v & zero) + 1)
  o[6], o[7] = (v * 0 + 2147483647) + 1, (v * zero + 2147483647) + 1
  o[8], o[9] = cast(0 * v, i64) + 2147483647 + v, cast(zero * v, i64) + 2147483647 + v
  o[10], o[11] = (v % 1 - 1) * v * v, (v * zero - 1) * v * v
  o[12], o[13] = bitcast(bitcast(v - v, f32), i32), bitcast(bitcast(v * zero, f32), i32)
end, big, 0)
show(14) -- expect: 32 32 32 32 -1 -1 -2147483648 -2147483648 2147583647 2147583647 -1410065408 -1410065408 0 0

-- What is refused at run time is refused.
local bytes = zeros(i8, 4)
local function why(f)
  local _, message = pcall(function() kernel("folded", f){grid = 1, block = 1}(bytes, 7, 0) end)
  print((message:gsub("^.-:%d+: ", "")))
end
why(function(x, v, _) x[0] = v - v end) -- expect: store to x: i8 expected, got i32; use cast(x, i8)
why(function(x, v, zero) x[0] = v * zero end) -- expect: store to x: i8 expected, got i32; use cast(x, i8)
why(function(x, v, _) x[0] = v // (v - v) end) -- expect: attempt to perform 'n//0'
why(function(x, v, _) x[0] = (v - v) / 2 end) -- expect: '/' of two integers makes a Lua float; use '//' or cast(x, f32) / y

-- It is known while tracing all the same: the key of a table, the bound of a loop, an index of registers, an
-- argument of Lua's libraries.
local double = static_fn(function(n) return 2 * n, math.type(n) end)
run(function(o, v)
  local zero, two = v - v, i64(2)
  local t = {[zero] = 5, [zero + 1] = 6}
  t[two] = 7
  o[0], o[1], o[2] = t[0], t[1], t[zero + 2]
  local r = fragment(i32, {two})
  for i = zero, two - 1 do r[i] = 10 end
  o[3] = r[zero] + r[zero + 1]
  local n = 0
  for _ in unroll(0, two) do n = n + 1 end
  o[4] = n
  print(two, tostring(zero), "n" .. two, ("%d"):format(two), math.type(two), type(two))
  print(select(two, "a", "b"), ("x"):rep(two), table.concat({1, two, 3}, ","), double(two))
  if zero == 0 then o[5] = 1 end
  for i = i64(2000000000), i64(2000000000) do o[6] = i * 2 end
  assert(math.tointeger(two) == 2)
  for i in range(i64(2000000000), i64(2000000001)) do o[7] = i * 2 end
end, big)
-- expect: 2	0	n2	2	integer	number
-- expect: b	xx	1,2,3	4	integer
show(8) -- expect: 5 6 7 20 2 1 4000000000 4000000000

-- A choice whose condition is known has the type of both sides, as one at run time.
run(function(o, v, zero)
  local u = cast(v, u64)
  o[0] = cast(max(where(v - v ~= 0, u, 0), -2), i64)
  o[1] = cast(max(where(v * zero ~= 0, u, 0), -2), i64)
  o[2] = where(v - v == 0, 1, i64(v)) * v * v
  o[3] = where(v * zero == 0, 1, i64(v)) * v * v
end, big, 0)
show(4) -- expect: -2 -2 10000000000 10000000000

-- The count of an unsigned shift has no sign.
run(function(o, v)
  o[0], o[1] = cast(u64(-1) << -48, i64), cast(cast(v, u64) << -48, i64)
  o[2], o[3] = cast(u64(-1) >> -48, i64), cast(cast(v, u64) >> -48, i64)
  o[4], o[5] = cast(u64(-1) << 48, i64), cast(cast(v, u64) << 48, i64)
end, -1)
show(6) -- expect: 0 0 0 0 -281474976710656 -281474976710656

-- abs of the smallest integer is that integer, so nothing is decided by abs(x) >= 0.
run(function(o, v)
  o[0], o[1] = where(abs(v) >= 0, 1, 0), where(abs(v) + 1 > -7, 1, 0)
  o[2], o[3] = abs(v) // 16, abs(v) % 1000
end, -2147483647 - 1)
show(4) -- expect: 0 0 -134217728 352

-- A vote has 32 bits, and its sign when it is cast.
local votes = zeros(i32, 64)
kernel("votes", function(x, votes)
  local b = ballot(x[threadIdx.x] == 0)
  votes[threadIdx.x] = where(cast(b, i32) >= threadIdx.x, 1, 0) + where(b + 1 > 0, 2, 0)
end){grid = 1, block = 64}(zeros(i32, 64), votes)
print(votes[0], votes[40]) -- expect: 0	0
