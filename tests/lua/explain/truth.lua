-- What explain says holds: vectors are aligned, owners are those of the definition, and no size of
-- a gap, no empty layout, step backwards or place beyond the end leads astray.
local function line_of(x, heading, options)
  options = options or {}
  options.text = true
  return explain(x, options):match(heading .. "%s+([^\n]*)")
end

-- The offsets are aligned groups of as many elements as one access is said to take.
local function check_vectors(layout)
  local width = math.tointeger(line_of(layout, "vectors"):match("f32: (%d+) element"))
  local seen = {}
  for _, offset in ipairs(layout:values()) do
    seen[offset] = true
  end
  for offset in pairs(seen) do
    local first = offset - offset % width
    for i = first, first + width - 1 do
      if not seen[i] then
        print(layout, "offset " .. offset .. " has no vector of " .. width)
        return
      end
    end
  end
end

local extents, strides = { 1, 2, 3, 4, 6, 8 }, { 0, 1, 2, 3, 4, 6, 8, 12, 16, -1, -4 }
local state = 1
local function pick(list)
  state = (state * 48271) % 2147483647
  return list[state % #list + 1]
end

local swizzles = { "", "", "", "Sw<1,2,2> o 0 o ", "Sw<1,1,2> o 2 o ",
  "Sw<2,0,3> o 0 o ", "Sw<1,2,3> o 4 o " }
for _ = 1, 3000 do
  local swizzle = pick(swizzles)
  local rank, shape, stride = pick { 1, 2, 3 }, {}, {}
  for i = 1, rank do
    shape[i], stride[i] = pick(extents), pick(strides)
    if swizzle ~= "" then stride[i] = math.abs(stride[i]) end
  end
  check_vectors(L(swizzle .. tostring(layout(shape, stride))))
end

print(line_of("(4,8):(3,1)", "vectors"))
-- expect: f32: 1 element in one access (32 bits), as stride 3 of mode 0 is not a multiple of 4
print(line_of("6:1", "vectors"))
-- expect: f32: 2 elements in one access (64 bits), as 6 is not a multiple of 4
print(line_of("(2,4):(-4,1)", "vectors"))
-- expect: f32: 4 elements in one access (128 bits)
print(line_of("8:-1", "contiguity"))
-- expect: no mode goes through memory element by element
print(line_of("8:-1", "coverage"))
-- expect: each offset -7..0 exactly once
print(line_of("(4,0):(1,4)", "coverage"), line_of("(4,0):(1,4)", "vectors"))
-- expect: no elements	nil
print(line_of("(2,2):(1,1000000000000)", "missed:"))
-- expect: 2..999999999999
print(line_of("(1048576,2)", "place", { coord = { 5, 1 } }))
-- expect: (5,1) is at offset 1048581

-- A part that reaches beyond the tensor says so, and does not name elements of the next column.
local ragged = parallelize("(3,2):(1,8)", "2", 0)
print(line_of(parallelize("(3,2)", "(2,1)", 0), "owns", { thread = 1 }))
-- expect: thread 1: (1,0) (3,0)! (1,1) (3,1)!
print(line_of(parallelize("(3,2)", "(2,1)", 0), "outside:"))
-- expect: 2 places beyond the end, marked !
print(line_of(ragged, "owns", { thread = 1 }), line_of(ragged, "coverage"))
-- expect: thread 1: (1,0) (3,0)! (1,1) (3,1)!	each element 0..5 exactly once
print(line_of("(2,3):(1,2)", "owns", { tile = { 4 }, thread = 0 }))
-- expect: thread 0: (0) (2) 4!
print(line_of("(2,3):(1,2)", "outside:", { tile = { 4 } }))
-- expect: 2 places beyond the end, marked !

-- Parts under _ are steps too; a complement says what it is for.
print(explain(logical_divide("(8,8)", { _, 4 }), { text = true }):match("mode 0: [^\n]*"))
-- expect: mode 0: a mode under _ stays whole
print(explain(complement("(2,2):(1,6)", 24), { text = true }):match("copies of [^\n]*"))
-- expect: copies of (2,2):(1,6) that begin at the indices of (3,2):(2,12) fill all below 24, none overlap
