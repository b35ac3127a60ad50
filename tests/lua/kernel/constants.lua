-- Constant memory: tables of a script that all threads read, at run-time places, whole, and as another type;
-- a changed table makes another kernel.


for _, T in ipairs{f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8} do
  local list = {}
  for i = 1, 37 do list[i] = i * 3 % 100 end
  local y = zeros(T, {37, 2})
  kernel("read", function(y)
    local c = constant(T, list)
    local i = threadIdx.x
    if i < 37 then
      y[{i, 0}] = c[i]
      y[{i, 1}] = c[36 - i]
    end
  end){grid = 1, block = 64}(y)
  for i = 0, 36 do
    assert(y[{i, 0}] == list[i + 1] and y[{i, 1}] == list[37 - i], tostring(T))
  end
end
print("types") -- expect: types

-- Nested tables, layouts, slices, copies, fragments; two arrays of one table are one.
local matrix = {{1, 2, 3}, {4, 5, 6}}
local k = kernel("rows", function(y)
  local m, same = constant(f32, matrix), constant(f32, matrix)
  local flat = constant(f32, {1, 2, 3, 4, 5, 6}, row_major{3, 2})
  local i = threadIdx.x
  local row = fragment(f32, 3)
  copy(m(i, _), row)
  y[{i, 0}] = row[0] * row[1] + row[2]
  y[{i, 1}] = reduce(same(i, _), "add")
  y[{i, 2}] = flat[{2, i}]
  local s = shared(f32, {2, 3})
  if i == 0 then copy(m, s) end
  sync_threads()
  y[{i, 3}] = s[{1 - i, 2}]
  y[{i, 4}] = f32(recast(m, u32)[{i, 0}] >> 23)
end)
local y = zeros(f32, {2, 5})
k{grid = 1, block = 2}(y)
for i = 0, 1 do
  print(y[{i, 0}], y[{i, 1}], y[{i, 2}], y[{i, 3}], y[{i, 4}])
end
-- expect: 5.0	6.0	3.0	6.0	127.0
-- expect: 26.0	15.0	6.0	3.0	129.0

-- What is no number, and what rounds.
local special = zeros(f32, 4)
kernel("special", function(y)
  local c = constant(f32, {1 / 0, -1 / 0, 0.1, -0.0})
  y[threadIdx.x] = c[threadIdx.x]
end){grid = 1, block = 4}(special)
print(special[0], special[1], special[2] == string.unpack("f", string.pack("f", 0.1)), 1 / special[3]) -- expect: inf	-inf	true	-inf

-- The table's contents are those at the launch.
local weights = {1, 2, 4}
local weigh = kernel("weigh", function(x, y)
  local w = constant(f32, weights)
  local sum = f32(0)
  for i in range(3) do sum = sum + w[(threadIdx.x + i) % 3] * x[i] end
  y[threadIdx.x] = sum
end)
local x, out = ones(f32, 3), zeros(f32, 3)
weigh{grid = 1, block = 3}(x, out)
print(out[0]) -- expect: 7.0
weights[2] = 20
weigh{grid = 1, block = 3}(x, out)
print(out[0], out[2]) -- expect: 25.0	25.0
weights[4] = 1000
weigh{grid = 1, block = 3}(x, out)
print(out[0]) -- expect: 25.0

-- 64 KiB, all of it.
local large = {}
for i = 1, 16384 do large[i] = i ~ 0x5555 end
local sums = zeros(u32, 256)
kernel("large", function(y)
  local c = constant(u32, large)
  local sum = u32(0)
  for i in range(threadIdx.x, 16384, 256) do sum = sum + c[i] end
  y[threadIdx.x] = sum
end){grid = 1, block = 256}(sums)
local want = 0
for i = 8, 16384, 256 do want = want + large[i] end
print(sums[7] == want) -- expect: true
