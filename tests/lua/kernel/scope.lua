-- Atomic operations and fences with a scope and an order.
local sys = {scope = "sys"}

-- A flag between two blocks, at the scope of the system: what comes before the release is seen after the acquire.
local pass = kernel("pass", function(x, y, flag)
  if blockIdx.x == 0 then
    x[threadIdx.x] = 3 * threadIdx.x
    sync_threads()
    if threadIdx.x == 0 then atomic_store(flag, 0, 1, sys) end
  else
    if threadIdx.x == 0 then
      while atomic_load(flag, 0, sys) == 0 do end
    end
    sync_threads()
    y[threadIdx.x] = x[threadIdx.x]
  end
end)
local x, y, flag = zeros(i32, 64), zeros(i32, 64), zeros(i32, 1)
pass{grid = 2, block = 64}(x, y, flag)
print(y[0], y[1], y[63]) -- expect: 0	3	189

-- The same by relaxed operations between fences.
local fenced = kernel("fenced", function(x, y, flag)
  if blockIdx.x == 0 then
    x[threadIdx.x] = 5 * threadIdx.x
    sync_threads()
    if threadIdx.x == 0 then
      fence{scope = "sys", order = "acq_rel"}
      atomic_store(flag, 0, 1, {scope = "sys", order = "relaxed"})
    end
  else
    if threadIdx.x == 0 then
      while atomic_load(flag, 0, {scope = "sys", order = "relaxed"}) == 0 do end
      fence(sys)
    end
    sync_threads()
    y[threadIdx.x] = x[threadIdx.x]
  end
end)
flag:fill(0)
fenced{grid = 2, block = 64}(x, y, flag)
print(y[0], y[1], y[63]) -- expect: 0	5	315

-- A counter that releases and acquires: the last block to come sees what all wrote.
local last = kernel("last", function(x, y, n)
  local order = {scope = "sys", order = "acq_rel"}
  x[blockIdx.x] = blockIdx.x + 1
  if atomic_add(n, 0, 1, order) == 7 then
    local sum = 0
    for i = 0, 7 do sum = sum + x[i] end
    y[0] = sum
  end
end)
local n = zeros(i32, 1)
last{grid = 8, block = 1}(x, y, n)
print(y[0], n[0]) -- expect: 36	8

-- Each operation gives what it gives at the scope of the device, on each type.
local all = kernel("all", function(a, b)
  for k, t in ipairs({a, b}) do
    local o = k == 1 and {} or {scope = "sys", order = "acquire"}
    local i = cast(threadIdx.x, t.dtype)
    atomic_add(t, 0, i, o)
    atomic_min(t, 1, i + 3, o)
    atomic_max(t, 2, i, o)
    atomic_exch(t, 3, 9, o)
    atomic_cas(t, 4, 0, 7, o)
    if t.dtype ~= f32 and t.dtype ~= f64 then
      atomic_and(t, 5, ~i, o)
      atomic_or(t, 6, i, o)
      atomic_xor(t, 7, i, o)
    end
  end
end)
for _, dtype in ipairs{i32, u32, i64, u64, f32, f64} do
  local a, b = zeros(dtype, 8), zeros(dtype, 8)
  for _, t in ipairs{a, b} do t[1], t[5] = 99, 255 end
  all{grid = 1, block = 37}(a, b)
  local same = true
  for i = 0, 7 do same = same and a[i] == b[i] end
  print(dtype, same, b[0], b[1], b[2], b[4]) -- expect: i32	true	666	3	36	7
end
-- expect: u32	true	666	3	36	7
-- expect: i64	true	666	3	36	7
-- expect: u64	true	666	3	36	7
-- expect: f32	true	666.0	3.0	36.0	7.0
-- expect: f64	true	666.0	3.0	36.0	7.0

local halves = kernel("halves", function(h)
  atomic_add(h, 0, 1, sys)
  atomic_add(h, 2, 1, 0.5, sys)
end)
for _, dtype in ipairs{f16, bf16} do
  local h = zeros(dtype, 4)
  halves{grid = 1, block = 32}(h)
  print(dtype, h[0], h[2], h[3]) -- expect: f16	32.0	32.0	16.0
end
-- expect: bf16	32.0	32.0	16.0

-- What CUDA C says of them. A tensor that is only read is no restricted one then: others may write it.
local function source(fn, ...)
  return kernel("text", fn){ grid = 1, block = 32 }:source(...)
end
local function count(text, what)
  local n = 0
  for _ in text:gmatch(what) do n = n + 1 end
  return n
end
local text = source(function(t, u)
  t[0] = atomic_load(t, 1, sys) + u[0]
  atomic_store(t, 2, 3, { order = "relaxed" })
  atomic_max(t, 3, 4, { scope = "sys", order = "release" })
  fence()
  fence(sys)
  fence{ order = "acq_rel" }
end, zeros(i32, 4), zeros(i32, 4))
print(text:match("ld%.acquire%.sys%.b32"), text:match("st%.relaxed%.gpu%.b32")) -- expect: ld.acquire.sys.b32	st.relaxed.gpu.b32
print(text:match("atomicMax_system"), count(text, "fence%.acq_rel%.sys")) -- expect: atomicMax_system	1
print(count(text, "__threadfence%(%)"), count(text, "__threadfence_system%(%)")) -- expect: 1	1
print(count(text, "fence%.acq_rel%.gpu"), count(text, "__restrict__")) -- expect: 1	0
