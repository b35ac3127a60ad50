-- sync_threads, in loops too; shared memory between warps; several shared tensors.
local function iota(n)
  local t = zeros(f32, n)
  for i = 0, n - 1 do t[i] = i end
  return t
end

-- Reversal across warps.
local x, y = iota(256), zeros(f32, 256)
kernel("reverse", function(x, y)
  local s = shared(f32, {256})
  local i = threadIdx.x
  s[i] = x[i]
  sync_threads()
  y[i] = s[255 - i]
end){grid = 1, block = 256}(x, y)
print(y[0], y[100], y[255])            -- expect: 255.0	155.0	0.0

-- A tree reduction: the barrier in a loop that runs while tracing, and in one of the kernel.
local function reducer(count)
  return kernel("reduce", function(x, sums)
    local s = shared(f32, {128})
    local i = threadIdx.x
    s[i] = x[blockIdx.x * 128 + i]
    sync_threads()
    count(function(half)
      if i < half then s[i] = s[i] + s[i + half] end
      sync_threads()
    end)
    if i == 0 then sums[blockIdx.x] = s[0] end
  end)
end
local sums = zeros(f32, 2)
reducer(function(step)
  local half = 64
  while half > 0 do
    step(half)
    half = half // 2
  end
end){grid = 2, block = 128}(x, sums)
print(sums[0], sums[1])                -- expect: 8128.0	24512.0
clear(sums)
reducer(function(step)
  for k in range(7) do step(64 >> k) end
end){grid = 2, block = 128}(x, sums)
print(sums[0], sums[1])                -- expect: 8128.0	24512.0

-- Neighbours exchange n times: a run-time loop with two barriers in it.
local z = iota(96)
kernel("rotate", function(z, n)
  local s = shared(f32, {96})
  local i = threadIdx.x
  for _ in range(n) do
    s[i] = z[i]
    sync_threads()
    z[i] = s[(i + 1) % 96]
    sync_threads()
  end
end){grid = 1, block = 96}(z, 5)
print(z[0], z[90], z[91], z[95])       -- expect: 5.0	95.0	0.0	4.0

-- Several shared tensors of several types do not touch each other; each block has its own.
local a, b = zeros(f64, {64, 3}), zeros(i32, {64, 3})
kernel("several", function(a, b)
  local d, f = shared(f64, {64}), shared(f32, {3})
  local n, w = shared(i32, {64}), shared(bool, {64})
  local i = threadIdx.x
  d[i] = i + 0.25
  n[63 - i] = i * 1000
  w[i] = i % 3 == 0
  if i < 3 then f[i] = blockIdx.x * 10.0 + i end
  sync_threads()
  a[{i, blockIdx.x}] = d[63 - i] + f[2]
  b[{i, blockIdx.x}] = where(w[i], n[i], -1)
end){grid = 3, block = 64}(a, b)
print(a[{0, 0}], a[{63, 2}], b[{0, 0}], b[{1, 1}], b[{3, 2}]) -- expect: 65.25	22.25	63000	-1	60000
