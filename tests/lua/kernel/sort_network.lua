-- A thread's fragment in order: all sizes, both orders, types; duplicates stay.
local seed = 1
local function random() seed = seed * 1103515245 + 12345 & 0x7fffffff return seed >> 16 end
local k = kernel("k", function(x, order)
  local r = fragment(x.dtype, x.shape)
  copy(x, r)
  sort_network(r, order)
  copy(r, x)
end, { static_shapes = true })
for n = 1, 17 do
  for _, order in ipairs { "up", "down" } do
    for _, t in ipairs { f32, i32 } do
      local list = {}
      for i = 1, n do list[i] = random() % 10 - 5 end
      local x = from_table(t, list)
      k{ grid = 1, block = 1 }(x, order)
      table.sort(list, function(p, q) if order == "up" then return p < q end return p > q end)
      for i = 1, n do assert(x[i - 1] == list[i]) end
    end
  end
end
-- All inputs of zeros and ones: then it sorts any (Knuth's principle).
local x = zeros(i32, { 8, 256 })
for i = 0, 255 do for j = 0, 7 do x[{ j, i }] = i >> j & 1 end end
local rows = kernel("rows", function(x)
  local r = fragment(i32, 8)
  copy(x(_, threadIdx.x), r)
  copy(sort_network(r), x(_, threadIdx.x))
end, { static_shapes = true })
rows{ grid = 1, block = 256 }(x)
for i = 0, 255 do for j = 1, 7 do assert(x[{ j - 1, i }] <= x[{ j, i }]) end end
print "sorted" -- expect: sorted

local long = kernel("long", function() sort_network(fragment(f32, 65)) end)
print(select(2, pcall(function() long{ grid = 1, block = 1 }() end)):match "sort_network: (.*)")
-- expect: the tensor has 65 elements; a static number of at most 64 was expected
local wrong = kernel("wrong", function() sort_network(fragment(f32, 2), "left") end)
print(select(2, pcall(function() wrong{ grid = 1, block = 1 }() end)):match "sort_network: (.*)")
-- expect: the order is left; "up" or "down" was expected
