-- all_gather_product.lua: C = A B'. Each device has some rows of A and some rows of B, so it
-- computes some columns of C. One kernel on each device stores its rows of A into the memory of all
-- others, and multiplies what has arrived. Each tile of rows has a flag, of scope "sys", that says
-- so. A rank begins with its own rows, so the product overlaps with the transfers.
-- Usage: cuttle [--device=cpu:4] all_gather_product.lua [rows of A a rank, rows of B a rank, K]
if device().name == "CPU engine" and device().n_devices == 1 then device "cpu:4" end
local n_ranks = device().n_devices
local BM <const>, BN <const>, BK <const>, BLOCKS <const>, THREADS <const> = 32, 32, 32, 6, 128
local function up(n, to) return (n + to - 1) // to * to end
local M, N = up(tonumber(arg[1] or 96), BM), up(tonumber(arg[2] or 64), BN)
local K = up(tonumber(arg[3] or 64), BK)
local sys = { scope = "sys" }

-- A: all rows, of which the rank has its own. all, flags: lists of A and of flags of all ranks. A
-- tile of rows has a flag, which counts calls.
local gather_product = kernel("gather_product", function(A, all, flags, B, C, me, call)
  local i, b = threadIdx.x, blockIdx.x
  local tiles, columns = M // BM, N // BN -- tiles of rows a rank, and of columns

  -- Block b sends the rank's tiles b, b + gridDim.x, ... to each other rank.
  local across = row_major{ 4, BK }
  for t = me * tiles + b, (me + 1) * tiles - 1, gridDim.x do
    for step in unroll(1, n_ranks) do
      local to = (me + step) % n_ranks + 1
      local from = parallelize(tile(A, { BM, BK }, { t, _ }), across, i)
      local into = parallelize(tile(all[to], { BM, BK }, { t, _ }), across, i)
      for k in axes(from, 2) do copy(from(_, _, k), into(_, _, k)) end
      sync_threads()
      if i == 0 then atomic_store(flags[to], t, call, sys) end
    end
  end

  -- Tiles of C, those of the own rows first.
  local sA, sB = shared(f32, row_major{ BM, BK }), shared(f32, row_major{ BN, BK })
  local copies, products = row_major{ 16, 8 }, layout{ 16, 8 }
  for at = b, n_ranks * tiles * columns - 1, gridDim.x do
    local t, column = (me * tiles + at // columns) % (n_ranks * tiles), at % columns
    if t // tiles ~= me and i == 0 then
      while atomic_load(flags[me + 1], t, sys) < call do end
    end
    sync_threads()
    local gA = parallelize(tile(A, { BM, BK }, { t, _ }), copies, i)
    local gB = parallelize(tile(B, { BN, BK }, { column, _ }), copies, i)
    local gC = parallelize(tile(C, { BM, BN }, { t, column }), products, i)
    local rC = fragment_like(gC)
    clear(rC)
    for k in axes(gA, 2) do
      copy(gA(_, _, k), parallelize(sA, copies, i))
      copy(gB(_, _, k), parallelize(sB, copies, i))
      cp_async_commit()
      cp_async_wait(0)
      sync_threads()
      gemm(parallelize(sA, products, i, { 1, _ }), parallelize(sB, products, i, { _, 1 }), rC)
      sync_threads()
    end
    copy(rC, gC)
  end
end)

local m = mesh{ gpu = n_ranks }
local whole = row_major{ n_ranks * M, K }
-- What ranks reach of each other are parts of sharded tensors, which processes can share.
local As = m:zeros(f32, row_major{ n_ranks, n_ranks * M, K }, "(rank@gpu,row,k)")
local all_done = m:zeros(i32, row_major{ n_ranks, n_ranks * M // BM }, "(rank@gpu,tile)")
local A_all, B_all = randn(f32, whole), randn(f32, row_major{ n_ranks * N, K })
local expected = reference.matmul(A_all, B_all)

local right = m:run(function(r)
  local B, C = tensor(f32, row_major{ N, K }), zeros(f32, { n_ranks * M, N })
  local A = view(As:part(r.rank), whole)
  local flags = view(all_done:part(r.rank), n_ranks * M // BM)
  copy(tile(A_all, { M, K }, { r.rank, 0 }), tile(A, { M, K }, { r.rank, 0 }))
  copy(tile(B_all, { N, K }, { r.rank, 0 }), B)
  local all, all_flags = {}, {}
  local peers, peer_flags = r:peers(A), r:peers(flags)
  for rank = 0, n_ranks - 1 do
    all[rank + 1], all_flags[rank + 1] = peers[rank], peer_flags[rank]
  end
  gather_product{ grid = BLOCKS, block = THREADS, cooperative = true }(A, all, all_flags, B, C,
    i32(r.rank), i32(1))
  r:barrier()
  return allclose(C, tile(expected, { n_ranks * M, N }, { 0, r.rank }))
end)
for rank = 0, n_ranks - 1 do -- a process knows of its own ranks
  assert(right[rank] ~= false, "rank " .. rank .. " is wrong")
end
print(("all-gather and product %dx%dx%d on %d ranks: correct"):format(n_ranks * M, n_ranks * N, K,
  n_ranks))
