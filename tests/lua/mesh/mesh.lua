-- Meshes: axes, coordinates, ranks, groups.
local m = mesh{model = 4, data = 2}
print(m, size(m), size(m, "model"), rank(m), m.axes[1]) -- expect: mesh (data=2,model=4):(1,2)	8	4	2	data
print(m == mesh"(data=2,model=4)", m == mesh"(model=4,data=2)", mesh(m) == m) -- expect: true	false	true
print(m:rank{data = 1, model = 2}, m:rank{model = 3}, m:rank{}) -- expect: 5	6	0

local function text(list) return table.concat(list, " ") end
print(text(m:group(5)), "", text(m:group(5, "model")), "", text(m:group(5, {"model", "data"}))) -- expect: 0 1 2 3 4 5 6 7		1 3 5 7		0 2 4 6 1 3 5 7

-- A row-major mesh, and an axis that is spread over two levels.
print(mesh(L"(data=2,model=4):(4,1)"):rank{data = 1, model = 2}) -- expect: 6
local deep = mesh"(a=(2,2),b=3):((1,6),2)"
print(text(deep:group(0, "a")), deep.extent.a, deep:coord(9).a, deep:coord(9).b) -- expect: 0 1 6 7	4	3	1

-- Laws on random meshes: coordinates and ranks are inverses; groups over axes divide the ranks.
local function permuted(n)
  local p = {}
  for i = 1, n do table.insert(p, math.random(i), i) end
  return p
end

local function random_mesh()
  local n = math.random(3)
  local shape, stride, at = {}, {}, 1
  for i = 1, n do shape[i] = math.random(4) end
  for _, i in ipairs(permuted(n)) do stride[i], at = at, at * shape[i] end
  return mesh(layout(shape, stride):named(table.unpack({"a", "b", "c"}, 1, n)))
end

local function check_groups(x, axes)
  local seen, n = {}, 0
  for _, group in ipairs(x:groups(axes)) do
    assert(#group == x:span(axes))
    for i, r in ipairs(group) do
      assert(not seen[r] and x:place(r, axes) == i - 1)
      assert(text(x:group(r, axes)) == text(group))
      seen[r], n = true, n + 1
    end
  end
  assert(n == x.n)
end

math.randomseed(19)
local n_ranks = 0
for _ = 1, 200 do
  local x = random_mesh()
  for r = 0, x.n - 1 do
    local coord, at = x:coord(r), {}
    assert(x:rank(coord) == r)
    for i, name in ipairs(x.axes) do at[i] = coord[name] end
    assert(x.layout(table.unpack(at)) == r)
    n_ranks = n_ranks + 1
  end
  check_groups(x, nil)
  for i = 1, #x.axes do check_groups(x, x.axes[i]) end
  check_groups(x, {x.axes[#x.axes], #x.axes > 1 and x.axes[1] or nil})
end
print(n_ranks > 1000) -- expect: true
