-- Sums of collectives on the CPU mesh: in the documented order of the ring, rounded to the type of
-- the tensors after each addition; compared with plain Lua.
device "cpu:5"
local m = mesh{ ring = 5 }
local N <const> = 13 -- chunks of 3, 3, 3, 3 and 1

local float_types <const> = { f64, f32, f16, bf16, f8e4m3, f8e5m2 }
local int_types <const> = { i64, i32, i16, i8, u64, u32, u16, u8 }

-- The number as an element of the type has it.
local function rounded(v, dtype)
  return reference.cast(from_table(f64, { v }), dtype)[0]
end

local function wrapped(v, dtype)
  return reference.cast(from_table(i64, { v }), dtype)[0]
end

local operations = {
  sum = function(a, b) return a + b end, max = math.max, min = math.min,
}

-- Element i of g ranks: chunk c begins with place c + 1 and ends with place c.
local function expected(inputs, i, chunk, op, round, dtype)
  local g = #inputs
  local c = i // chunk
  local v = inputs[(c + 1) % g + 1][i + 1]
  for k = 2, g do v = round(operations[op](v, inputs[(c + k) % g + 1][i + 1]), dtype) end
  return v
end

local function check(dtype, values, round)
  local inputs, results, parts = {}, {}, {}
  for rank = 0, 4 do inputs[rank + 1] = from_table(dtype, values(rank)):totable() end
  for op in pairs(operations) do
    m:run(function(r)
      local t, part = from_table(dtype, inputs[r.rank + 1]), tensor(dtype, N)
      r:all_reduce(t, "ring", op)
      results[r.rank] = t:totable()
      local long = tensor(dtype, { N, 5 })
      for i = 0, 4 do copy(from_table(dtype, inputs[r.rank + 1]), long(_, i)) end
      r:reduce_scatter(long, part, "ring", op)
      parts[r.rank] = part:totable()
    end)
    for i = 0, N - 1 do
      local want = expected(inputs, i, 3, op, round, dtype)
      for rank = 0, 4 do
        assert(results[rank][i + 1] == want, ("%s %s: element %d of rank %d is %s, not %s"):format(
          dtype, op, i, rank, results[rank][i + 1], want))
        -- Part i of reduce_scatter is chunk i.
        local v = expected(inputs, i, N, op, round, dtype)
        local g, chunk_v = 5, inputs[(rank + 1) % 5 + 1][i + 1]
        for k = 2, g do
          chunk_v = round(operations[op](chunk_v, inputs[(rank + k) % g + 1][i + 1]), dtype)
        end
        assert(parts[rank][i + 1] == chunk_v and (rank > 0 or v == chunk_v))
      end
    end
  end
end

for _, dtype in ipairs(float_types) do
  check(dtype, function()
    return randn(f64, N):totable()
  end, rounded)
end
for _, dtype in ipairs(int_types) do
  local top = dtype == u64 and math.maxinteger or dtype.bits == 64 and math.maxinteger
    or 2 ^ (dtype.bits - (tostring(dtype):find "u" and 0 or 1)) - 1
  check(dtype, function(rank)
    local t = {}
    for i = 1, N do t[i] = math.tointeger(top // (i + rank)) end
    return t
  end, wrapped)
end
print("in the order of the ring") -- expect: in the order of the ring

-- The order shows: 1 + 2^24 is 2^24 in f32.
local function sums_of(values)
  return m:run(function(r)
    local t = full(f32, 5, values[r.rank + 1])
    r:all_reduce(t)
    return t
  end)[0]
end
print(table.concat(sums_of{ 2 ^ 24, 1, 1, -2 ^ 24, 0 }:totable(), " ")) -- expect: 2.0 2.0 2.0 0.0 0.0

-- Too large sums: infinite, or the largest number of a type that has no infinity.
local function one_sum(dtype, v)
  return m:run(function(r)
    local t = full(dtype, 1, v)
    r:all_reduce(t)
    return t[0]
  end)[0]
end
print(one_sum(f16, 60000), one_sum(f8e4m3, 400), one_sum(f8e5m2, 50000)) -- expect: inf	448.0	57344.0
print(one_sum(bf16, 1 / 0), one_sum(tf32, 0.5), one_sum(i8, 100)) -- expect: inf	2.5	-12

-- Of bool there are extremes.
print(m:run(function(r)                     -- expect: true
  local t = full(bool, 1, r.rank == 3)
  r:all_reduce(t, "ring", "max")
  return t[0]
end)[0])
print(m:run(function(r)                     -- expect: 0.25
  local t = full(f32, 1, r.rank == 3 and 0 / 0 or 0.25)
  r:all_reduce(t, "ring", "max")
  return t[0]
end)[3])
