-- check of memory that was allocated without contents: what launches and the host write counts as written.
local check = require "cuttle.check"

local fill = kernel("fill", function(y) y[threadIdx.x] = 1.0 * threadIdx.x end)
local read = kernel("read", function(x, y) y[threadIdx.x] = x[threadIdx.x] end)
local add = kernel("add", function(x) atomic_add(x, threadIdx.x, 1.0) end)
local store = kernel("store", function(x)
  atomic_store(x, threadIdx.x, 1.0)
  atomic_exch(x, threadIdx.x, 2.0)
  x[threadIdx.x] = x[threadIdx.x] + 1
end)
local n = 32
local one = {grid = 1, block = n}

-- Kinds and counts of what check finds.
local function found(f)
  local list = {}
  local findings, _, ok, message = check.run(f)
  assert(ok, message)
  for i, finding in ipairs(findings) do list[i] = finding.kind .. " " .. finding.count end
  return #list == 0 and "nothing" or table.concat(list, ", ")
end

local function reads(write, x)
  return found(function()
    local made = x or tensor(f32, n)
    local used = write(made) or made
    read(one)(used, tensor(f32, n))
  end)
end

print(reads(function() end))                                   -- expect: uninitialised_global 32
print(reads(function(x) fill(one)(x) end))                     -- expect: nothing
print(reads(function(x) fill{grid = 1, block = 20}(x) end))    -- expect: uninitialised_global 12
print(reads(function(x) for i = 0, n - 1 do x[i] = i end end)) -- expect: nothing
print(reads(function(x) for i = 0, n - 2 do x[i] = i end end)) -- expect: uninitialised_global 1
print(reads(function(x) x:fill(1) end))                        -- expect: nothing
print(reads(function(x) copy(rand(f32, n), x) end))            -- expect: nothing
print(reads(function(x) return x.address and x end))           -- expect: nothing
print(reads(function() end, zeros(f32, n)))                    -- expect: nothing
print(reads(function() end, tensor(f32, n)))                   -- expect: nothing

-- Views and other types of the same memory.
print(reads(function(x) fill{grid = 1, block = 16}(view(x, 16)) end)) -- expect: uninitialised_global 16
print(reads(function(x) recast(x, i32):fill(0) end))                   -- expect: nothing
print(reads(function(x)
  fill{grid = 1, block = 16}(tile(x, 16, 0))
  fill{grid = 1, block = 16}(tile(x, 16, 1))
end)) -- expect: nothing

print(reads(function(x) graph(function() fill(one)(x) end)() end))      -- expect: nothing

-- Atomic operations read, too, unless only a store matters.
print(found(function() add(one)(tensor(f32, n)) end))   -- expect: uninitialised_global 32
print(found(function() store(one)(tensor(f32, n)) end)) -- expect: nothing

-- After a finding the memory counts as written: one fault is reported once.
print(found(function()
  local x = tensor(f32, n)
  read(one)(x, zeros(f32, n))
  read(one)(x, zeros(f32, n))
end)) -- expect: uninitialised_global 32

-- What a launch wrote while nobody watched counts.
do
  local x
  found(function() x = tensor(f32, n) end)
  fill(one)(x)
  print(reads(function() end, x)) -- expect: nothing
end

-- Several counters of one element: each is found, whichever comes first.
print(found(function()
  kernel("count", function(x) atomic_add(x, 0, 1) end){grid = 4, block = n}(tensor(i32, 1))
end)) -- expect: uninitialised_global 128

-- The host fills one column, and a kernel reads one.
local big = {grid = 1, block = 64}
local third = kernel("third", function(b, o) o[threadIdx.x] = b[{threadIdx.x, 3}] end)
local function columns(i)
  return found(function()
    local x = tensor(f32, {64, 64})
    x(_, i):fill(2)
    third(big)(x, tensor(f32, 64))
  end)
end
print(columns(3)) -- expect: nothing
print(columns(2)) -- expect: uninitialised_global 64
