-- one_shot_all_reduce.lua: the sum of all ranks' tensors, on each rank, for small tensors. Their
-- cost is how often the ranks wait for each other: here, once. Each thread stores its element into
-- the memory of all other ranks, in a word of 64 bits that also has the number of the call. A word
-- arrives as a whole, so the number shows that the element has come, without a flag or a fence. All
-- ranks add in the same order, so they get the same bits.
-- Usage: cuttle [--device=cpu:4] one_shot_all_reduce.lua [elements a rank [ranks]]
if device().name == "CPU engine" and device().n_devices == 1 then device "cpu:4" end
local n_ranks = math.tointeger(tonumber(arg[2]) or device().n_devices)
local THREADS <const>, BLOCKS <const> = 512, 128
local n = math.tointeger(tonumber(arg[1] or 5000))
local word = { scope = "sys", order = "relaxed" }

-- Of each rank, `inboxes` has what others sent: (element, from, turn). Calls take turns between two
-- inboxes. A thread that is in call k + 2 has all words of call k + 1, which the other ranks sent
-- when they were done with call k.
local all_reduce = kernel("all_reduce", function(x, inboxes, me, call)
  local turn, number = call % 2, cast(call, u64)

  -- The element that a rank sent, once it has come.
  local function receive(i, from)
    local got = atomic_load(inboxes[me + 1], { i, from, turn }, word)
    while got >> 32 ~= number do
      got = atomic_load(inboxes[me + 1], { i, from, turn }, word)
    end
    return bitcast(cast(got, u32), f32)
  end

  for i in range(blockIdx.x * blockDim.x + threadIdx.x, size(x), gridDim.x * blockDim.x) do
    local own = x[i]
    local sent = number << 32 | cast(bitcast(own, u32), u64)
    for distance in unroll(1, n_ranks) do
      atomic_store(inboxes[(me + distance) % n_ranks + 1], { i, me, turn }, sent, word)
    end
    local sum = f32(0.0)
    for rank in unroll(n_ranks) do
      local value = own
      if rank ~= me then value = receive(i, rank) end
      sum = sum + value
    end
    x[i] = sum
  end
end)

local m = mesh{ data = n_ranks }
local x = m:zeros(f32, { n_ranks, n }, "(rank@data,element)")
local inboxes = m:zeros(u64, { n_ranks, n, n_ranks, 2 }, "(rank@data,element,from,turn)")

-- The inboxes of all ranks, without the mode of extent 1 that is the rank.
local function all_inboxes()
  local list = {}
  for rank = 0, n_ranks - 1 do
    list[rank + 1] = view(peer_tensor(inboxes, rank), { n, n_ranks, 2 })
  end
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
    all_reduce{ grid = math.min(BLOCKS, cdiv(n, THREADS)), block = THREADS }(mine, all_inboxes(),
      i32(r.rank), i32(call))
  end
  r:barrier()
  for i, sum in ipairs(mine:totable()) do
    local expected = 0
    for rank = 0, n_ranks - 1 do expected = expected + value(rank, i - 1) end
    assert(sum == expected * n_ranks ^ 2, "element " .. i .. " is wrong")
  end
end)
print(("one-shot all-reduce of %d elements on %d ranks: correct"):format(n, n_ranks))
