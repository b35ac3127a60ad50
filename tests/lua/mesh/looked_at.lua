-- What looks at one launch at a time in m:run runs the launches of ranks one after the other. Launches that
-- wait for other ranks cannot end then: the error says so. Others can be looked at.
device "cpu:2"
local m = mesh{ d = 2 }
local sys = { scope = "sys" }
local meet = kernel("meet", function(mine, theirs)
  atomic_store(theirs, 0, 1, sys)
  while atomic_load(mine, 0, sys) == 0 do end
end)
local alone = kernel("alone", function(mine, theirs) theirs[0] = mine[0] + 1 end)
local flags = m:zeros(i32, { 2 }, "(M@d)")

local said <const> = "what looks at one launch at a time, as trace and timeline, runs the "
  .. "launches of ranks one after the other, so a kernel that waits for another rank never ends"

local function try(name, f, k)
  local ok, why = pcall(m.run, m, function(r)
    fill(flags:part(), 0)
    r:barrier()
    f((k or meet), flags:part(), peer_tensor(flags, 1 - r.rank))
    r:barrier()
  end)
  print(name, ok or why:match("end it; (.-)%. Run it") == said and "said" or why)
end
local one = { grid = 1, block = 1 }
local function profiled(k, x, y) assert(#profile(function() k(one)(x, y) end).kernels == 1) end
local function traced(k, x, y) trace(k(one), { theirs = { 0 } }, x, y) end
local function drawn(k, x, y) timeline(k(one), {}, x, y) end
try("launched", function(k, x, y) k(one)(x, y) end) -- expect: launched	true
try("checked", function(k, x, y) k{ grid = 1, block = 1, check = true }(x, y) end)
-- expect: checked	true
try("profile", profiled) -- expect: profile	said
try("trace", traced) -- expect: trace	said
try("timeline", drawn) -- expect: timeline	said
try("profile", profiled, alone) -- expect: profile	true
try("trace", traced, alone) -- expect: trace	true
try("timeline", drawn, alone) -- expect: timeline	true

-- A profile around m:run counts what all ranks launch, at the same time.
local sum = kernel("sum", function(t)
  for _ in range(3) do t[threadIdx.x] = t[threadIdx.x] + 1 end
end)
local t = m:zeros(i32, { 16 }, "(M@d)")
local both = profile(function()
  m:run(function(r)
    fill(flags:part(), 0)
    r:barrier()
    sum{ grid = 1, block = 8 }(t:part())
    meet(one)(flags:part(), peer_tensor(flags, 1 - r.rank))
    sum{ grid = 1, block = 8 }(t:part())
    r:barrier()
  end)
end)
for _, k in ipairs(both.kernels) do print(k.name, k.launches) end
-- expect: sum	4
-- expect: meet	2
print(t:part(0)[7], t:part(1)[0]) -- expect: 6	6
local alone_one = profile(function() sum{ grid = 1, block = 8 }(zeros(i32, 8)) end)
for i, row in ipairs(alone_one.kernels[1].lines) do
  local all = both.kernels[1].lines[i]
  for _, field in ipairs{ "warp_instructions", "lane_instructions", "branches" } do
    if all[field] ~= 4 * row[field] then print(i, field, all[field], row[field]) end
  end
end
