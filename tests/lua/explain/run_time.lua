-- In a kernel, extents and strides that only the run knows print as ?, whatever the traced launch
-- had; explain says what the static modes give.
local function first_lines(x, heading)
  local found, is_on = {}, false
  for line in explain(x, {text = true}):gmatch("[^\n]+") do
    if line:find("^%S") then is_on = line:find(heading, 1, true) == 1 end
    if is_on then found[#found + 1] = line end
  end
  print(table.concat(found, "|"))
end

local k = kernel("k", function(A, n)
  local gA = tile(A, {16, 8}, {blockIdx.x, _})
  local tAgA = parallelize(gA, "(8,4)", threadIdx.x)
  print(A.layout, A.shape, A.stride, tostring(A), ("%s"):format(gA.layout))
  print(get_mode(gA.layout, 2), composition(gA.layout, "(8,2)"), col_major{4, n})
  first_lines(tAgA, "partition")
  first_lines(tAgA, "owns")
  first_lines(tAgA, "offsets")
  first_lines(gA, "contiguity")
  first_lines(A, "offsets")
  first_lines(parallelize(A, "(8,4)", threadIdx.x), "owns")
end)
k{grid = 1, block = 32}(zeros(f32, {32, 64}), 5)
-- expect: (?,?):(1,?)	(?,?)	(1,?)	tensor A f32 (?,?):(1,?) in global memory	(16,8,?):(1,?,?)
-- expect: ?:?	(8,2):(1,?)	(4,?):(1,4)
-- expect: partition     of (16,8,?):(1,?,?) among the 32 threads of (8,4):(1,8); this is the part of thread threadIdx, known at run time|              listed for coordinate 0 of mode 2: only the run knows the extent
-- expect: owns          thread 0: (0,0,0) (8,0,0) (0,4,0) (8,4,0)|              thread 1: (1,0,0) (9,0,0) (1,4,0) (9,4,0)|              thread 2: (2,0,0) (10,0,0) (2,4,0) (10,4,0)|              thread 3: (3,0,0) (11,0,0) (3,4,0) (11,4,0)|              ... 28 more; explain(x, {thread = n}) or {coord = {i, j}} asks for one
-- expect: offsets       0 8 by mode 0; the run adds those of modes 1, 2
-- expect: contiguity    runs of 16 elements in memory along mode 0
-- expect: offsets       known at run time
-- expect: owns          (?,?):(1,?) has extents known at run time: no list of elements

-- Another launch of another size says the same, because it is the same kernel; with static_shapes
-- numbers are constants.
kernel("again", function(A) print(A.layout) end){grid = 1, block = 1}(zeros(f32, row_major{3, 5}))
-- expect: (?,?):(?,1)
local fixed = kernel("fixed", function(A) print(A.layout) end, {static_shapes = true})
fixed{grid = 1, block = 1}(zeros(f32, {3, 5}))
-- expect: (3,5):(1,3)
