-- check of warps that read and write shared memory side by side, element by lane: these have handlers
-- of their own, which must find what the others find.
local check = require "cuttle.check"

-- Kinds, lines behind the function's first and counts of what check finds in a launch of two warps.
local function found(f)
  local first, list = debug.getinfo(f, "S").linedefined, {}
  local findings, _, ok, message = check.run(function()
    kernel("k", f){grid = 2, block = 64}(zeros(f32, 256))
  end)
  assert(ok, message)
  for i, finding in ipairs(findings) do
    list[i] = ("%s %d %s %d"):format(finding.kind, finding.line - first,
      finding.other_line and finding.other_line - first or "-", finding.count)
  end
  return #list == 0 and "nothing" or table.concat(list, ", ")
end

print(found(function(y)  -- expect: nothing
  local s = shared(f32, 64)
  for i = 0, 3 do
    s[threadIdx.x] = 1.0 * i
    sync_threads()
    y[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x]
    sync_threads()
  end
end))

print(found(function(y)  -- expect: race_shared 3 5 384
  local s = shared(f32, 64)
  for i = 0, 3 do
    s[threadIdx.x] = 1.0 * i
    sync_threads()
    y[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x]
  end
end))

-- Two warps write the same places: other values, or the same.
print(found(function(y)  -- expect: race_shared 2 2 64
  local s = shared(f32, 32)
  s[threadIdx.x % 32] = 1.0 * threadIdx.x
  sync_threads()
  y[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x % 32]
end))
print(found(function(y)  -- expect: nothing
  local s = shared(f32, 32)
  s[threadIdx.x % 32] = 1.0 * (threadIdx.x % 32)
  sync_threads()
  y[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x % 32]
end))

-- A lane writes where the next one has written.
print(found(function(y)  -- expect: race_shared 3 2 126
  local s = shared(f32, 65)
  s[threadIdx.x] = 1.0 * threadIdx.x
  s[threadIdx.x + 1] = 0.5
  sync_threads()
  y[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x]
end))

print(found(function(y)  -- expect: uninitialised_shared 3 - 128
  local s = shared(f32, 128)
  s[threadIdx.x] = 1.0
  y[blockIdx.x * 128 + threadIdx.x] = s[threadIdx.x + 64]
end))

print(found(function(y)  -- expect: out_of_bounds 2 - 32
  local s = shared(f32, 80)
  for i = 0, 1 do s[threadIdx.x + i * 32] = 1.0 end
  sync_threads()
  y[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x]
end))

-- The same reads again and again, of what another warp writes in the end.
print(found(function(y)  -- expect: race_shared 6 4 2016
  local s, sum = shared(f32, 64), 0.0
  s[threadIdx.x] = 1.0
  sync_threads()
  for i = 0, 15 do sum = sum + s[i] * s[32 + i] end
  y[blockIdx.x * 64 + threadIdx.x] = sum
  if threadIdx.x >= 32 then s[threadIdx.x] = sum end
end))

-- Sums of products in a loop, and what a missing barrier at its end does.
print(found(function(y)  -- expect: nothing
  local a, b, sum = shared(f32, 64), shared(f32, 64), 0.0
  for phase = 0, 3 do
    a[threadIdx.x], b[threadIdx.x] = 1.0 * phase, 2.0
    sync_threads()
    for i = 0, 15 do sum = sum + a[i] * b[i + threadIdx.x % 32] end
    sync_threads()
  end
  y[blockIdx.x * 64 + threadIdx.x] = sum
end))
print(found(function(y)  -- expect: race_shared 3 5 6048, race_shared 3 5 5952
  local a, b, sum = shared(f32, 64), shared(f32, 64), 0.0
  for phase = 0, 3 do
    a[threadIdx.x], b[threadIdx.x] = 1.0 * phase, 2.0 * phase
    sync_threads()
    for i = 0, 15 do sum = sum + a[i] * b[i + threadIdx.x % 32] end
  end
  y[blockIdx.x * 64 + threadIdx.x] = sum
end))
print(found(function(y)  -- expect: uninitialised_shared 5 - 30, race_shared 6 5 3520
  local a, sum = shared(f32, 96), 0.0
  a[threadIdx.x] = 1.0
  for phase = 0, 3 do
    sync_threads()
    for i = 0, 15 do sum = sum + a[i] * a[i + threadIdx.x % 32 + 32] end
    if phase == 2 then a[threadIdx.x] = sum end
  end
  y[blockIdx.x * 64 + threadIdx.x] = sum
end))
