-- expert_dispatch.lua: a layer of experts that are spread over devices, with one kernel on each. A
-- token goes to two experts. The kernel stores it into the memory of the rank that has the expert;
-- that rank multiplies it as soon as a flag shows its arrival, and stores the result back. So
-- sending, products and returning overlap. No rank knows in advance how many tokens will come.
-- Usage: cuttle [--device=cpu:4] expert_dispatch.lua [tokens a rank]
if device().name == "CPU engine" and device().n_devices == 1 then device "cpu:4" end
local n_ranks = device().n_devices
local T = tonumber(arg[1] or 50)
local E <const>, D <const>, CHOICES <const> = 2, 32, 2 -- experts a rank; numbers of a token
local BLOCKS <const>, THREADS <const> = 4, D
local ROOM = CHOICES * T * n_ranks -- tokens that one expert may get
local sys = { scope = "sys" }

-- What lies on each rank: name, type, extents. Experts' inboxes; what comes back for own tokens.
local shared_tensors = {
  { "inbox", f32, { D, ROOM, E } }, { "origin", i32, { ROOM, E } }, { "ready", i32, { ROOM, E } },
  { "count", i32, { E } }, { "sent", i32, { 1 } }, { "back", f32, { D, CHOICES, T } },
  { "returned", i32, { CHOICES, T } },
}

-- all.inbox and so on: lists of all ranks' tensors. weights (D,D,E): of this rank's experts.
local layer = kernel("expert_layer", function(tokens, choices, gates, weights, out, all, me)
  local i, b = threadIdx.x, blockIdx.x
  local word = shared(i32, 1)

  -- What thread 0 finds, for all threads.
  local function tell(v)
    sync_threads()
    if i == 0 then word[0] = v end
    sync_threads()
    return word[0]
  end

  for t = b, T - 1, gridDim.x do
    for j in unroll(CHOICES) do
      local expert = choices[{ j, t }]
      local rank, e = expert // E + 1, expert % E
      local slot = 0
      if i == 0 then slot = atomic_add(all.count[rank], e, 1, sys) end
      slot = tell(slot)
      all.inbox[rank][{ i, slot, e }] = tokens[{ i, t }]
      if i == 0 then all.origin[rank][{ slot, e }] = (me * T + t) * CHOICES + j end
      sync_threads()
      if i == 0 then atomic_store(all.ready[rank], { slot, e }, 1, sys) end
    end
  end
  sync_threads()
  for rank in unroll(n_ranks) do -- this block sends no more
    if i == 0 then atomic_add(all.sent[rank + 1], 0, 1, { scope = "sys", order = "release" }) end
  end

  -- Is there a token at this place of expert e's inbox? Waits until that is known.
  local function arrives(slot, e)
    local is_there, is_over = 0, 0
    if i == 0 then
      while is_there == 0 and is_over == 0 do
        if atomic_load(all.sent[me + 1], 0, sys) == n_ranks * gridDim.x then is_over = 1 end
        is_there = atomic_load(all.ready[me + 1], { slot, e }, sys)
      end
    end
    return tell(is_there)
  end

  for e in unroll(E) do
    local slot = b
    while slot < ROOM and arrives(slot, e) == 1 do
      local sum = 0.0
      for k = 0, D - 1 do
        sum = sum + weights[{ i, k, e }] * all.inbox[me + 1][{ k, slot, e }]
      end
      local origin = all.origin[me + 1][{ slot, e }]
      local j, t, rank = origin % CHOICES, origin // CHOICES % T, origin // (CHOICES * T) + 1
      all.back[rank][{ i, j, t }] = sum
      sync_threads()
      if i == 0 then atomic_store(all.returned[rank], { j, t }, 1, sys) end
      slot = slot + gridDim.x
    end
  end

  for t = b, T - 1, gridDim.x do
    if i < CHOICES then
      while atomic_load(all.returned[me + 1], { i, t }, sys) == 0 do end
    end
    sync_threads()
    local sum = 0.0
    for j in unroll(CHOICES) do sum = sum + gates[{ j, t }] * all.back[me + 1][{ i, j, t }] end
    out[{ i, t }] = sum
  end
end)

-- {====== Data: small integers, so that sums are exact in any order ======

local n_experts = n_ranks * E
local function token(rank, k, t) return (rank * 7 + k * 3 + t * 5) % 11 - 5 end
local function choice(rank, j, t)
  return (rank * 5 + t * t + j * (1 + t % (n_experts - 1))) % n_experts
end
local function gate(j, t) return 1 + (j + t) % 3 end
local function weight(i, k, expert) return (i * 2 + k * expert + expert) % 5 - 2 end

local function filled(dtype, shape, f)
  local values = {}
  local rows, columns, depth = shape[1], shape[2], shape[3] or 1
  for z = 0, depth - 1 do
    for y = 0, columns - 1 do
      for x = 0, rows - 1 do values[#values + 1] = f(x, y, z) end
    end
  end
  return view(from_table(dtype, values), layout(shape))
end

local function expected(rank, i, t)
  local sum = 0
  for j = 0, CHOICES - 1 do
    local expert, product = choice(rank, j, t), 0
    for k = 0, D - 1 do product = product + weight(i, k, expert) * token(rank, k, t) end
    sum = sum + gate(j, t) * product
  end
  return sum
end

-- What ranks reach of each other are parts of sharded tensors, which processes can share.
local m = mesh{ expert = n_ranks }
local parts = {}
for i, row in ipairs(shared_tensors) do
  local extents, modes = { table.unpack(row[3]) }, ("x,y,z"):sub(1, 2 * #row[3] - 1)
  extents[#extents + 1] = n_ranks
  parts[i] = m:zeros(row[2], extents, ("(%s,rank@expert)"):format(modes))
end

m:run(function(r)
  local me, all = r.rank, {}
  for i, row in ipairs(shared_tensors) do -- in one order on all ranks, which meet for each
    local list = {}
    for rank = 0, n_ranks - 1 do
      list[rank + 1] = view(peer_tensor(parts[i], rank), layout(row[3]))
    end
    all[row[1]] = list
  end
  r:barrier() -- all ranks' tensors are zeros
  local out = zeros(f32, { D, T })
  layer{ grid = BLOCKS, block = THREADS, cooperative = true }(
    filled(f32, { D, T }, function(k, t) return token(me, k, t) end),
    filled(i32, { CHOICES, T }, function(j, t) return choice(me, j, t) end),
    filled(f32, { CHOICES, T }, gate),
    filled(f32, { D, D, E }, function(i, k, e) return weight(i, k, me * E + e) end),
    out, all, i32(me))
  r:barrier()
  for t = 0, T - 1 do
    for i = 0, D - 1 do
      assert(out[{ i, t }] == expected(me, i, t), ("token %d of rank %d is wrong"):format(t, me))
    end
  end
end)
print(("%d tokens on each of %d ranks, to %d of %d experts each: correct"):format(T, n_ranks,
  CHOICES, n_experts))
