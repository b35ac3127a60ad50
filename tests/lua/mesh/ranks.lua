-- m:run: ranks as coroutines, their collectives, and what becomes of errors.
device "cpu:8"
local m = mesh"(data=2,model=4)"

local function all(fn)
  local results = m:run(fn)
  local texts = {}
  for rank = 0, 7 do texts[rank + 1] = tostring(results[rank]) end
  return table.concat(texts, " ")
end

-- A row of n numbers that tell the rank.
local function row(rank, n) return arange(i32, n, 10 * rank) end
local function text(t) return table.concat(t:totable(), ",") end

print(all(function(r) return r.coord.data .. r.coord.model end)) -- expect: 00 10 01 11 02 12 03 13

-- Groups: the ranks that differ on the axes of the call only.
print(all(function(r)               -- expect: 12 16 12 16 12 16 12 16
  local t = full(i32, 1, r.rank)
  r:all_reduce(t, "model")
  return t[0]
end))
print(all(function(r)               -- expect: 28 28 28 28 28 28 28 28
  local t = full(i32, 1, r.rank)
  r:all_reduce(t)
  return t[0]
end))
print(all(function(r)               -- expect: 7 7 7 7 7 7 7 7
  local t = full(i32, 1, r.rank)
  r:all_reduce(t, { "model", "data" }, "max")
  return t[0]
end))
print(all(function(r)               -- expect: 0 0 2 2 4 4 6 6
  local t = full(i32, 1, r.rank)
  r:all_reduce(t, "data", "min")
  return t[0]
end))

-- The order of a group is that of its axes, the first fastest.
print(m:run(function(r)             -- expect: 0,2,4,6,1,3,5,7
  local t = zeros(i32, 8)
  r:all_gather(full(i32, 1, r.rank), t, { "model", "data" })
  return text(t)
end)[5])
print(all(function(r)               -- expect: 0,1,10,11 0,1,10,11 20,21,30,31 20,21,30,31 40,41,50,51 40,41,50,51 60,61,70,71 60,61,70,71
  local t = zeros(i32, 4)
  r:all_gather(row(r.rank, 2), t, "data")
  return text(t)
end))
print(all(function(r)               -- expect: 10 12 50 52 90 92 130 132
  local t = zeros(i32, 1)
  r:reduce_scatter(row(r.rank, 2), t, "data")
  return t[0]
end))
print(all(function(r)               -- expect: 0,20,40,60 10,30,50,70 1,21,41,61 11,31,51,71 2,22,42,62 12,32,52,72 3,23,43,63 13,33,53,73
  local t = zeros(i32, 4)
  r:all_to_all(row(r.rank, 4), t, "model")
  return text(t)
end))
print(all(function(r)               -- expect: 2 3 2 3 2 3 2 3
  local t = full(i32, 1, r.rank)
  r:broadcast(t, "model", 1)
  return t[0]
end))

-- Elements are taken in the order of memory: any compact layout will do.
print(m:run(function(r)             -- expect: 28
  local t = full(i32, row_major{2, 3}, r.rank)
  r:all_reduce(t)
  return t[{ 1, 2 }]
end)[0])

-- Messages.
print(all(function(r)               -- expect: 7 0 1 2 3 4 5 6
  local mine, theirs = full(i32, 3, r.rank), zeros(i32, 3)
  r:send_recv(mine, (r.rank + 1) % 8, theirs, (r.rank + 7) % 8)
  return theirs[2]
end))
print(all(function(r)               -- expect: 0 0 1 2 3 4 5 6
  local t = full(i32, 1, r.rank)
  if r.rank < 7 then r:send(full(i32, 1, r.rank), r.rank + 1) end
  if r.rank > 0 then r:recv(t, r.rank - 1) end
  return t[0]
end))
print(all(function(r)               -- expect: nil 1 22 nil nil nil nil nil
  local t = zeros(i32, 1)
  if r.rank == 0 then
    for i = 1, 3 do r:send(full(i32, 1, i), i == 1 and 1 or 2) end
  elseif r.rank == 1 then
    r:recv(t, 0)
    return t[0]
  elseif r.rank == 2 then
    local sum = 0
    for i = 1, 2 do
      r:recv(t, 0)
      sum = sum + i * t[0] * t[0] -- in order: 1 * 4 + 2 * 9
    end
    return sum
  end
end))

-- Ranks may make their calls at different times, over different axes, and in loops.
print(m:run(function(r)             -- expect: 80
  local t, order = full(i32, 1, 1), r.coord.model % 2 == 0
  for _ = 1, 2 do
    if order then r:barrier("data") end
    r:all_reduce(t, "model")
    if not order then r:barrier("data") end
  end
  r:barrier()
  r:all_reduce(t, "data")
  return t[0] + 3 * t[0] // 2
end)[3])

-- The function's own coroutines work, as long as the rank does not wait in them.
print(m:run(function(r)             -- expect: 6
  local sum = 0
  local function count() for i = 1, 3 do coroutine.yield(i) end end
  for i in coroutine.wrap(count) do sum = sum + i end
  local t = full(i32, 1, sum)
  r:barrier()
  return t[0]
end)[1])

-- An error ends the others, whose values are closed; then m:run works again.
local closed = {}
local _, why = pcall(m.run, m, function(r)
  local guard <close> = setmetatable({}, { __close = function() closed[#closed + 1] = r.rank end })
  r:barrier("model")
  if r.rank == 5 then error("no") end
  r:barrier()
  return guard
end)
print(#closed, why:match(": (no)\n  in (rank %d)"))  -- expect: 8	no	rank 5
print(select(2, pcall(m.run, m, function(r)      -- expect: {1}
  if r.rank == 3 then error({ 1 }) end
end))[1] == 1 and "{1}")
print(all(function(r) return r.rank end))        -- expect: 0 1 2 3 4 5 6 7

-- A deadlock says who waits for whom.
_, why = pcall(m.run, m, function(r)
  if r.coord.model == 0 then
    r:barrier("data")
  elseif r.coord.model == 1 then
    r:barrier("model")
  elseif r.rank == 4 then
    r:recv(zeros(i32, 1), 6)
  end
end)
print((why:gsub("[^ ]*ranks.lua:%d+", "LINE"))) -- expect: LINE: m:run: deadlock, no rank can continue
-- expect:   rank 0 has ended
-- expect:   rank 1 has ended
-- expect:   rank 2 waits at LINE: barrier over model, for ranks 0, 4, 6
-- expect:   rank 3 waits at LINE: barrier over model, for ranks 1, 5, 7
-- expect:   rank 4 waits at LINE: recv from rank 6
-- expect:   rank 5 has ended
-- expect:   rank 6 has ended
-- expect:   rank 7 has ended

-- Outside of a run nothing of a rank works.
local kept
m:run(function(r) kept = kept or r end)
_, why = pcall(kept.barrier, kept)
print((why:gsub("^.-: ", ""))) -- expect: barrier: m:run of this rank has ended; call it inside the function

-- A part belongs to its rank in a run, also for a launch that was made before, and in a list.
local x = shard(arange(f32, { 8, 4 }), "(M@model,K@data)", m)
local add = kernel("add", function(t, by) t[threadIdx.x] = t[threadIdx.x] + by end)
local launch = add{ grid = 1, block = 4 }
m:run(function(r) launch(x:part(), 100.0 * r.rank) end)
print(x:whole()[{ 7, 3 }], x:whole()[{ 0, 0 }])  -- expect: 731.0	0.0
local first = x:part(0)
launch(first, 0.0)
print(select(2, pcall(m.run, m, function() launch(first, 0.0) end)):match("add: [^\n]*")) -- expect: add: argument 1 (t), first, is a part of rank 0, but rank 1 launches the kernel; in m:run a rank uses its own part, x:part(r.rank)
