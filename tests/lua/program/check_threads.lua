-- `check` says the same on any number of host threads, each time: what it found, and how often.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

local PROGRAMS <const> = {
  -- block 0 waits for block 1, which need not have begun: a deadlock, even where block 1 happens to run
  higher = [[
local k = kernel("chain", function(f, y)
  local b = blockIdx.x
  if b < gridDim.x - 1 then while atomic_load(f, b + 1) == 0 do end end
  y[b] = b
  atomic_store(f, b, 1)
end)
k{grid = 3, block = 1}(zeros(i32, 3), zeros(i32, 3))
]],
  -- blocks that do not meet, but race: which one comes first must not show
  counter = [[
local k = kernel("count", function(n, x)
  n[0] = n[0] + 1
  for i in range(200) do x[blockIdx.x] = x[blockIdx.x] + i end
  n[1] = blockIdx.x
end)
local n, x = zeros(i32, 2), zeros(i32, 64)
k{grid = 64, block = 1}(n, x)
print(n[0], n[1])
]],
  -- a block reads what another one may have written, of memory without contents
  unset = [[
local k = kernel("shift", function(x)
  if blockIdx.x % 2 == 0 then x[blockIdx.x] = 1 else x[blockIdx.x] = x[blockIdx.x - 1] end
end)
k{grid = 32, block = 1}(tensor(i32, 32))
]],
}

local function check(path, threads)
  return (shell.run("CUTTLE_THREADS=%d '%s' check %s", threads, arg[-1], path))
end

local path <const> = os.tmpname()
for _, name in ipairs { "higher", "counter", "unset" } do
  local file <close> = assert(io.open(path, "w"))
  file:write(PROGRAMS[name])
  file:flush()
  local first, same = check(path, 1), true
  for _, threads in ipairs { 2, 5, 2, 5 } do same = same and check(path, threads) == first end
  tap.ok(same and first:find "%d finding", name .. ": the same text on 1, 2 and 5 threads", first)
end
os.remove(path)
tap.done()
