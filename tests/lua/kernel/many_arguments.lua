-- More arguments than a few: numbers, tensors, records.
local function sum_of(...)
  local n = select("#", ...)
  local out = zeros(f64, 1)
  kernel("sum", function(out, ...)
    local sum = f64(0)
    for i in unroll(1, select("#", ...) + 1) do sum = sum + f64((select(i, ...))) end
    out[0] = sum
  end){grid = 1, block = 1}(out, ...)
  return n, out[0]
end
local function numbers(n)
  local t = {}
  for i = 1, n do t[i] = i end
  return table.unpack(t)
end
print(sum_of(numbers(64)))                         -- expect: 64	2080.0
print(sum_of(numbers(500)))                        -- expect: 500	125250.0
print(sum_of(numbers(4000)))                       -- expect: 4000	8002000.0

local tensors = {}
for i = 1, 200 do
  tensors[i] = zeros(f32, 1 + i % 3)
  fill(tensors[i], i)
end
local double = kernel("double", function(...)
  for i in unroll(1, select("#", ...) + 1) do
    local x = select(i, ...)
    if threadIdx.x < size(x) then x[threadIdx.x] = x[threadIdx.x] * 2 end
  end
end)
local run = double{grid = 1, block = 4}
for _ = 1, 3 do run(table.unpack(tensors)) end      -- the second call keeps what it read
print(tensors[1][0], tensors[65][2], tensors[200][1]) -- expect: 8.0	520.0	1600.0
tensors[7] = zeros(f32, 5)
fill(tensors[7], 1)
run(table.unpack(tensors))
run(table.unpack(tensors))
print(tensors[7][3], tensors[8][0])                -- expect: 4.0	256.0

-- A record with many fields.
local fields = {}
for i = 1, 100 do fields["f" .. i] = i * 1.0 end
local out = zeros(f32, 1)
kernel("fields", function(o, out)
  local sum = 0.0
  for i in unroll(1, 101) do sum = sum + o["f" .. i] end
  out[0] = sum
end){grid = 1, block = 1}(fields, out)
print(out[0])                                      -- expect: 5050.0
