-- Calls of tma_load and tma_store that are many boxes, and how few would do: layouts of these do.
-- needs sm_90
device("cpu")
local function through(tile_shape, place, dtype, order)
  local first = #tile_shape == 3 and {0, 0, 0} or {0, 0}
  local k = kernel("through", function(A, C)
    local s = shared(dtype, place)
    local full = mbarrier(1, 1)
    sync_threads()
    if threadIdx.x == 0 then
      full[0]:arrive_expect_tx(size(s) * dtype.bits // 8)
      tma_load(tile(tma_tensor(A), tile_shape, first), s, full[0])
    end
    full[0]:wait(0)
    fence_proxy_async()
    sync_threads()
    if threadIdx.x == 0 then
      tma_store(s, tile(tma_tensor(C), tile_shape, first))
      tma_store_commit()
      tma_store_wait(0)
    end
  end)
  return k{grid = 1, block = 32}, ones(dtype, order(tile_shape)), zeros(dtype, order(tile_shape))
end

local function profile_of(...)
  local launch, A, C = through(...)
  return profile(function() launch(A, C) end)
end

local function hints(...)
  local text = tostring(profile_of(...)):gsub("\n    ", " ")
  for hint in text:gmatch "%- (line %d+, tma_[^\n]*)" do print(hint) end
end

-- Rows longer than a box, and those with gaps.
hints({8, 512}, row_major{8, 512}, bf16, row_major)
-- expect: line 12, tma_load A: a call is 16 boxes of 256x1 bf16; 2 of 256x8 would do, if s held each in one piece, as tile_to_shape and gmma_layout make them
-- expect: line 18, tma_store C: a call is 16 boxes of 256x1 bf16; 2 of 256x8 would do, if s held each in one piece, as tile_to_shape and gmma_layout make them
hints({16, 64}, layout({16, 64}, {128, 1}), bf16, row_major)
-- expect: line 12, tma_load A: a call is 16 boxes of 64x1 bf16; 1 of 64x16 would do, if s held it in one piece, as tile_to_shape and gmma_layout make them
-- expect: line 18, tma_store C: a call is 16 boxes of 64x1 bf16; 1 of 64x16 would do, if s held it in one piece, as tile_to_shape and gmma_layout make them

-- Nothing to say: as few boxes as there can be, or not many.
hints({2, 1280}, tile_to_shape(row_major{2, 256}, {2, 1280}), bf16, row_major)
hints({2, 512}, row_major{2, 512}, bf16, row_major)

-- What is said holds of boxes laid out so, in both orders of modes.
local function check(order, shape, dtype, padded, expected)
  local call
  for _, line in ipairs(profile_of(shape, layout(shape, padded), dtype, order).kernels[1].lines) do
    call = line.calls and line.calls[1] or call
  end
  local box = order == layout and call.fewest or { call.fewest[2], call.fewest[1] }
  local launch, A, C = through(shape, tile_to_shape(order(box), shape), dtype, order)
  launch(A, C)
  local _, n = launch:ir(A, C):gsub("tma_load", "")
  print(call.boxes, call.n_fewest, n == call.n_fewest, allclose(A, C), n == expected)
end
check(row_major, {6, 384}, f32, {512, 1}, 2)  -- expect: 12	2	true	true	true
check(layout, {768, 4}, i8, {1, 1024}, 3)      -- expect: 12	3	true	true	true
check(layout, {64, 4, 4}, f16, {1, 512, 64}, 1) -- expect: 4	1	true	true	true

-- Both sides of a box say that they are by TMA, and waste nothing.
local copied = profile_of({8, 32}, row_major{8, 32}, f32, row_major)
for _, line in ipairs(copied.kernels[1].lines) do
  for _, a in ipairs(line.accesses) do print(a.op, a.space, a.is_box, a.lost_ms) end
end
-- expect: load	global	true	0.0
-- expect: store	shared	true	0.0
-- expect: store	global	true	0.0
-- expect: load	shared	true	0.0
