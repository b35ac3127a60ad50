-- A layout remembers the operation that made it and its operands, for pictures; chains are cut.
local z = zipped_divide("(8,8):(8,1)", { 2, 4 })
print(z:origin()) -- expect: zipped_divide	(8,8):(8,1)	(2,4)
local c = z:coalesce()
print(select(2, c:origin())) -- expect: ((2,4),(4,2)):((8,1),(16,4))
print(select("#", L"4:1":origin())) -- expect: 0

-- What a script changes afterwards is not what was given.
local tiler = { 2, 4 }
local t = tiled_divide("(8,8):(8,1)", tiler)
tiler[1] = 100
print(t:origin()) -- expect: tiled_divide	(8,8):(8,1)	(2,4)

local function ancestors(l)
  local op, a = l:origin()
  return op == nil and 0 or 1 + ancestors(a)
end
local l = L"(4,8):(8,1)"
for _ = 1, 1000 do
  l = l:flatten()
end
print(ancestors(l) <= 16, ancestors(l) > 0) -- expect: true	true

-- The parts of a tensor know how they were cut, in kernels as well.
print(select(1, tile("(8,8):(8,1)", { 2, 2 }, { 0, 1 })):origin()) -- expect: tile	(8,8):(8,1)	(2,2)	(0,1)
-- A coordinate is no tiler: it may be negative.
print(select(2, tile("(8,8):(8,1)", { 2, 2 }, { -1, 0 }))) -- expect: -16
local k = kernel("parts", function(A)
  local part = parallelize(tile(A, { 8, 4 }, { 0, _ }), layout { 4, 4 }, threadIdx.x, { 1, _ })
  local op, of, threads, _, projection = part.layout:origin()
  print(op, threads, projection, (of:origin())) -- expect: parallelize	(4,4):(1,4)	(1,_)	tile
end)
k { grid = { 1 }, block = { 16 } }(zeros(f32, { 8, 8 }))
