-- A two-shot all-reduce in one kernel, between launches that write and read its tensors: against
-- plain sums on any number of ranks; and with planted faults, each of which `check` finds.
local BLOCKS <const>, THREADS <const> = 3, 32

local function all_reduce(n_ranks, o)
  return kernel("all_reduce", function(parts, flags, me, call)
    local i, b = threadIdx.x, blockIdx.x
    local function meet(phase)
      if not o.no_sync then sync_threads() end
      if i < n_ranks then
        atomic_store(flags[i + 1], { me, b, phase }, call, { scope = o.scope, order = o.order })
        if o.no_wait ~= phase then
          while atomic_load(flags[me + 1], { i, b, phase }, { scope = o.scope }) < call do end
        end
      end
      sync_threads()
    end
    meet(0)
    local chunk = size(parts[1]) // n_ranks
    for j = b * blockDim.x + i, chunk - 1, gridDim.x * blockDim.x do
      local at = me * chunk + j
      local s = parts[1][at]
      for rank in unroll(1, n_ranks) do s = s + parts[rank + 1][at] end
      for rank in unroll(n_ranks) do parts[rank + 1][at] = s end
    end
    meet(1)
  end)
end
local start = kernel("start", function(x, rank)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(x) then x[i] = rank * 10 + i end
end)
local finish = kernel("finish", function(x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(x) then y[i] = x[i] end
end)

-- What each rank has in the end; or, by line, what check found.
local function run(n_ranks, n, o, calls)
  device("cpu:" .. n_ranks)
  local m = mesh{ a = n_ranks }
  local x, y = m:zeros(i32, { n_ranks * n }, "(M@a)"), m:zeros(i32, { n_ranks * n }, "(M@a)")
  local flags = m:zeros(i32, { n_ranks * BLOCKS * 2 * n_ranks }, "(M@a)")
  local reduce = all_reduce(n_ranks, o)
  local grid = { grid = (n + 63) // 64, block = 64, check = o.check }
  local ok, why = pcall(m.run, m, function(r)
    local parts, all_flags = {}, {}
    for rank = 0, n_ranks - 1 do
      parts[rank + 1] = peer_tensor(x, rank)
      all_flags[rank + 1] = view(peer_tensor(flags, rank), { n_ranks, BLOCKS, 2 })
    end
    r:barrier()
    for call = 1, calls or 1 do
      start(grid)(x:part(r.rank), i32(r.rank))
      reduce{ grid = BLOCKS, block = o.threads or THREADS, check = o.check }(parts, all_flags,
        i32(r.rank), i32(call))
      finish(grid)(x:part(r.rank), y:part(r.rank))
    end
  end)
  if not ok then
    local found = {}
    for line in why:gmatch("lua:(%d+): race: [^\n]* of rank") do found[tonumber(line)] = true end
    return found, why
  end
  for i = 0, n_ranks * n - 1 do
    local expected = 10 * n_ranks * (n_ranks - 1) // 2 + n_ranks * (i % n)
    if y:part(i // n)[i % n] ~= expected then return "element " .. i .. " is wrong" end
  end
  return "the sums are right"
end

for n_ranks = 1, 8 do
  print(n_ranks, run(n_ranks, n_ranks * 40, { scope = "sys" }, 3)) -- expect: 1	the sums are right
end
-- expect: 2	the sums are right
-- expect: 3	the sums are right
-- expect: 4	the sums are right
-- expect: 5	the sums are right
-- expect: 6	the sums are right
-- expect: 7	the sums are right
-- expect: 8	the sums are right
print(run(4, 480, { scope = "sys", check = true }, 2)) -- expect: the sums are right
print(run(3, 96, { scope = "sys", check = true }, 1)) -- expect: the sums are right

-- Faults: start's store at line 31 and the loads at lines 22 and 23; the store at line 24 and
-- finish's load at line 35.
local found = run(2, 64, { scope = "sys", check = true, order = "relaxed" })
print(found[22], found[23], found[35]) -- expect: true	true	true
local by_device, why = run(2, 64, { scope = "gpu", check = true })
print(by_device[22], by_device[35], why:match('"gpu", which orders nothing') ~= nil) -- expect: true	true	true
found = run(2, 64, { scope = "sys", check = true, no_wait = 0 })
print(found[22], found[23], found[35]) -- expect: true	true	nil
found = run(2, 64, { scope = "sys", check = true, no_wait = 1 })
print(found[22], found[23], found[35]) -- expect: nil	nil	true
found = run(2, 384, { scope = "sys", check = true, no_sync = true, threads = 64 })
print(found[22], found[23], found[35]) -- expect: nil	nil	true
