-- program.lua: a random kernel, as a chunk of Lua that returns its function.
local writer, records, statements, lanes_together = ...
local random = math.random
local put, pick, chance = writer.put, writer.pick, writer.chance

-- Helpers in Lua's own style: several arguments, recursion, objects, an iterator.
local prelude <const> = [[
local function sum(...) local n = 0 for i = 1, select("#", ...) do n = n + (select(i, ...)) end return n end
local function climb(k, v) if k <= 0 then return v end return climb(k - 1, v + k) end
local function upwards() for k = 1, 3 do coroutine.yield(k + 1) end end
local Pair = {}
Pair.__index = Pair
local function pair(i, f) return setmetatable({ i = i, f = f }, Pair) end
function Pair.__add(l, r) local f = l.f if f < r.f then f = r.f end return pair(l.i + r.i, f) end
function Pair.__unm(l) return pair(-l.i, l.i > 2 and l.f or -l.f) end
function Pair:__call(f) if self.i > 2 then return self.f end return f end
local function bump(r, v) if v > 3 then r.i = v else r.f = r.f * 4.0 // 1.0 / 8.0 end end
local function twice(f, k) f(k) f(k + 1) end
function Pair:most(k) if self.i > k then return self.i end return k end
]]

-- A chunk that returns a kernel's function.
local function generate()
  writer.begin {
    labels = {}, tables = {}, arrays = {}, functions = { int = {}, float = {}, bool = {} }, callbacks = {},
    continue = false, in_loop = false,
    separator = chance(80) and "\n" or " ", -- what the front end learns, it learns by lines
  }
  put("local s, none =", pick { "'yes'", "nil" }, ", nil\n", prelude)
  put("return function(x, y, m, ints, floats, n)\n")
  put("local t, fuel = blockIdx.x * blockDim.x + threadIdx.x, 6\n")
  put("local a, b, c, d, e, u, v, w, p, q = x[t], t, 2, n, 0, y[t], 0.5, 1.0, t > 3, false\n")
  writer.scope.statements = statements[pick { "all", "about_records", "about_callbacks" }]
  local is_about_callbacks = writer.scope.statements == statements.about_callbacks
  if is_about_callbacks then statements.begin_captured() end
  for _ = 1, random(3, 8) do
    (chance(is_about_callbacks and 2 or 15) and lanes_together or pick(writer.scope.statements))()
    put "\n"
  end
  for _, name in ipairs { table.unpack(writer.scope.tables) } do
    if chance(70) then
      writer.scope.tables = { name }
      records.observe()
      put "\n"
    end
  end
  put("ints[t * 4 + 2] = (a + 3 * b + 5 * c + 7 * d + 11 * e) % 1009\n")
  put("floats[t * 4 + 2] = (p and 1.0 or 2.0) + u + 2.0 * v + (q and 4.0 or 8.0) * w\nend")
  return writer.text()
end

return { generate = generate }
