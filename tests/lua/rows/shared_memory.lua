-- Which results share memory with an argument: of rows that lie evenly apart, as halves of rows do,
-- this is decided without a list of the rows, and like the lists of all elements decide it.
local overlap = require "cuttle.overlap"

local memory = zeros(i8, 4096)
math.randomseed(20)

local function part()
  local e = {math.random(1, 4), math.random(1, 4), math.random(1, 6)}
  local d = {e[3] * e[2] * math.random(1, 3), e[3] + math.random(0, 6), 1}
  if math.random(3) == 1 then d[1] = d[2] * e[2] end
  local first = math.random(0, 60)
  local t = view(tile(memory, {1}, {first}), layout(e, d))
  return {tensor = t, extent = e, stride = d}, first
end

local function places(t, first)
  local all = {}
  for i = 0, t.extent[1] - 1 do
    for j = 0, t.extent[2] - 1 do
      for k = 0, t.extent[3] - 1 do
        all[first + i * t.stride[1] + j * t.stride[2] + k * t.stride[3]] = true
      end
    end
  end
  return all
end

local function meet(a, b)
  for place in pairs(a) do
    if b[place] then return true end
  end
  return false
end

local n, n_shared, n_wrong = 0, 0, 0
for _ = 1, 2000 do
  local a, first_a = part()
  local b, first_b = part()
  if math.random(2) == 1 then b.stride = {a.stride[1], a.stride[2], a.stride[3]} end
  b.tensor = view(tile(memory, {1}, {first_b}), layout(b.extent, b.stride))
  if not overlap.has_shared(a) and not overlap.has_shared(b) then
    local want, got = meet(places(a, first_a), places(b, first_b)), overlap.shares(a, b)
    n, n_shared = n + 1, n_shared + (want and 1 or 0)
    local is_known = a.stride[1] >= a.stride[2] * a.extent[2]
      and b.stride[1] >= b.stride[2] * b.extent[2]
    if want and not got or is_known and want ~= got then n_wrong = n_wrong + 1 end
  end
end
print(n > 500, n_shared > 100, n - n_shared > 100, n_wrong)
-- expect: true	true	true	0

do -- halves of rows turn in place
  local rows = require "cuttle.rows"
  local x = arange(f32, row_major{3, 4})
  local a, b = tile(x, {3, 2}, {0, 0}), tile(x, {3, 2}, {0, 1})
  rows.rotary(a, b, 0.0, 1.0, {out = {a, b}})
  print(x:to "cpu")
end
-- expect: tensor f32 (3,4):(4,1) on cpu
-- expect:    -6   -9    0    3
-- expect:    -7  -10    1    4
-- expect:    -8  -11    2    5
