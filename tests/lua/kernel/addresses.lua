-- tensor_at: addresses from memory become tensors.
local x, y = arange(f32, 8), arange(f32, 100)
local addresses = from_table(u64, {y.address, x.address})
local sizes = from_table(i32, {100, 8})
local sum = kernel("sum", function(at, n, out)
  local b = blockIdx.x
  local t, s = tensor_at(at[b], f32, {n[b]}), 0.0
  for i in range(threadIdx.x, size(t), 32) do s = s + t[i] end
  s = warp_reduce(s, "add")
  if threadIdx.x == 0 then out[b] = s end
end)
local out = zeros(f32, 2)
sum{grid = 2, block = 32}(addresses, sizes, out)
print(out[0], out[1])                              -- expect: 4950.0	28.0

-- An address of its own for each lane; stores, and a row of a matrix by its address.
local each = kernel("each", function(at)
  local t = tensor_at(at[threadIdx.x % 2], f32, 8)
  t[threadIdx.x // 2] = threadIdx.x * 1.0
end)
each{grid = 1, block = 16}(addresses)
print(x[0], x[7], y[0], y[7], y[8])                -- expect: 1.0	15.0	0.0	14.0	8.0
local part = tile(y, {10}, {3})
print(part.address - y.address)                    -- expect: 120

-- A paged pool: a page's address is computed, and {align = 16} makes its copies wide.
local pool, pages = arange(f32, {16, 8}), from_table(i32, {5, 0, 3})
local fetch = kernel("fetch", function(pool, pages, out)
  local page = tensor_at(u64(pool) + u64(pages[blockIdx.x]) * 64, f32, 16, {align = 16})
  copy(tile(page, 4, threadIdx.x), tile(out(_, blockIdx.x), 4, threadIdx.x))
end)
local got = zeros(f32, {16, 3})
fetch{grid = 3, block = 4}(pool.address, pages, got)
print(got[{0, 0}], got[{15, 1}], got[{1, 2}])      -- expect: 80.0	15.0	49.0
print(fetch{grid = 3, block = 4}:source(pool.address, pages, got):find("float4", 1, true) ~= nil) -- expect: true

-- Strides of run-time values; the element type is that of tensor_at.
local strided = kernel("strided", function(at, n, d, out)
  local t = tensor_at(at, u32, layout({n, 2}, {d, 1}))
  out[threadIdx.x] = bitcast(t[{threadIdx.x % n, threadIdx.x // n}], f32)
end)
local z = zeros(f32, 6)
local base = arange(f32, 40)
strided{grid = 1, block = 6}(base.address, 3, 10, z)
print(table.concat(z:totable(), " "))              -- expect: 0.0 10.0 20.0 1.0 11.0 21.0

-- Memory that a later tensor gets is known at the next launch.
local made = {}
local fill_at = kernel("fill_at", function(at, v) tensor_at(at, f32, 4)[threadIdx.x] = v end)
for i = 1, 50 do
  made[i] = zeros(f32, 4)
  fill_at{grid = 1, block = 4}(made[i].address, i * 1.0)
end
print(made[1][3], made[50][0])                     -- expect: 1.0	50.0
