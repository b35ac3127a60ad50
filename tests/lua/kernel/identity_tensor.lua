-- identity_tensor(shape): the elements of its parts are coordinates in the whole, on the host and, with
-- run-time values, in kernels; elem_less compares them.
local c = identity_tensor { 6, { 2, 3 } }
print(c)  -- expect: tensor of coordinates (6,(2,3)):(1@0,(1@0@1,1@1@1)) from (0,(0,0))
print(c[{ 5, { 1, 2 } }], c(2, 3), c[7], size(c), shape(c), c.dtype)
-- expect: (5,(1,2))	(2,(1,1))	(1,(1,0))	36	(6,(2,3))	nil
print(tile(c, { 4, 2 }, { 1, 1 }))
-- expect: tensor of coordinates (4,2):(1@0,1@0@1) from (4,(0,1))
print(parallelize(c, layout { 4, 2 }, 3)[0], identity_tensor(7)[3])  -- expect: (3,(0,0))	3
print(identity_tensor({ 8, 8 })(_, 3)[2], group_modes(identity_tensor { 2, 3, 4 }, 0, 2)[{ 5, 1 }])
-- expect: (2,3)	(1,2,1)

-- What a part of the data holds lies where the part of the coordinates says.
local data = arange(i32, { 6, 6 })
local function check(part)
  local d, x = part(data), part(identity_tensor { 6, 6 })
  for i = 0, size(d) - 1 do assert(data[x[i]] == d[i], i) end
end
check(function(t) return tile(t, { 3, 2 }, { 1, 2 }) end)
check(function(t) return parallelize(tile(t, { 6, 3 }, { 0, 1 }), layout { 2, 3 }, 4) end)
check(function(t) return zipped_divide(t, { 2, 3 })(_, 3) end)
check(function(t) return select(t:flat_divide { 2, 3 }, 2, 0) end)

-- In a kernel, by hand what guard does: tiles that overhang.
local by_hand = kernel("by_hand", function(x, out)
  local function part(t)
    return parallelize(tile(t, { 4, 4 }, { blockIdx.x, blockIdx.y }), layout { 4, 1 }, threadIdx.x)
  end
  local coords = part(identity_tensor(shape(x)))
  local p = fragment_like(coords, bool)
  for i = 0, size(p) - 1 do
    p[i] = elem_less(coords[i], shape(x))
    if elem_less(coords[i], { 4, size(x, 1) }) then out[coords[i]] = coords[i][1] + coords[i][2] end
  end
  copy_if(p, part(guard(x)), part(guard(out)))
end)
local from, out = full(i32, { 5, 6 }, -7), zeros(i32, { 5, 6 })
by_hand { grid = { 2, 2 }, block = 4 }(from, out)
for i = 0, size(out) - 1 do assert(out[i] == -7, i) end

-- Nested shapes; a static side; a shorter coordinate; one that is longer.
local less = kernel("less", function(out)
  local t = threadIdx.x
  out[t] = where(elem_less({ t, { 1, t - 1 } }, { 3, { 2, 9 } }), 1, 0)
    + where(elem_less({ t }, { 2, 0 }), 10, 0) + where(elem_less({ 0, t }, { 5 }), 100, 0)
    + where(elem_less(t, 4), 1000, 0)
end)
local found = zeros(i32, 5)
less { grid = 1, block = 5 }(found)
print(found[0], found[1], found[2], found[3], found[4])  -- expect: 1011	1011	1001	1000	0

-- Bounds below 0.
local below = zeros(i32, 4)
kernel("below", function(out)
  local t = threadIdx.x
  out[t] = where(elem_less(t - 4, -1), 1, 0) + where(elem_less({ t - 3 }, { -1 }), 10, 0)
end) { grid = 1, block = 4 }(below)
print(below[0], below[1], below[2], below[3])  -- expect: 11	11	1	0
