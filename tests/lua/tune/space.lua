-- Spaces of tune: what they list, in which order, and how configurations are written.
local space = require "cuttle.space"

local function show(s)
  local texts = {}
  for i, candidate in ipairs(space.candidates(s)) do texts[i] = candidate.text end
  return table.concat(texts, " | ")
end

-- Names in alphabetical order; the last one changes fastest; values as they are listed.
print(show{ b = {2, 1}, a = {"x", "y"} })  -- expect: a=x b=2 | a=x b=1 | a=y b=2 | a=y b=1
print(show{ stages = range(2, 5) })        -- expect: stages=2 | stages=3 | stages=4
print(show{ n = range(8, 0, -3) })         -- expect: n=8 | n=5 | n=2
print(show{ n = range(3) })                -- expect: n=0 | n=1 | n=2
print(show{ tile = {{128, 64}, {64, 64}}, fast = {true, false} }) -- expect: fast=true tile={128,64} | fast=true tile={64,64} | fast=false tile={128,64} | fast=false tile={64,64}
print(show{ d = {f16, f32} })              -- expect: d=f16 | d=f32
print(show{ c = {{z = 1, a = {2}}} })      -- expect: c={a={2},z=1}
print(show{ x = {1.0, 0.5} })              -- expect: x=1 | x=0.5

-- What is written alike would be one configuration.
print(show{ x = {0.1 + 0.2, 0.3} })        -- expect: x=0.30000000000000004 | x=0.3
print(show{ m = {"a b", "a_b", "true", true, "1", 1, "", "a\tb", "a\"", "2x"} })
-- expect: m="a b" | m=a_b | m="true" | m=true | m="1" | m=1 | m="" | m="a\009b" | m="a\034" | m=2x

-- A list of configurations, and an iterator of them; each once. A configuration may be a list.
print(show{ {64, 32}, {64, fast = 1} })    -- expect: 1=64 2=32 | fast=1 1=64
print(show{ {a = 1}, {a = 2, b = 3}, {a = 1} })  -- expect: a=1 | a=2 b=3
local n = 0
print(show(function()                      -- expect: a=1 | a=2
  n = n + 1
  return n <= 3 and { a = (n + 1) // 2 } or nil
end))

-- The order of a space does not depend on that of its table.
math.randomseed(7)
local names = { "bM", "bN", "bK", "stages", "warps" }
local first
local is_fixed = true
for _ = 1, 20 do
  local s = {}
  for i = #names, 1, -1 do
    local j = math.random(i)
    names[i], names[j] = names[j], names[i]
    s[names[i]] = {1, 2}
  end
  first = first or show(s)
  is_fixed = is_fixed and show(s) == first
end
print(is_fixed, #space.candidates{ bM = {1, 2}, bN = {1, 2, 3}, bK = range(4) }) -- expect: true	24

-- Constraints see the configuration and the arguments.
local list = space.candidates{ a = {1, 2, 3, 4} }
print(#space.allowed(list, function(c, most) return c.a <= most end, 3)) -- expect: 3
print(#space.allowed(list))                -- expect: 4
