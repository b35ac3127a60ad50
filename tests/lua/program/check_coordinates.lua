-- Which coordinates check finds, and which it leaves alone. (tests/check has the messages.)
local check = require "cuttle.check"

local function found(f, grid, block, ...)
  local list, k, args = {}, kernel("k", f), table.pack(...)
  local findings, _, ok, message = check.run(function()
    k{grid = grid, block = block}(table.unpack(args, 1, args.n))
  end)
  assert(ok, message)
  for i, finding in ipairs(findings) do
    list[i] = ("%s %s %d"):format(finding.kind, finding.buffer, finding.count)
  end
  return #list == 0 and "nothing" or table.concat(list, ", ")
end
local x, y = rand(f32, {32, 4}), zeros(f32, 256)

-- A tensor of several modes by one number: its linear coordinate.
local function linear(from, to) to[threadIdx.x] = from[threadIdx.x] end
print(found(linear, 1, 128, x, y)) -- expect: nothing
-- Outside the memory: that alone is told.
print(found(linear, 1, 256, x, y)) -- expect: out_of_bounds from 128
print(found(function(from, to) -- expect: out_of_bounds from 32
  to[threadIdx.x] = from[{threadIdx.x, 3}]
end, 1, 64, x, y))
-- Rows of a matrix by rows: a linear coordinate counts along columns, and ends inside the memory.
print(found(function(from, to) -- expect: coordinate from 2
  to[threadIdx.x] = from[threadIdx.x]
end, 1, 130, rand(f32, row_major{32, 4}), y))

-- Modes of stride 0 have one element whatever the coordinate; a view has the extents that it was given.
print(found(function(from, to) -- expect: nothing
  local rows = view(from, layout({1, 32}, {0, 1}))
  to[threadIdx.x] = rows[{threadIdx.x, threadIdx.x % 32}]
end, 1, 64, x, y))
print(found(function(from, to) -- expect: nothing
  local flat = view(from, layout(128))
  to[threadIdx.x] = flat[threadIdx.x]
end, 1, 128, x, y))

-- Guarded tensors: what is outside is left out.
print(found(function(from, to) -- expect: nothing
  local all = guard(from)
  to[threadIdx.x] = all[{threadIdx.x, 0}] + all[{threadIdx.x, threadIdx.x - 32}]
end, 1, 64, x, y))
print(found(function(from, to) -- expect: nothing
  local part = tile(guard(from), {24, 4}, {blockIdx.x, 0})
  if threadIdx.x < 24 then to[blockIdx.x * 24 + threadIdx.x] = part[{threadIdx.x, 1}] end
end, 2, 32, x, y))

-- Under a condition; a part that nothing accesses; a loop up to the extent.
print(found(function(from, to) -- expect: nothing
  local i = threadIdx.x
  if i > 0 and i < size(from, 0) - 1 then to[i] = from[{i - 1, 1}] + from[{i + 1, 1}] end
end, 1, 64, x, y))
print(found(function(from, to, n) -- expect: nothing
  for j in range(n) do
    local here, after = from(_, j), from(_, j + 1)
    to[threadIdx.x] = here[threadIdx.x]
    if j + 1 < n then to[threadIdx.x] = after[threadIdx.x] end
  end
end, 1, 32, x, y, 4))
print(found(function(from, to) -- expect: nothing
  local sum = 0.0
  for j in range(size(from, 1)) do sum = sum + from[{threadIdx.x, j}] end
  for i = 0, size(from, 0) - 1 do sum = sum + from[{i, 0}] end
  to[threadIdx.x] = sum
end, 1, 32, x, y))

-- Copies of parts, one by one; told once for a line.
print(found(function(from, to, n) -- expect: coordinate from 2
  local tiles = tile(view(to, layout({32, 8})), {32, 1}, {0, n})
  copy(tile(from(_, n), 1, threadIdx.x), tile(tiles, {1, 1}, {threadIdx.x, 0}))
  copy(tile(from, {1, 1}, {threadIdx.x + n, 0}), tile(tiles, {1, 1}, {threadIdx.x, 0}))
end, 1, 32, x, y, 2))
print(found(function(t) -- expect: coordinate t 8
  atomic_add(t, {threadIdx.x, 0}, 1)
end, 1, 40, zeros(i32, {32, 4})))

-- A kernel that has run without check is traced anew for it, and the other way round.
local k = kernel("again", function(from, to) to[threadIdx.x] = from[{threadIdx.x, 0}] end)
local config = k{grid = 1, block = 64}
config(x, y)
print(#(check.run(function() config(x, y) end))) -- expect: 1
config(x, y)
print(#(check.run(function() config(x, y) end))) -- expect: 1
print((pcall(k{grid = 1, block = 64, check = true}, x, y))) -- expect: false
print((pcall(k{grid = 1, block = 64}, x, y))) -- expect: true
print(config:source(x, y):find("within") == nil) -- expect: true
