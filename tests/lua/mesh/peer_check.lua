-- `check` of launches of ranks: only a release and an acquire of scope "sys" order two ranks.
device "cpu:3"
local m = mesh{ a = 3 }

-- Rank 0 writes x and tells rank 1, which copies x to y and tells rank 2.
local function hand_on(options)
  local o = { release = "sys", acquire = "sys", order = "release", wait = true, before = true,
    after = true }
  for k, v in pairs(options) do o[k] = v end
  return kernel("hand_on", function(x, y, z, flags, me)
    local i = threadIdx.x
    if me > 0 and o.wait then
      if i == 0 then
        while atomic_load(flags, me, { scope = o.acquire }) == 0 do end
      end
      if o.after then sync_threads() end
    end
    if me == 0 then
      x[i] = 7 * i
    elseif me == 1 then
      y[i] = x[i] + 1
    else
      z[i] = x[i] + y[i]
    end
    if o.before then sync_threads() end
    if i == 0 then atomic_store(flags, me + 1, 1, { scope = o.release, order = o.order }) end
  end)
end

local function run(options, cooperative)
  local k, x, y = hand_on(options), zeros(i32, 64), zeros(i32, 64)
  local z, flags = zeros(i32, 64), zeros(i32, 4)
  local ok, why = pcall(m.run, m, function(r)
    k{ grid = 1, block = 64, check = true, cooperative = cooperative }(x, y, z, flags, i32(r.rank))
  end)
  if ok then return z[63] end
  local lines = {}
  for line, what, rank, other in why:gmatch(
      "lua:(%d+): race: (%a+ of %a+) at.- of rank (%d).-of rank (%d) at") do
    lines[#lines + 1] = ("%d: %s, %s and %s"):format(line, what, rank, other)
  end
  return table.concat(lines, "; "), why
end

print(run{}) -- expect: 883
print((run({}, true))) -- expect: 883
print((run{ before = false }):match("^[^;]*")) -- expect: 21: read of x, 1 and 0
print((run{ after = false }):match("^[^;]*")) -- expect: 21: read of x, 1 and 0
local found, why = run{ wait = false }
print(found:match("^[^;]*")) -- expect: 21: read of x, 1 and 0
print(why:match("between ranks.*") ~= nil) -- expect: true
found = run{ order = "relaxed" }
print(found:match("^[^;]*")) -- expect: 21: read of x, 1 and 0
found, why = run{ release = "gpu" }
print(found:match("^[^;]*;[^;]*")) -- expect: 14: read of flags, 1 and 0; 21: read of x, 1 and 0
print(why:match('atomic operations of scope "gpu"[^;]*')) -- expect: atomic operations of scope "gpu" are not atomic to those of another rank
print(why:match('these blocks[^,]*')) -- expect: these blocks release or acquire at scope "gpu"
print((run{ acquire = "gpu" }):match("^[^;]*;[^;]*")) -- expect: 14: read of flags, 1 and 0; 21: read of x, 1 and 0

-- Fences around relaxed operations; a counter that several blocks release; within a rank by scope "gpu".
local count = kernel("count", function(x, n, gate, out, me, fenced)
  local i, b = threadIdx.x, blockIdx.x
  if me == 0 then
    x[32 * b + i] = b
    sync_threads()
    if i == 0 then
      if fenced then fence{ scope = "sys", order = "acq_rel" } end
      atomic_add(n, 0, 1, { scope = "sys" })
    end
  elseif me == 1 then
    if b == 0 and i == 0 then -- one block waits for the other rank, and tells those of its rank
      while atomic_load(n, 0, { scope = "sys", order = "relaxed" }) < 8 do end
      fence{ scope = "sys" }
      atomic_store(gate, 0, 1)
    end
    if i == 0 then
      while atomic_load(gate, 0) == 0 do end
    end
    sync_threads()
    out[32 * b + i] = x[255 - 32 * b - i]
  end
end)
for _, fenced in ipairs{ true, false } do
  local x, n, gate, out = zeros(i32, 256), zeros(i32, 1), zeros(i32, 1), zeros(i32, 256)
  local ok, text = pcall(m.run, m, function(r)
    count{ grid = 8, block = 32, check = true, cooperative = true }(x, n, gate, out, i32(r.rank),
      fenced)
  end)
  print(ok, ok and out[0] or text:match("race: %a+ of x")) -- expect: true	7
end
-- expect: false	race: read of x

-- What comes before a barrier of the grid is released by any block after it. A later launch of a
-- rank comes after its earlier ones; a rank's barrier orders launches.
local grid = kernel("grid", function(x, n, me)
  local b = blockIdx.x
  if me == 0 then
    x[b] = b + 1
    sync_grid()
    if b == 3 then atomic_store(n, 0, 1, { scope = "sys" }) end
  elseif me == 1 then
    if b == 5 then
      while atomic_load(n, 0, { scope = "sys" }) == 0 do end
    end
    sync_grid()
    x[8 + b] = x[7 - b]
  end
end)
local after = kernel("after", function(x, me)
  if me == 1 then x[16 + blockIdx.x] = x[blockIdx.x] end
end)
local x, n = zeros(i32, 24), zeros(i32, 1)
m:run(function(r)
  grid{ grid = 8, block = 1, check = true, cooperative = true }(x, n, i32(r.rank))
  after{ grid = 8, block = 1, check = true }(x, i32(r.rank))
end)
print(x[8], x[15], x[16], x[23]) -- expect: 8	1	1	8

local write = kernel("write", function(x, v) x[threadIdx.x] = v end)
local read = kernel("read", function(x, y) y[threadIdx.x] = x[threadIdx.x] end)
for _, waits in ipairs{ true, false } do
  local y, z = zeros(i32, 64), zeros(i32, 64)
  local ok, text = pcall(m.run, m, function(r)
    if r.rank == 0 then write{ grid = 1, block = 64, check = true }(y, 5) end
    if waits then r:barrier() end
    if r.rank == 1 then read{ grid = 1, block = 64, check = true }(y, z) end
  end)
  print(ok, ok and z[3] or text:match("race: read of x")) -- expect: true	5
end
-- expect: false	race: read of x
