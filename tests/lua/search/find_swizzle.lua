-- find_swizzle on accesses that are known: what wins, with which conflicts.
local function way(cost) return cost.wavefronts / (cost.wavefronts - cost.conflicts) end

-- CuTe's sgemm_sm80, TN: 16-byte cp.async by threads (16,8):(8,1) into the unswizzled atom are 8-way,
-- ldmatrix has no conflicts with or without the swizzle, which takes out those of the writes.
local plain = tile_to_shape(L"(8,(8,8)):(8,(1,64))", {128, 64, 3})
local theirs = tile_to_shape(composition(swizzle(3, 3, 3), L"(8,(8,8)):(8,(1,64))"), {128, 64, 3})
local accesses = { dtype = f16, writes = {thr = "(16,8):(8,1)", val = "(1,8)"},
                   reads = "ldmatrix.x4" }
local found = find_swizzle(plain, accesses)
print(found.layout == theirs)               -- expect: true
print(found.best.conflicts)                 -- expect: 0
print(way(found.now.writes), found.now.reads.conflicts)  -- expect: 8.0	0
found = find_swizzle(theirs, accesses)
print(found.now == found.best, found.layout == theirs, #found.requests)  -- expect: true	true	192

-- The same of the tutorial's tiled copies themselves.
local mma = tiled_mma("SM80_16x8x16_F16F16F16F16_TN", { 2, 2 }, { 32, 32, 16 })
found = find_swizzle(plain, { dtype = f16,
  writes = tiled_copy(atom("SM80_CP_ASYNC_CACHEALWAYS<u128>", f16), "(16,8):(8,1)", "(1,8)"),
  reads = tiled_copy_A(atom("SM75_U32x4_LDSM_N", f16), mma) })
print(found.layout == theirs, found.best.conflicts)  -- expect: true	0
print(way(found.now.writes), found.now.reads.conflicts)  -- expect: 8.0	0
local one = tiled_copy(atom("SM75_U32x1_LDSM_N", f16), row_major { 8, 4 }, row_major { 1, 2 })
found = find_swizzle(row_major { 8, 64 }, { dtype = f16, reads = one })
print(way(found.now.reads), found.best.conflicts, #found.requests, found.requests[1][8],
  found.requests[1][9])                     -- expect: 8.0	0	8	896	false
print(pcall(find_swizzle, layout { 8, 64 }, { dtype = f16, reads = one }))
-- expect: false	tests/lua/search/find_swizzle.lua:28: find_swizzle: SM75_U32x1_LDSM_N accesses 8 elements of f16 at once, which the layout (8,64):(1,8) does not keep together and aligned

-- A transpose of 32x32 floats: rows written, columns read.
found = find_swizzle("(32,32):(32,1)", { dtype = f32,
  writes = {thr = row_major{1, 32}, val = "(1,1)"}, reads = {thr = layout{32, 1}, val = "(1,1)"} })
local by_text = {}
for _, c in ipairs(found.candidates) do by_text[c.text] = c end
print(found.layout)                                                 -- expect: Sw<5,0,5> o 0 o (32,32):(32,1)
print(by_text["(32,32):(33,1)"].conflicts, by_text["(32,32):(33,1)"].bytes)  -- expect: 0	4220
print(found.now.reads.conflicts, way(found.now.reads))              -- expect: 992	32.0

-- The same tile of f16, 64x64, with 16-byte writes of rows; columns of 8 rows read as 16 bytes too.
found = find_swizzle(row_major{64, 64}, { dtype = f16,
  writes = {thr = row_major{16, 8}, val = row_major{1, 8}}, reads = "ldmatrix.x4" })
print(found.layout, found.best.conflicts)   -- expect: Sw<3,3,3> o 0 o (64,64):(64,1)	0
print(way(found.now.reads), found.now.writes.conflicts)  -- expect: 8.0	0
for _, c in ipairs(found.candidates) do     -- nothing tears 8 elements apart
  assert(not c.layout.swizzle or c.layout.swizzle.base >= 3)
  assert(c.layout.swizzle or c.layout.stride[1] % 8 == 0)
end

-- All forms of an access say the same.
local lanes = {}
for i = 0, 31 do lanes[i + 1] = i * 32 end
local forms = {
  {thr = layout{32, 1}, val = "(1,1)"},
  {tv = layout({32, 32}, {1, 32}), vec = 1},
  {},
}
for column = 0, 31 do
  local list = {}
  for i = 0, 31 do list[i + 1] = i * 32 + column end
  forms[3][column + 1] = list
end
for _, form in ipairs(forms) do
  local f = find_swizzle("(32,32):(32,1)", { dtype = f32, reads = form })
  print(#f.requests, f.now.reads.conflicts)
end
-- expect: 32	992
-- expect: 32	992
-- expect: 32	992
print(find_swizzle("(32,32):(32,1)", { dtype = f32, reads = lanes }).now.reads.conflicts)     -- expect: 31
lanes[32], lanes.count = false, 3
print(find_swizzle("(32,32):(32,1)", { dtype = f32, reads = lanes }).now.reads.conflicts)     -- expect: 90

-- Options keep candidates out.
local function kinds(options)
  options.dtype, options.reads = f32, {thr = layout{32, 1}, val = "(1,1)"}
  local seen = {}
  for _, c in ipairs(find_swizzle("(32,32):(32,1)", options).candidates) do
    seen[c.kind] = c.bytes
  end
  return seen.plain, seen.swizzle, seen.padding and seen.padding > 4096
end
print(kinds{})                   -- expect: 4096	4096	true
print(kinds{swizzle = false})    -- expect: 4096	nil	true
print(kinds{padding = false})    -- expect: 4096	4096	nil
print(kinds{max_bytes = 4096})   -- expect: 4096	4096	nil

-- A swizzle that tears the vectors apart is no candidate.
found = find_swizzle("Sw<1,0,3> o 0 o (64,64):(64,1)", { dtype = f16, reads = "ldmatrix.x4" })
for _, c in ipairs(found.candidates) do assert(c ~= found.now) end
print(found.now.text)            -- expect: Sw<1,0,3> o 0 o (64,64):(64,1)

-- A stencil over rows of 18: only a stride of 16 modulo 32 words keeps two rows of threads apart.
local function stencil(s_layout)
  return kernel("stencil", function(x, y)
    local s = shared(f32, s_layout)
    for e = threadIdx.y * 16 + threadIdx.x, 323, 256 do s[e] = x[e] end
    sync_threads()
    local sum = 0.0
    for i = 0, 2 do
      for j = 0, 2 do sum = sum + s[{threadIdx.x + i, threadIdx.y + j}] end
    end
    y[{threadIdx.x, threadIdx.y}] = sum
  end){grid = 1, block = {16, 16}}
end
local x, y = rand(f32, 324), zeros(f32, {16, 16})
found = find_swizzle(stencil(layout{18, 18}), "s", x, y)
print(found.layout, found.best.reads.conflicts, found.now.reads.conflicts)  -- expect: (18,18):(1,48)	0	72

-- The table has the best of each kind that helps, and says when none does.
local function rows_of(f)
  local text = tostring(f)
  return select(2, text:gsub("\n +%d+  ", "")), text:match("\n(%l[^\n]*)$")
end
print(rows_of(found))                       -- expect: 3	nil
print(rows_of(find_swizzle(stencil(layout({18, 18}, {1, 48})), "s", x, y)))
-- expect: 1	nothing helps: no layout tried has fewer conflicts; let the lanes access other elements
print(rows_of(find_swizzle("(32,32):(1,32)",
  { dtype = f32, reads = {thr = layout{32, 1}, val = "(1,1)"} })))
-- expect: 1	the current layout has no conflicts: nothing to gain
print(rows_of(find_swizzle("(32,32):(1,32)",
  { dtype = f32, rows = 4, reads = {thr = layout{32, 1}, val = "(1,1)"} })))
-- expect: 4	the current layout has no conflicts: nothing to gain
