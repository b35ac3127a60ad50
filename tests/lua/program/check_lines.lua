-- `check` of global memory keeps one word for 16 neighbouring elements while accesses take all of them
-- alike, and cuts such a line when one does not. Whatever the shapes of two accesses by two blocks, the
-- race must be found if they have an element in common, and the threads named must be those that
-- access it; if they have none, or a barrier of the grid is between them, nothing must be found.
local check = require "cuttle.check"
local tap = dofile "tests/support/tap.lua"

local BLOCK <const>, N <const> = 64, 512

-- Elements of a thread, in the order in which it takes them.
local shapes = {
  rows = function(t) return {t + 128} end,
  rows_of_two = function(t) return {t + 128, t + 256} end,
  pairs = function(t) return {2 * t + 128, 2 * t + 129} end,
  fours = function(t) return {4 * t + 64, 4 * t + 65, 4 * t + 66, 4 * t + 67} end,
  shifted = function(t) return {t + 136} end,
  odd = function(t) return {t + 129} end,
  backwards = function(t) return {191 - t} end,
  strided = function(t) return {8 * t} end,
  one = function() return {130} end,
  other_rows = function(t) return {t + 384} end,
}
local names = {}
for name in pairs(shapes) do names[#names + 1] = name end
table.sort(names)

-- A kernel in which block 0 writes, and block 1 reads or writes. Vectors are copies of so many elements.
local function vector_of(elements)
  return #elements > 1 and elements[2] == elements[1] + 1 and #elements or 1
end
local function accesses(shape, use)
  local n = #shape(0)
  local wide = vector_of(shape(0))
  return function(t)
    if wide > 1 then
      use(shape(t)[1] // wide, wide)
    else
      for i = 1, n do use(shape(t)[i], 1) end
    end
  end
end

local function kernel_of(first, second, writes, is_ordered)
  return kernel("pair", function(x, y)
    local t = threadIdx.x
    local r = fragment(f32, 4)
    fill(r, 1.0 + blockIdx.x)
    local function write(at, n) copy(tile(r, n, 0), tile(x, n, at)) end
    local function read(at, n)
      copy(tile(x, n, at), tile(r, n, 0))
      y[t] = r[0]
    end
    if blockIdx.x == 0 then accesses(first, write)(t) end
    if is_ordered then sync_grid() end
    if blockIdx.x == 1 then accesses(second, writes and write or read)(t) end
  end)
end

local function owners(shape)
  local of = {}
  for t = 0, BLOCK - 1 do
    for _, at in ipairs(shape(t)) do
      of[at] = of[at] or {}
      of[at][t] = true
    end
  end
  return of
end

-- Does the message name an element, and threads of both sides that access it?
local function is_right(message, first, second)
  local at = tonumber(message:match "of x at (%d+)")
  local a, b = {}, {}
  for t, block in message:gmatch "thread %((%d+),0,0%) of block %((%d+),0,0%)" do
    (block == "0" and a or b)[#(block == "0" and a or b) + 1] = tonumber(t)
  end
  return at and #a == 1 and #b == 1 and first[at] and first[at][a[1]] and second[at]
    and second[at][b[1]]
end

local function findings_of(first, second, writes, is_ordered)
  local k = kernel_of(shapes[first], shapes[second], writes, is_ordered)
  return check.run(function()
    k{grid = 2, block = BLOCK, cooperative = is_ordered or nil}(zeros(f32, N), zeros(f32, N))
  end)
end

for _, first in ipairs(names) do
  local bad = {}
  local a = owners(shapes[first])
  for _, second in ipairs(names) do
    local b, meets = owners(shapes[second]), false
    for at in pairs(a) do meets = meets or b[at] ~= nil end
    for _, writes in ipairs{false, true} do
      local found = findings_of(first, second, writes)
      local ok = #found == (meets and 1 or 0)
      if meets and ok then ok = is_right(found[1].message, a, b) end
      if not ok then
        bad[#bad + 1] = ("%s %s: %s"):format(second, writes, found[1] and found[1].message)
      end
    end
    if #findings_of(first, second, false, true) > 0 then bad[#bad + 1] = second .. " ordered" end
  end
  tap.ok(#bad == 0, first .. ": the right pairs race", table.concat(bad, "\n"))
end
tap.done()
