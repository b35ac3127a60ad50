-- Atomic operations on global and shared memory, of every type, by many blocks at once.
local N <const> = 64 * 40

local function run(f, ...) kernel("k", f){grid = 40, block = 64}(...) end

-- What each operation leaves, and what it returns.
for _, dtype in ipairs{i32, i64, u32, u64, f32, f64} do
  local t = zeros(dtype, 8)
  t[1], t[2], t[6] = 3000, 10, 7
  local seen = zeros(dtype, N)
  run(function(t, seen)
    local i = blockIdx.x * blockDim.x + threadIdx.x
    local v = cast(i, t.dtype)
    seen[i] = atomic_add(t, 0, 1)
    atomic_min(t, 1, v + 5)
    atomic_max(t, 2, v)
    atomic_exch(t, 3, 9)
    if atomic_cas(t, 4, 0, v + 1) == 0 then atomic_add(t, 5, 1) end
    atomic_store(t, 7, atomic_load(t, 6))
  end, t, seen)
  local order = {}
  for i = 0, N - 1 do order[seen[i] + 1.0] = true end
  print(dtype, t[0], t[1], t[2], t[3], t[4] > 0, t[5], t[7], #order)
end
-- expect: i32	2560	5	2559	9	true	1	7	2560
-- expect: i64	2560	5	2559	9	true	1	7	2560
-- expect: u32	2560	5	2559	9	true	1	7	2560
-- expect: u64	2560	5	2559	9	true	1	7	2560
-- expect: f32	2560.0	5.0	2559.0	9.0	true	1.0	7.0	2560
-- expect: f64	2560.0	5.0	2559.0	9.0	true	1.0	7.0	2560

-- Unsigned integers are ordered as such, and wrap around.
local u = from_table(u32, {0xfffffff0, 5, 0xffffffff})
kernel("unsigned", function(u)
  atomic_max(u, 0, 7)
  atomic_min(u, 1, cast(-1, u32))
  atomic_add(u, 2, 3)
end){grid = 1, block = 1}(u)
print(u[0], u[1], u[2])                  -- expect: 4294967280	5	2

-- Bits.
for _, dtype in ipairs{i32, i64} do
  local t = zeros(dtype, 3)
  t[0] = -1
  run(function(t)
    local bit = 1 << (threadIdx.x % 8)
    atomic_and(t, 0, ~(bit << 8))
    atomic_or(t, 1, bit)
    atomic_xor(t, 2, bit)
  end, t)
  print(dtype, t[0], t[1], t[2])         -- expect: i32	-65281	255	0
end                                      -- expect: i64	-65281	255	0

-- A histogram in shared memory, then in global memory.
local bins, total = zeros(i32, {4, 40}), zeros(i32, 4)
run(function(bins, total)
  local s = shared(i32, 4)
  local i = threadIdx.x
  if i < 4 then s[i] = 0 end
  sync_threads()
  atomic_add(s, where(i < 10, 0, i % 3 + 1), 1)
  sync_threads()
  if i < 4 then
    bins[{i, blockIdx.x}] = s[i]
    atomic_add(total, i, s[i])
  end
end, bins, total)
print(bins[{0, 39}], bins[{1, 39}], bins[{2, 39}], bins[{3, 39}]) -- expect: 10	18	18	18
print(total[0], total[1])                -- expect: 400	720

-- Minima of floats: -0 is below +0, a number wins over NaN; CAS compares bits.
local m = from_table(f32, {0.0, -0.0, 0/0, 1.5, 0.0})
kernel("floats", function(m)
  atomic_min(m, 0, -0.0)
  atomic_max(m, 1, 0.0)
  atomic_min(m, 2, 3.0)
  atomic_max(m, 3, 0/0)
  atomic_cas(m, 4, -0.0, 7.0)
end){grid = 1, block = 1}(m)
print(1 / m[0], 1 / m[1], m[2], m[3], m[4]) -- expect: -inf	inf	3.0	1.5	0.0

-- A coordinate is one of the tensor, through tiles too.
local grid = zeros(i32, {4, 6})
kernel("tiled", function(t)
  local g = tile(t, {2, 3}, {threadIdx.x % 2, 1})
  atomic_add(g, {1, 2}, threadIdx.x)
end){grid = 1, block = 4}(grid)
print(grid[{1, 5}], grid[{3, 5}])        -- expect: 2	4

-- Of a guarded tensor what lies outside stays as it is, and gives 0.
local few, old = full(i32, 4, 7), zeros(i32, 8)
kernel("guarded", function(few, old)
  old[threadIdx.x] = atomic_add(guard(few), threadIdx.x, 1)
end){grid = 1, block = 8}(few, old)
print(few[0], few[3], old[3], old[4])    -- expect: 8	8	7	0

-- Time passes.
local ticks = zeros(i64, 1)
kernel("clock", function(ticks)
  local before = clock()
  sync_threads()
  ticks[0] = clock() - before
end){grid = 1, block = 1}(ticks)
print(ticks[0] >= 0, ticks[0] < 1000000000) -- expect: true	true
