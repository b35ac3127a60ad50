-- Graphs of all ranks on devices of one process: each device records, all parts are made ready, and then begin. The
-- driver and the NCCL are those of tests/c. FAKE_MEET makes the driver end the program where a call would wait while
-- the kernel of one device waits for that of another.
local tap = dofile "tests/support/tap.lua"
local gpus = dofile "tests/support/fake_gpus.lua"(tap)
gpus.driver = gpus.build("fake_libcuda", "-DFAKE_DEVICES=8 -DWITH_MAPS")
local log, nccl_log = gpus.dir .. "/order", gpus.dir .. "/nccl"

local prelude = [[
local m = mesh{ d = 2 }
local x, n = m:zeros(f32, { 2, 64 }, "(r@d,e)"), m:zeros(i32, 2, "(r@d)")
local function all()
  local list = {}
  for rank = 0, 1 do list[rank + 1] = view(peer_tensor(x, rank), 64) end
  return list
end
local all_reduce = kernel("all_reduce", function(parts, me, count)
  atomic_store(parts[me + 1], threadIdx.x, 1.0 * count[0], { scope = "sys" })
end)
local plain = kernel("plain", function(y) y[threadIdx.x] = 1.0 end){ grid = 1, block = 32 }
local function wait(r)
  all_reduce{ grid = 1, block = 32, cooperative = true }(all(), i32(r.rank), n:part(r.rank))
end
]]
local function order(environment, text)
  local out = gpus.run(("%s FAKE_ORDER_LOG='%s' FAKE_NCCL_LOG='%s' timeout -s KILL 300"):format(
    environment, log, nccl_log), gpus.script(prelude .. text))
  return gpus.read(log):gsub("\n", ", "):gsub(", $", ""), out, gpus.read(nccl_log)
end

local done, out, calls = order("FAKE_MEET='all_reduce 2'", [[
m:run(function(r) r:all_reduce(view(x:part(), 64)) end) -- makes the communicators
local function step()
  m:run(function(r)
    wait(r)
    local own = zeros(f32, 32)                            -- memory is allocated meanwhile
    plain(own)
    r:all_reduce(view(x:part(), 64))
  end)
end
local g = graph(step)
print(g)
for _ = 1, 3 do g() end
synchronize()
g:close()
print "done"
]])
tap.is(out, "graph of 4 launches, 2 copies and 1 collective on 2 devices\ndone\n", "all ranks")
tap.is(done, "0: all_reduce, 0: plain, 1: all_reduce, 1: plain, "
  .. ("0: graph, 1: graph, "):rep(3):sub(1, -3), "recorded once, launched for both ranks")
tap.is(select(2, calls:gsub("is captured", "")), 2, "NCCL's calls of both ranks are captured")

-- Again with other arguments; a graph of one device only; launches on a device that is not the current one.
done, out = order("FAKE_MEET='all_reduce 2'", [[
local g = graph(function(c)
  m:run(function(r)
    wait(r)
    if c > 1 or r.rank == 0 then plain(view(x:part(), 64)) end
  end)
end, 1)
g(); g(2); g(2)
local h = graph(function() plain(view(x:part(1), 64)) end)
print(h)
h()
synchronize()
]])
tap.is(out, "graph of 1 launch on cuda:0\n", "only a device that was given something has a part")
tap.is(done, "0: all_reduce, 0: plain, 1: all_reduce, 0: graph, 1: graph, 0: all_reduce, 0: plain, "
  .. "1: all_reduce, 1: plain, 0: graph, 1: graph, 0: graph, 1: graph, 1: plain, 1: graph",
  "recorded again, in both parts")

-- The driver refuses the second part of a graph that is recorded again: one of the first would wait for ever.
done, out = order("FAKE_MEET='all_reduce 2' FAKE_FAIL='cuGraphUpload 4'", [[
local g = graph(function(c) m:run(function(r) wait(r) end) end, 1)
g()
print((select(2, pcall(g, 2)):match "cuGraphUpload"))
print(pcall(g))
synchronize()
g:close()
]])
gpus.like(out, "^cuGraphUpload\nfalse\t.*the graph is closed\n$", "a part cannot be made ready")
tap.is(done, "0: all_reduce, 1: all_reduce, 0: graph, 1: graph, 0: all_reduce, 1: all_reduce",
  "then no part is launched")

-- Operators of sharded tensors, with the kernel by which the devices wait for each other.
done, out = order("FAKE_MEET='meet 2'", [[
local function empty(shape, spec) return m:tensor(bf16, row_major(shape), spec) end
local A, B = empty({ 4096, 512 }, "(M@d,K)"), empty({ 8192, 512 }, "(N@d,K)")
local C = empty({ 4096, 8192 }, "(M,N@d)")
local D, E = empty({ 4096, 16384 }, "(M,K@d)"), empty({ 4096, 16384 }, "(N,K@d)")
local F = empty({ 4096, 4096 }, "(M@d,N)")
matmul(D, E, F)
local g = graph(function() matmul(A, B, C); matmul(D, E, F) end)
print(g)
for _ = 1, 2 do g() end
synchronize()
]])
-- Flags and workspaces that launches outside of the graph use, too, are filled at once.
tap.is(out, "graph of 12 launches on 2 devices\n", "products: what is recorded")
local product = "0: meet, 1: meet, 0: matmul_bf16, 1: matmul_bf16, 0: meet, 1: meet, "
tap.is(done:gsub("^.-(0: meet)", "%1"), product:rep(2) .. "0: graph, 1: graph, 0: graph, 1: graph",
  "products")

-- What is refused.
local function refused(text, pattern, name)
  local _, why = order("", text)
  gpus.like(why, pattern, name)
end
refused([[m:run(function(r) graph(function() wait(r) end) end)]],
  "x.lua:%d+: graph: all_reduce may wait for another rank, .*; record all ranks at once: "
  .. "graph%(function%(%) m:run", "a kernel that waits, in the graph of one rank")
refused([[m:run(function(r) graph(function() r:all_reduce(view(x:part(), 64)) end) end)]],
  "x.lua:%d+: all_reduce: a graph is recorded by one of 2 ranks", "a collective in it")
refused([[graph(function() m:run(function(r) r:peers(zeros(f32, 4)) end) end)]],
  "x.lua:%d+: peers: the ranks exchange tensors on the host", "peers")
refused([[graph(function() m:run(function(r) r:all_reduce(view(x:part(), 64)) end) end)]],
  "x.lua:%d+: all_reduce: a graph is recorded, and the communicators over all axes are made by",
  "communicators that are not there")
refused([[graph(function() m:run(function(r) wait(r); print(x:part()) end) end)]],
  "x.lua:%d+: graph: .* uses a tensor's memory on the host", "the host")
refused([[graph(function() copy(view(x:part(0), 64), view(x:part(1), 64)) end)]],
  "x.lua:%d+: graph: a copy from one device to another cannot be recorded", "between devices")
refused([[local ok = pcall(graph, function() m:run(function(r) wait(r); error "no" end) end)
local g = graph(function() m:run(function(r) wait(r) end) end)
g(); synchronize(); print(ok, g)]], "^false\tgraph of 2 launches on 2 devices\n$", "after an error")
gpus.done()
