-- Launches of ranks run at once when the ranks wait: kernels may wait for those of other ranks, also
-- where a rank has a message to receive before its launch.
device "cpu:4"
local m = mesh"(a=2,b=2)"

local meet = kernel("meet", function(flags, me, x)
  if threadIdx.x == 0 then
    atomic_add(flags, me, i32(1))
    while atomic_add(flags, me ~ 1, i32(0)) == 0 do end
  end
  sync_threads()
  x[threadIdx.x] = x[threadIdx.x] + me
end)

local flags, x = zeros(i32, 4), m:zeros(i32, { 16 }, "(M@a@b)")
local sums = m:run(function(r)
  local t = full(i32, 4, r.rank)
  if r.rank == 3 then r:send(t, 1) elseif r.rank == 1 then r:recv(t, 3) end
  meet{ grid = 1, block = 4 }(flags, i32(r.rank), x:part(r.rank))
  r:all_reduce(x:part(r.rank), "a")
  return t[0] + x:part(r.rank)[0]
end)
print(sums[0], sums[1], sums[2], sums[3]) -- expect: 1	4	7	8
print(x:whole()) -- expect: tensor i32 M=16:1 on cpu
-- expect:     1    1    1    1    1  ...    5    5    5    5

-- A host that uses what a launch writes waits for it, so the other ranks must have come.
local function look(barrier)
  clear(flags)
  return m:run(function(r)
    meet{ grid = 1, block = 4 }(flags, i32(r.rank), x:part(r.rank))
    if barrier then r:barrier() end
    return x:part(r.rank)[0]
  end)[3]
end
local _, why = pcall(look, false)
print(why:match("so call r:barrier%(%) first")) -- expect: so call r:barrier() first
print(look(true)) -- expect: 8

-- A failure of a launch names its rank.
local store = kernel("store", function(t, i) t[i] = 1 end)
_, why = pcall(m.run, m, function(r) store{ grid = 1, block = 1 }(x:part(r.rank), 2 * r.rank) end)
print(why:match("out of bounds.*")) -- expect: out of bounds: write of t at 4, extent 4, by thread (0,0,0) of block (0,0,0) of rank 2
