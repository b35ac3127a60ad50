-- clone copies tensors and tables of them, where they are, and what shares memory shares it in the copies.
local tap = dofile "tests/support/tap.lua"
local x = arange(f32, 8)
local half = view(x, 4, 4)
local kind = { __name = "settings" }
local settings = setmetatable({ x = x, parts = { half, half }, name = "k" }, kind)
local y, z, n, none, text, t = clone(x, half, 3, nil, "s", settings)

tap.is(select("#", clone(x, nil, 3, nil)), 4, "as many values as it was given")
tap.ok(allclose(y, x) and allclose(z, half), "the same elements")
tap.ok(n == 3 and none == nil and text == "s", "other values stay")
tap.is(select("#", clone()), 0, "nothing of nothing")

y[5] = 70
tap.is(("%g %g %g"):format(z[1], t.x[5], t.parts[1][1]), "70 70 70",
  "copies share what tensors share")
tap.is(("%g %g"):format(x[5], half[1]), "5 5", "the tensors do not change")
tap.ok(t ~= settings and t.name == "k" and getmetatable(t) == kind,
  "a table is another one with the same fields and metatable")

local k = kernel("double", function(p) p.x[threadIdx.x] = 2 * p.x[threadIdx.x] end)
k{ grid = 1, block = 8 }((clone(settings)))
tap.is(("%g"):format(x[7]), "7", "a launch on copies changes nothing")

local fixed = static_mode(zeros(f32, { 4, 2 }), 0)
tap.is(tostring(clone(fixed)), tostring(fixed), "with what is constant")
tap.is(tostring(clone(view(x, layout({ 2, 2 }, { 4, 1 })))):match "[^\n]+",
  "tensor f32 (2,2):(4,1) on cpu", "with the layout")
tap.done()
