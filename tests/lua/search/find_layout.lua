-- find_layout: every candidate gives each element of the tile to one thread and value; what wins is what
-- people write by hand; sectors and widths are those that are counted when a kernel copies so.
package.path = "tests/support/?.lua;" .. package.path
local internal = require "internal"

local function check_partition(found, tile)
  for _, c in ipairs(found.candidates) do
    local tv, shape = tv_layout(c.thr, c.val)
    assert(size(tv, 0) == found.n_threads, "a thread is idle")
    for i, extent in ipairs(tile) do assert(extent % shape[i] == 0) end
    local seen = {}
    for i = 0, size(tv) - 1 do
      assert(not seen[tv(i)])
      seen[tv(i)] = true
    end
    assert(size(tv) * c.instructions == size(layout(tile)))
  end
end

local function show_best(tile, n_threads, dtype, options)
  local found = find_layout(tile, n_threads, dtype, options)
  check_partition(found, tile)
  local best = found.candidates[1]
  print(found.thr, found.val, best.bytes, best.instructions, best.sectors, best.ideal)
end

show_best({128, 8}, 256, f32)                     -- expect: (32,8):(1,32)	(4,1):(1,0)	16	1	16.0	16.0
show_best({128, 64}, 128, f16, {order = "row"})   -- expect: (16,8):(8,1)	(1,8):(0,1)	16	8	16.0	16.0
show_best({128, 64}, 128, f16, {order = {1, 512}})  -- expect: (16,8):(1,16)	(8,1):(1,0)	16	8	16.0	16.0
show_best({6, 32}, 96, f32)                       -- expect: (3,32):(1,3)	(2,1):(1,0)	8	1	11.333333333333	8.0
show_best({128, 64}, 128, f16, {order = {1, 513}})  -- expect: (128,1):(1,0)	(1,1):(0,0)	2	64	2.0	2.0
show_best({4, 16, 8}, 128, i8, {order = "row"})   -- expect: (4,16,2):(32,2,1)	(1,1,4):(0,0,1)	4	1	16.0	4.0
show_best({64}, 64, f64)                          -- expect: (64):(1)	(1):(0)	8	1	8.0	8.0
print(find_layout(64, 64, f64).thr)               -- expect: (64):(1)

-- Copied so by a kernel: requests, width and sectors of the first candidates.
local function counted(c, A)
  local tv, shape = tv_layout(c.thr, c.val)
  local k = kernel("copy_so", function(a)
    local pieces = zipped_divide(a, shape)
    for p in axes(pieces, 1) do
      local mine = composition(pieces(_, p), tv)(threadIdx.x, _)
      copy(mine, fragment_like(mine))
    end
  end, {static_shapes = true})
  local session <close> = internal.watch.profile_begin(0)
  k{grid = 1, block = size(c.thr)}(A)
  for _, row in ipairs(session:finish()[1].rows) do
    if #row.mem > 0 then return row.mem[1] end
  end
end

local cases = {
  { {128, 64}, 128, f16, row_major{128, 64} },
  { {128, 8}, 256, f32, layout({128, 8}, {1, 128}) },
  { {128, 8}, 256, f32, layout({128, 8}, {1, 132}) },
  { {24, 16}, 96, f32, layout({24, 16}, {20, 1}) },
}
for _, case in ipairs(cases) do
  local tile, n_threads, dtype, l = table.unpack(case)
  local n = 0
  local order = {stride(l, 0), stride(l, 1)}
  for _, c in ipairs(find_layout(tile, n_threads, dtype, {order = order}).candidates) do
    if n < 12 then
      n = n + 1
      local mem = counted(c, zeros(dtype, l))
      local n_warps = cdiv(n_threads, 32)
      assert(mem.requests == n_warps * c.instructions, tostring(c.thr))
      assert(mem.vec * mem.element_bytes == c.bytes, tostring(c.thr))
      if l == row_major{128, 64} then -- its rows begin where sectors do
        assert(mem.sectors == c.sectors * mem.requests, tostring(c.thr))
      end
    end
  end
end

-- Conflicts of the writes to a shared tensor decide among what is equal else.
local plain = find_layout({128, 64}, 128, f16, {order = "row", shared = row_major{128, 64}})
local padded = find_layout({128, 64}, 128, f16,
  {order = "row", shared = composition(swizzle(2, 3, 3), row_major{128, 64})})
print(plain.thr, plain.candidates[1].writes.conflicts)    -- expect: (16,8):(8,1)	0
print(padded.candidates[1].writes.conflicts)              -- expect: 0
print(tostring(plain):match("write conflicts"))           -- expect: write conflicts
