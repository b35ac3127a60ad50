-- What profile says of boxes and L2, beside loops that count the same.
-- needs sm_90
local n_blocks, steps, rows, columns <const> = 300, 3, 20, 40

-- The box of a block's step, in tiles of 8 x 32; by one block of a pair for both of them.
local function box_of(block, step)
  return block // 2 * 7 % 5 * step % 3, (block // 100 + step) % 2
end

local boxes = kernel("boxes", function(A, unused)
  local s, full = shared(f32, row_major{8, 32}), mbarrier(1, 1)
  local big = shared(u8, 200 << 10) -- one block has room in a multiprocessor
  sync_cluster()
  local m, n = blockIdx.x // 2 * 7 % 5, blockIdx.x // 100
  for step = 0, 2 do
    if threadIdx.x == 0 then
      full[0]:arrive_expect_tx(8 * 32 * 4)
      if cluster_rank() == 0 then
        tma_load(tile(tma_tensor(A), {8, 32}, {m * step % 3, (n + step) % 2}), s, full[0],
          {multicast = 3})
      end
    end
    full[0]:wait(step % 2)
    sync_cluster()
  end
  if threadIdx.x == 0 then big[0] = cast(unused[blockIdx.x % 2], u8) end
end)
device "cpu"
local A, unused = zeros(f32, layout({rows, columns}, {48, 1})), zeros(i32, 2)
local launch = boxes:prepare{grid = n_blocks, block = 32, cluster = 2}(A, unused)
local l2 = profile(function() launch() launch() end, {device = "H100"}).kernels[1].l2

local function bytes_of(m, n)
  local inside = 0
  for i = 8 * m, 8 * m + 7 do
    for j = 32 * n, 32 * n + 31 do
      if i < rows and j < columns then inside = inside + 4 end
    end
  end
  return inside
end
local count, all, unique, together, seen, at_once = 0, 0, 0, 0, {}, {}
for block = 0, n_blocks - 1, 2 do
  for step = 0, steps - 1 do
    local m, n = box_of(block, step)
    local box, bytes = m .. "," .. n, bytes_of(m, n)
    local key = box .. "," .. step .. "," .. block // 132
    count, all = count + 1, all + bytes
    unique = unique + (seen[box] and 0 or bytes)
    together = together + (at_once[key] and 0 or bytes)
    seen[box], at_once[key] = true, true
  end
end
local map, other = l2.maps[1], l2.maps[2]
print(map.what, map.tensor, table.concat(map.box, "x"), map.swizzle, table.concat(map.lines, " "))
-- expect: tma_load	A	32x8	0	19
print(map.boxes == count, map.l2_bytes == all, map.shared_bytes == 2 * count * 8 * 32 * 4)
-- expect: true	true	true
print(map.once_bytes == unique, map.wave_bytes == together, unique < together, together < all)
-- expect: true	true	true	true
print(l2.wave_blocks, l2.waves, l2.product) -- expect: 132	3	nil
print(other.what, other.tensor, other.l2_bytes, other.once_bytes, other.wave_bytes)
-- expect: load	unused	9600.0	32.0	nil

-- A product: how often A and B are asked for tells the tiles of C.
local mma = tiled_mma("SM90_64x32x16_F32BF16BF16_SS")
local product = kernel("product", function(P, Q, C)
  local k_major = gmma_layout(bf16, "K", 128)
  local sP = shared(bf16, tile_to_shape(k_major, {64, 64}))
  local sQ = shared(bf16, tile_to_shape(k_major, {32, 64}))
  local full = mbarrier(1, 1)
  sync_threads()
  local thr = mma:get_slice(threadIdx.x)
  local sum = thr:partition_fragment_C(tile(C, {64, 32}, {0, 0}))
  if threadIdx.x == 0 then
    full[0]:arrive_expect_tx((64 + 32) * 64 * 2)
    tma_load(tile(tma_tensor(P), {64, 64}, {blockIdx.x, 0}), sP, full[0])
    tma_load(tile(tma_tensor(Q), {32, 64}, {blockIdx.y, 0}), sQ, full[0])
  end
  full[0]:wait(0)
  wgmma_fence()
  gemm(mma, thr:partition_A(sP), thr:partition_B(sQ), sum, {accumulate = false})
  wgmma_commit()
  wgmma_wait(0)
  copy(sum, thr:partition_C(tile(C, {64, 32}, {blockIdx.x, blockIdx.y})))
end)
local result = profile(product:prepare{grid = {6, 2}, block = 128}(zeros(bf16, row_major{384, 64}),
  zeros(bf16, row_major{64, 64}), zeros(f32, row_major{384, 64})))
local p = result.kernels[1].l2.product
print(p.high, p.wide, p.at_once, p.best_high, p.best_wide, p.best_bytes == p.wave_bytes)
-- expect: 6	2	12	6	2	true
print(p.l2_bytes // 1024, p.l2_bytes_higher // 1024, p.l2_bytes_wider // 1024, p.intensity)
-- expect: 144.0	120.0	96.0	21.333333333333
print((tostring(result):match("L2 of a launch.-\n\n"):sub(1, -3):gsub(" +", " ")))
-- expect: L2 of a launch box swizzle boxes from L2 to shared once times by waves blocks share
-- expect:  77 tma_load P 64x64 bf16 128 12 98.3kB 98.3kB 49.2kB 2 49.2kB 2
-- expect:  78 tma_load Q 64x32 bf16 128 12 49.2kB 49.2kB 8.19kB 6 8.19kB 6
local advise = require "cuttle.profile_advice".all
print(#advise{lines = {}, l2 = result.kernels[1].l2}) -- expect: 0
p.wave_bytes = 1.5 * p.best_bytes
print(advise{lines = {}, l2 = result.kernels[1].l2}[1])
-- expect: blocks that run at the same time share less of P and Q than they could: 1.5 times the bytes that rectangles of 6 x 2 tiles of C take; let them walk such rectangles, for m, n in raster{tiles = ..., group = 6}
