-- Tiles that end inside an inner mode of a guarded tensor: the mode counts as padded, as CuTe's divides
-- make it, and what lies in the padding is neither read nor written. The padding's indices are those
-- of other elements, so each element is checked to be visited once, by the tile that owns it.

-- How often f(t, visits) reaches each element of a tensor of this layout, as a text: "1 x 80".
local function visits(l, n_threads, visit)
  local n = cosize(l)
  local memory, count = arange(f32, n), zeros(i32, n)
  local bad = zeros(i32, 1)
  kernel("visit", function(t, c, b)
    visit(guard(view(t, l)), guard(view(c, l)), b)
  end) { grid = 1, block = n_threads, check = not device().sm }(memory, count, bad)
  local texts = {}
  for i = 0, size(l) - 1 do
    local times = count[l(i)]
    texts[times] = (texts[times] or 0) + 1
  end
  local other = 0
  for i = 0, n - 1 do other = other + count[i] end
  for times, k in pairs(texts) do
    other = other - times * k
    texts[times] = ("%d x %d"):format(times, k)
  end
  return texts[1] or "none once", texts[0] or "all", other, bad[0]
end

-- Adds 1 to each element of the part, and notes a value that is not the element's own place.
local function count_part(t, c, b)
  for i = 0, size(t) - 1 do
    c[i] = c[i] + 1
    if t[i] < 0.0 then b[0] = 1 end
  end
end

-- By tile: mode 0 of (5,16) by 4 has 2 x 16 tiles, the last of each column with one element.
print(visits(L "((5,16)):((64,4))", 1, function(t, c, b)
  for k = 0, 31 do count_part(tile(t, { 4 }, { k }), tile(c, { 4 }, { k }), b) end
end)) -- expect: 1 x 80	all	0	0

-- A column-major one, whose memory coalesces though its coordinates do not.
print(visits(L "((5,3,4),2)", 1, function(t, c, b)
  for j = 0, 1 do
    for k = 0, 2 * 3 * 4 - 1 do
      count_part(tile(t, { 4, 1 }, { k, j }), tile(c, { 4, 1 }, { k, j }), b)
    end
  end
end)) -- expect: 1 x 120	all	0	0

-- By a divide of the whole, and tiles that are no run of neighbours: 2:2 takes 0 and 2.
for i, tiler in ipairs { "4", "2:2", "3:1" } do
  print(i, tiler, visits(L "(5,16):(64,4)", 1, function(t, c, b)
    local tiles, counts = zipped_divide(t, tiler), zipped_divide(c, tiler)
    for k = 0, size(tiles, 1) - 1 do count_part(tiles(_, k), counts(_, k), b) end
  end))
end
-- expect: 1	4	1 x 80	all	0	0
-- expect: 2	2:2	1 x 80	all	0	0
-- expect: 3	3:1	1 x 80	all	0	0

-- By threads.
print(visits(L "((5,16)):((64,4))", 4, function(t, c, b)
  local mine = parallelize(t, layout(4), threadIdx.x)
  count_part(mine, parallelize(c, layout(4), threadIdx.x), b)
end)) -- expect: 1 x 80	all	0	0

-- A part of a guarded part: both guards hold.
print(visits(L "((6,5),7):((1,6),30)", 1, function(t, c, b)
  for i = 0, 2 * 5 - 1 do
    for j = 0, 1 do
      local part, counts = tile(t, { 4, 4 }, { i, j }), tile(c, { 4, 4 }, { i, j })
      for k = 0, 1 do
        for m = 0, 1 do
          count_part(tile(part, { 3, 3 }, { k, m }), tile(counts, { 3, 3 }, { k, m }), b)
        end
      end
    end
  end
end)) -- expect: 1 x 210	all	0	0

-- A copy of tiles brings what is inside, and only that.
local from, to = arange(f32, 16 * 64 + 5 * 4), full(f32, 16 * 64 + 5 * 4, -1.0)
local l = L "((5,16)):((64,4))"
kernel("move", function(a, b)
  for k = 0, 31 do
    copy(tile(guard(view(a, l)), { 4 }, { k }), tile(guard(view(b, l)), { 4 }, { k }))
  end
end) { grid = 1, block = 1 }(from, to)
local moved, kept = 0, 0
for i = 0, size(to) - 1 do
  if to[i] == i then moved = moved + 1 elseif to[i] == -1 then kept = kept + 1 end
end
print(moved, moved + kept == size(to)) -- expect: 80	true

-- Without a guard the padding would be read: refused.
print(pcall(function()
  kernel("k", function(t)
    t[0] = tile(view(t, l), { 4 }, { 1 })[0]
  end) { grid = 1, block = 1 }(from)
end))
-- expect: false	tests/lua/kernel/guard_nested_modes.lua:97: tile: tiler (4) ends inside a mode of t ((5,16)):((64,4)); pad the tensor or write guard(t)
print(pcall(zipped_divide, view(from, L "(5,16):(64,4)"), "4"))
-- expect: false	tests/lua/kernel/guard_nested_modes.lua:101: zipped_divide: tiler 4 ends inside a mode of the tensor (5,16):(64,4); pad the tensor
