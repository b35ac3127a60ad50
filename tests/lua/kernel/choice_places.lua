-- Choices of many arms in the places that take numbers: conditions and bounds of loops, ifs; and arms
-- with effects, of which only the one that is taken happens.
local y = zeros(i32, 16)
local function body(a, y)
  local i = 0
  while i < (a < 1 and 10 or a < 2 and 20 or a == 5 and nil or 3) do
    i = i + (a > 3 and 1 or a > 2 and 2 or 1)
  end
  repeat i = i + 1 until i > (a == 1 and 25 or a == 2 and 7 or 4)
  if (a == 0 and 1 or a == 1 and 2 or 3) == 2 then
    i = i + 100
  elseif (a > 8 and 1 or a > 7 and 5 or 0) == 5 then
    i = i + 1000
  end
  for j = (a < 3 and 0 or a < 5 and 1 or 2), (a < 3 and 4 or a < 5 and 5 or 9) do
    i = i + j
  end
  y[a] = i
end
kernel("k", function(y) body(threadIdx.x, y) end){grid = 1, block = 16}(y)
local h = {}
for a = 0, 15 do body(a, h) assert(h[a] == y[a], a .. " " .. h[a] .. " " .. y[a]) end

local z, w = zeros(i32, 16), zeros(i32, 16)
kernel("e", function(z, w)
  local a = threadIdx.x
  local function note(k)
    w[a] = w[a] * 10 + k
    return a * k
  end
  z[a] = a < 4 and note(1) or a < 8 and note(2) or note(3)
end){grid = 1, block = 16}(z, w)
print(table.concat(z:totable(), " ")) -- expect: 0 1 2 3 8 10 12 14 24 27 30 33 36 39 42 45
print(table.concat(w:totable(), " ")) -- expect: 1 1 1 1 2 2 2 2 3 3 3 3 3 3 3 3
