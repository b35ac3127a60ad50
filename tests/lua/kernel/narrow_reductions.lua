-- Reductions and scans of narrow types compute in f32 or i32, whatever is reduced: a tensor of known size or not, a
-- fragment, the threads of a warp or block, the lanes of a mask, and records of such values.
local types <const> = { f16, bf16, tf32, f8e4m3, f8e5m2, u8, i8, u16, i16 }
local combine <const> = {
  add = function(a, b) return a + b end,
  mul = function(a, b) return a * b end,
  min = math.min,
  max = math.max,
  ["and"] = function(a, b) return a & b end,
  ["or"] = function(a, b) return a | b end,
  xor = function(a, b) return a ~ b end,
}
local N <const> = 96

-- Numbers that all types hold, and whose sums the widest narrow type does not.
local function number(op, i)
  if op == "mul" then return i % 31 == 0 and 2 or 1 end
  return op == "add" and 96 or i * 7 % 5 + 1
end

local function folded(op, first, last)
  local r = number(op, first)
  for i = first + 1, last do r = combine[op](r, number(op, i)) end
  return r
end

-- {name, what is stored, how much of the tensor is meant}
local forms <const> = {
  { "reduce(t)", function(x, op) return reduce(x, op) end, N },
  { "reduce(t) of known size", function(x, op) return reduce(view(x, layout(N)), op) end, N },
  { "reduce of a part", function(x, op) return reduce(tile(x, 6, 0), op) end, 6 },
  { "reduce of one", function(x, op) return reduce(tile(x, 1, 0), op) end, 1 },
  { "reduce with a first value", function(x, op)
    local one = cast(number(op, 0), x.dtype)
    return op == "mul" and reduce(tile(x, 6, 0), op, one) // 2 or
      op == "add" and reduce(tile(x, 6, 0), op, one) - 96 or reduce(tile(x, 6, 0), op, one)
  end, 6, skips = { xor = true } },
  { "warp_reduce", function(x, op) return warp_reduce(x[threadIdx.x], op) end, 32 },
  { "warp_reduce of 1", function(x, op) return warp_reduce(x[threadIdx.x], op, 1) end, 1 },
  { "warp_reduce of a mask", function(x, op)
    return warp_reduce(x[threadIdx.x], op, { mask = 0xffffffff })
  end, 32 },
  { "block_reduce", function(x, op) return block_reduce(x[threadIdx.x], op) end, N },
  { "warp_scan", function(x, op) return warp_scan(x[threadIdx.x], op) end, 1 },
  { "block_scan", function(x, op) return select(2, block_scan(x[threadIdx.x], op)) end, N },
  { "exclusive block_scan", function(x, op)
    return select(2, block_scan(x[threadIdx.x], op, { exclusive = true, init = 1 }))
  end, N },
  { "block_reduce of records", function(x, op)
    local f = combine[op]
    if op == "min" or op == "max" then f = op == "min" and min or max end
    return block_reduce({ v = x[threadIdx.x] }, function(a, b) return { v = f(a.v, b.v) } end).v
  end, N },
}

local n_same, n_wrong = 0, 0
for _, T in ipairs(types) do
  local is_whole = T.name:find "^[iu]" ~= nil
  local R = is_whole and i32 or f32
  for op in pairs(combine) do
    local is_of_bits = op == "and" or op == "or" or op == "xor"
    if T ~= i8 and (is_whole or not is_of_bits) then
      local values = {}
      for i = 0, N - 1 do values[i + 1] = number(op, i) end
      local x = from_table(T, values)
      for _, form in ipairs(forms) do
        local y = zeros(R, 1)
        if not (form.skips and form.skips[op]) then
          kernel("k", function(x, y)
            local r = form[2](x, op)
            if threadIdx.x == 0 then y[0] = r end
          end){ grid = 1, block = N }(x, y)
          local want = folded(op, 0, form[3] - 1)
          if y[0] == want then n_same = n_same + 1 else
            n_wrong = n_wrong + 1
            print(T, op, form[1], y[0], "expected", want)
          end
        end
      end
    end
  end
end
print(n_wrong, n_same > 500)  -- expect: 0	true

-- A first value is a number of any kind; the function says what the sums are.
local y = zeros(f32, 3)
kernel("first", function(x, h, y)
  y[0] = reduce(x, "add", 0)
  y[1] = reduce(h, function(a, b) return a + b * b end, 0)
  y[2] = reduce(h, function(a, b) return where(a > b, a, b) end)
end){ grid = 1, block = 1 }(arange(f32, 70), arange(f16, 70), y)
print(y[0], y[1], y[2])  -- expect: 2415.0	111895.0	69.0
local largest = zeros(f16, 1)
kernel("chosen", function(h, y)
  y[0] = reduce(h, function(a, b) return where(a > b, a, b) end)
end){ grid = 1, block = 1 }(arange(f16, 70), largest)
print(largest[0])  -- expect: 69.0

-- Before the first lane of an exclusive scan comes what changes nothing, in the type of the values.
local before = from_table(u32, { 6, 3, 5 })
kernel("before", function(x)
  x[threadIdx.x] = warp_scan(x[threadIdx.x], "and", { exclusive = true })
end){ grid = 1, block = 3 }(before)
print(before[0] & 0xffffffff, before[1], before[2])  -- expect: 4294967295	6	2
for _, T in ipairs { i32, u32, i64, u64 } do
  for _, op in ipairs { "add", "mul", "and", "or", "xor" } do
    local x, neutral = ones(T, 3), { add = 0, mul = 1, ["and"] = -1, ["or"] = 0, xor = 0 }
    kernel("neutral", function(x)
      x[threadIdx.x] = block_scan(x[threadIdx.x], op, { exclusive = true })
    end){ grid = 1, block = 3 }(x)
    local want = T == u32 and neutral[op] & 0xffffffff or neutral[op]
    if x[0] ~= want then print(T, op, x[0]) end
  end
end
