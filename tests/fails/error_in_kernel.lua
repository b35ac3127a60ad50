-- error() in a kernel, at level 2, from a helper of a helper.
local function check(n)
  if n > 8 then error("at most 8 rows", 2) end
end
local function rows(n)
  check(n) -- expect error: at most 8 rows
  return n
end
local k = kernel("checks", function(x) x[0] = rows(size(layout{3, 4})) end)
k{grid = 1, block = 32}(zeros(f32, 32))
