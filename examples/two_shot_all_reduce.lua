-- two_shot_all_reduce.lua: the sum of all ranks' tensors, on each rank, with one kernel on each.
-- Rank r reads chunk r of all ranks, adds the chunks up, and stores the sum into the memory of all.
-- Flags of scope "sys" show when a tensor may be read, and when all chunks have come.
-- Usage: cuttle [--device=cpu:4] two_shot_all_reduce.lua [elements a rank]
if device().name == "CPU engine" and device().n_devices == 1 then device "cpu:4" end
local n_ranks = device().n_devices
local BLOCKS <const>, THREADS <const>, VECTOR <const> = 16, 256, 4
local unit = n_ranks * VECTOR
local n = (tonumber(arg[1] or 5000) + unit - 1) // unit * unit
local sys = { scope = "sys" }

-- parts and flags are lists of all ranks' tensors. Flags count calls, so nobody resets them.
local all_reduce = kernel("all_reduce", function(parts, flags, me, call)
  local i, b, ranks = threadIdx.x, blockIdx.x, n_ranks

  -- Block b of all ranks meets: thread i tells rank i, and waits for rank i.
  local function meet(phase)
    sync_threads()
    if i < ranks then
      atomic_store(flags[i + 1], { me, b, phase }, call, sys)
      while atomic_load(flags[me + 1], { i, b, phase }, sys) < call do end
    end
    sync_threads()
  end

  meet(0) -- all ranks' tensors may be read
  local chunk = size(parts[1]) // (VECTOR * ranks)
  for j = b * blockDim.x + i, chunk - 1, gridDim.x * blockDim.x do
    local sum, one = fragment(f32, VECTOR), {}
    for rank in unroll(ranks) do
      one[rank] = fragment(f32, VECTOR)
      copy(tile(parts[rank + 1], { VECTOR }, { me * chunk + j }), one[rank])
    end
    for k in unroll(VECTOR) do
      local s = one[0][k]
      for rank in unroll(1, ranks) do s = s + one[rank][k] end
      sum[k] = s
    end
    for rank in unroll(ranks) do
      copy(sum, tile(parts[rank + 1], { VECTOR }, { me * chunk + j }))
    end
  end
  meet(1) -- all chunks of this rank's tensor have come
end)

local m = mesh{ data = n_ranks }
local x = m:zeros(f32, { n_ranks, n }, "(rank@data,element)")
local flags = m:zeros(i32, { n_ranks, n_ranks, BLOCKS, 2 }, "(rank@data,from,block,phase)")

-- The tensors of all ranks, without the mode of extent 1 that is the rank.
local function all(t, shape)
  local list = {}
  for rank = 0, n_ranks - 1 do list[rank + 1] = view(peer_tensor(t, rank), shape) end
  return list
end

-- The value of element i of a rank; the sums are exact.
local function value(rank, i) return (rank * 31 + i * 7) % 1000 end

m:run(function(r)
  local mine = view(x:part(r.rank), n)
  local values = {}
  for i = 1, n do values[i] = value(r.rank, i - 1) end
  copy(from_table(f32, values), mine)
  r:barrier()
  for call = 1, 3 do -- the sum of sums: each call multiplies by the number of ranks
    all_reduce{ grid = BLOCKS, block = THREADS, cooperative = true }(all(x, n),
      all(flags, { n_ranks, BLOCKS, 2 }), i32(r.rank), i32(call))
  end
  r:barrier()
  for i, sum in ipairs(mine:totable()) do
    local expected = 0
    for rank = 0, n_ranks - 1 do expected = expected + value(rank, i - 1) end
    assert(sum == expected * n_ranks ^ 2, "element " .. i .. " is wrong")
  end
end)
print(("two-shot all-reduce of %d elements on %d ranks: correct"):format(n, n_ranks))
