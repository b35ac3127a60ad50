-- Copies by atoms of guarded tensors: what is outside reads as zero, and is not written; where an
-- atom's elements may be on both sides of the edge, fewer are copied at once.
local M, N = 100, 44 -- no multiples of the tile

local function round_trip(name, load, store, dtype, n)
  local tc = tiled_copy(atom(load, dtype), layout { 32 // n * 2, 4 }, layout { n, 1 })
  local back = tiled_copy(atom(store, dtype), layout { 32 // n * 2, 4 }, layout { n, 1 })
  local k = kernel(name, function(A, B, S)
    local s = shared(dtype, { 64, 16 })
    local thr, out = tc:get_slice(threadIdx.x), back:get_slice(threadIdx.x)
    local crd = { blockIdx.x, blockIdx.y }
    fill(thr:partition_D(s), 7)
    copy(tc, thr:partition_S(tile(guard(A), { 64, 16 }, crd)), thr:partition_D(s))
    cp_async_wait(0)
    sync_threads()
    copy(back, out:partition_S(s), out:partition_D(tile(guard(B), { 64, 16 }, crd)))
    copy(back, out:partition_S(s), out:partition_D(tile(S, { 64, 16 }, crd)))
  end)
  local A, B = rand(dtype, { M, N }, 1, 5), zeros(dtype, { M, N })
  local S = full(dtype, { 128, 48 }, 9)
  local block = size(layout { 32 // n * 2, 4 })
  local ok, message = pcall(k { grid = { 2, 3 }, block = block }, A, B, S)
  if not ok then return message:match("needs sm_%d+") or message:gsub("^[^:]*:%d+: ", "") end
  local right = allclose(A, B, { rtol = 0, atol = 0 })
  for i = 0, 127 do
    for j = 0, 47 do
      local want = i < M and j < N and A(i, j) or 0
      right = right and S(i, j) == want
    end
  end
  return right
end
print(round_trip("load", "UniversalCopy<u128>", "UniversalCopy<u64>", f32, 4))  -- expect: true
print(round_trip("cp", "SM80_CP_ASYNC_CACHEGLOBAL<u128>", "UniversalCopy<u128>", f32, 4))  -- expect: true
print(round_trip("zfill", "SM80_CP_ASYNC_CACHEALWAYS_ZFILL<u64>", "UniversalCopy<u32>", f16, 4))
-- expect: true
print(round_trip("wide", "UniversalCopy<u128>", "UniversalCopy<u16>", f16, 8))
-- expect: true
M, N = 99, 43
print(round_trip("odd", "SM80_CP_ASYNC_CACHEGLOBAL<u128>", "UniversalCopy<u128>", f32, 4))      -- expect: true
print(round_trip("odd_halves", "SM80_CP_ASYNC_CACHEALWAYS<u64>", "UniversalCopy<u64>", f16, 4)) -- expect: true
M = 98
print(round_trip("even", "SM80_CP_ASYNC_CACHEALWAYS<u128>", "UniversalCopy<u128>", f16, 8))     -- expect: true

-- What is taken at once is as much as the launch's extents allow, and profile says what is in the way.
local ragged = kernel("ragged", function(A, B)
  local by = tiled_copy(atom("UniversalCopy<u128>", f32), layout{8, 4}, layout{4, 1})
  local mine = by:get_slice(threadIdx.x)
  copy(by, mine:partition_S(tile(guard(A), {32, 4}, {0, 0})), mine:partition_D(tile(B, {32, 4}, 0)))
end)
local function widths(m)
  local report = profile(function()
    ragged{grid = 1, block = 32}(ones(f32, {m, 4}), zeros(f32, {32, 4}))
  end)
  local text = tostring(report)
  return text:match "load global A%s+(%S+)", text:match "the guard of A may end"
end
for m = 29, 32 do print(m, widths(m)) end
-- expect: 29	1xf32	the guard of A may end
-- expect: 30	2xf32	the guard of A may end
-- expect: 31	1xf32	the guard of A may end
-- expect: 32	4xf32	nil

-- A predicate and a guard together: zeros are written where either says so.
local tc = tiled_copy(atom("SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<u128>", f32), layout { 8, 4 },
  layout { 4, 1 })
local both = kernel("both", function(A, B)
  local s = shared(f32, { 32, 8 })
  local thr = tc:get_slice(threadIdx.x)
  local from = thr:partition_S(tile(guard(A), { 32, 8 }, { 0, 0 }))
  copy_if(tc, function(_, _, j) return j < 1 end, from, thr:partition_D(s))
  cp_async_wait(0)
  sync_threads()
  copy(thr:partition_S(s), thr:partition_D(B))
end, { static_shapes = true })
local A, B = ones(f32, { 20, 8 }), full(f32, { 32, 8 }, 9)
local ok, message = pcall(both { grid = 1, block = 32 }, A, B)
if not ok then print(assert(message:match("needs sm_%d+"), message)) end
local sums = {}
for j = 0, 7 do
  sums[j + 1] = 0
  for i = 0, 31 do sums[j + 1] = sums[j + 1] + B(i, j) end
end
print(table.unpack(sums))  -- expect: 20.0	20.0	20.0	20.0	0.0	0.0	0.0	0.0
