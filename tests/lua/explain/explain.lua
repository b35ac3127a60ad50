-- explain: roles of modes, how a layout was made, vectors, coverage, owners; the same of parts of
-- tensors, in kernels too.
local function says(x, options, ...)
  options.text = true
  local text = explain(x, options)
  for _, expected in ipairs { ... } do
    if not text:find(expected, 1, true) then
      print("no '" .. expected .. "' in", text)
    end
  end
end

says("(4,8):(8,1)", {}, "0       4:8  steps of 8 elements", "1       8:1  contiguous",
  "runs of 32 elements", "f32: 4 elements in one access (128 bits)",
  "each offset 0..31 exactly once")
says("(128,8):(1,129)", { dtype = f32 },
  "f32: 1 element in one access (32 bits), as stride 129 of mode 1 is not a multiple of 4",
  "missed: 128, 257, 386, 515, 644, 773, 902")
says("(4,(2,2)):(0,(2,3))", {}, "broadcast", "no mode goes through memory element by element",
  "more than once: 0, 2..3, 5", "missed: 1, 4")
says("(4,8):(8,1)", { coord = { 1, 2 }, offset = 9 }, "(1,2) is at offset 10",
  "offset 9 is that of (1,1)")

-- The steps of the definition, with what they gave.
says(zipped_divide("(8,8):(8,1)", { 2, 4 }):coalesce(), {},
  "zipped_divide((8,8):(8,1), (2,4)) = ((2,4),(4,2)):((8,1),(16,4))", "tile: 8:8 o 2:1 = 2:8",
  "rest: 8:1 o 2:4 = 2:4, where 2:4 = complement(4:1, 8)", "coalesce(((2,4),(4,2)):((8,1),(16,4)))")
says(composition("(20,2):(16,4)", "(4,5):(1,4)"), {}, "(20,2):(16,4) o 5:4 = 5:64")
says(blocked_product("(2,5):(5,1)", "(3,4):(1,3)"), {},
  "12:10 o (3,4):(1,3) = (3,4):(10,30), where 12:10 = complement((2,5):(5,1), 120)")

-- Who owns what, both ways round.
local tv <const> = tv_layout("(4,8):(8,1)", "(2,2)")
says(tv, { thread = 31, coord = { 3, 4 } }, "(3,4) belongs to thread 10 value 1",
  "thread 31: (6,14) (7,14) (6,15) (7,15)", "each element 0..127 exactly once")
says("(4,2):(1,2)", { tile = "(2,4)" }, "elements 0..7: 2 missed, 2 more than once")

local staged = kernel("staged", function(A)
  says(parallelize(A, layout { 4, 4 }, threadIdx.x), {}, "extents known at run time")
  local s = shared(f32, layout({ 8, 8 }, { 1, 9 }))
  says(parallelize(s, layout { 4, 4 }, threadIdx.x), { thread = 5 },
    "f32 (2,2):(4,36) in shared memory",
    "thread 5: (1,1) (5,1) (1,5) (5,5)", "each element 0..63 exactly once")
end)
staged { grid = { 1 }, block = { 16 } }(zeros(f32, { 8, 8 }))

-- What tv_layout, tile and parallelize return can be explained and drawn as it is.
explain(parallelize("(4,4):(1,9)", "(1,4)", 3))
-- expect: layout        (4,1):(1,0)
-- expect: modes         0       4:1  contiguous
-- expect:               1       1:0  one element
-- expect: made by       parallelize((4,4):(1,9), (1,4), 3) = (4,1):(1,0)
-- expect:                 tiles of (1,4), the shape of the 4 threads (1,4)
-- expect:                 each thread keeps its element of every tile of (4,4):(1,9)
-- expect: partition     of (4,4):(1,9) among the 4 threads of (1,4):(0,1); this is the part of thread 3
-- expect: owns          thread 0: (0,0) (1,0) (2,0) (3,0)
-- expect:               thread 1: (0,1) (1,1) (2,1) (3,1)
-- expect:               thread 2: (0,2) (1,2) (2,2) (3,2)
-- expect:               thread 3: (0,3) (1,3) (2,3) (3,3)
-- expect: coverage      each element 0..15 exactly once
-- expect: contiguity    runs of 4 elements in memory
-- expect: vectors       f32: 1 element in one access (32 bits), as parts begin at multiples of 9
-- expect:               f16: 1 element in one access (16 bits), as parts begin at multiples of 9
show(parallelize("(2,2)", "(2,1)", 1))
-- expect: (2,2):(1,2) among the threads (2,1):(1,0), thread 1
-- expect:          0       1
-- expect:   ┌────────────────┐
-- expect: 0 │   T0V0    T0V1 │
-- expect: 1 │ [T1V0]  [T1V1] │
-- expect:   └────────────────┘

-- A mistake is the caller's line.
print((select(2, pcall(explain, tv, { thread = 32 }))))
-- expect: tests/lua/explain/explain.lua:73: explain: thread is 32; an integer from 0 to 31 was expected
