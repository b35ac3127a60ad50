-- How the prompt shows tables: cuttle.pretty's text of a value for a width of columns.
local pretty = require "cuttle.pretty"

local function show(value, width) print(pretty.text(value, width or 40)) end

show(3)                                   -- expect: 3
show("text")                              -- expect: text
show {}                                   -- expect: {}
show { 1, 2.5, "x", true, nil, false }    -- expect: {1, 2.5, "x", true, [6] = false}
show { b = 1, a = 2, [10] = 3, [-1] = 4, [2.5] = 5 } -- expect: {
-- expect:   [-1] = 4,
-- expect:   [2.5] = 5,
-- expect:   [10] = 3,
-- expect:   a = 2,
-- expect:   b = 1
-- expect: }
show({ ["not a name"] = 1, [true] = 2, ["end"] = 3 }, 80)
-- expect: {end = 3, ["not a name"] = 1, [true] = 2}
show { "a\nb\t\"c\"\r" }                  -- expect: {"a\nb\9\"c\"\13"}
print(#pretty.text({ ("x"):rep(10000) }, 80) < 300) -- expect: true

-- Lines are filled with items that have no key; no line is longer than the width.
show({ 1, 22, 333, 4444, 55555, 666666, 7777777 }, 20)
-- expect: {
-- expect:   1, 22, 333, 4444,
-- expect:   55555, 666666,
-- expect:   7777777
-- expect: }
show({ { 1, 2, 3 }, { 4, 5, 6 }, { x = { 7 } } }, 20)
-- expect: {
-- expect:   {1, 2, 3},
-- expect:   {4, 5, 6},
-- expect:   {x = {7}}
-- expect: }
for width = 20, 90 do
  local matrix = {}
  for i = 1, 16 do
    matrix[i] = {}
    for j = 1, 16 do matrix[i][j] = i * j end
  end
  local text = pretty.text({ name = matrix, 1, 2, 3, other = { "abc", "def" } }, width)
  for line in text:gmatch "[^\n]+" do
    assert(#line <= width, line)
  end
end

-- Long ones are cut with a count, deep ones at a level, cycles where they close.
local long, keys = {}, {}
for i = 1, 1000 do
  long[i] = i
  keys["key" .. i] = i
end
print(pretty.text(long, 80):match "[^\n]*more") -- expect:   ... 744 more
print(pretty.text(keys, 80):match "[^\n]*more") -- expect:   ... 968 more
show { { { { { { 1 } } } } } }            -- expect: {{{{{{...}}}}}}
local t = { 1 }
t[2], t.t = { t }, t
show(t)                                   -- expect: {1, {<cycle>}, t = <cycle>}
local shared = { 1 }
show { shared, shared }                   -- expect: {{1}, {1}}
local wide = { long }
for i = 1, 20 do wide[i] = long end
print(#pretty.text(wide, 80) < 20000)     -- expect: true

-- What has __tostring stands as that says, on one line; no other metamethod is asked.
show { layout { 4, 8 }, f32, shape(layout { 4, { 2, 3 } }), _ }
-- expect: {(4,8):(1,4), f32, (4,(2,3)), _}
show { zeros(f32, 4) }                    -- expect: {tensor f32 4:1 on cpu ...}
show(setmetatable({ 1, x = 2 },
  { __name = "Point", __index = error, __pairs = error, __len = error }))
-- expect: Point {1, x = 2}
show(setmetatable({ 1 }, { __metatable = "hidden", __tostring = function() return "mine" end }))
-- expect: mine
print(pcall(pretty.text, setmetatable({}, { __tostring = function() error("no", 0) end }), 80))
-- expect: false	no
