-- Requests, sectors and wavefronts of accesses whose costs are known by hand, as they are written.
device("cpu")
package.path = "tests/support/?.lua;" .. package.path
local internal = require "internal"
local begin = internal.watch.profile_begin
internal.watch.profile_begin = function(_, ...) return begin(0, ...) end -- no CUDA C is kept
local options = {sm = 90}

-- "load A 32 requests 4 sectors", one for each access of the only kernel.
local function accesses(f)
  local out = {}
  for _, line in ipairs(profile(f, options).kernels[1].lines) do
    for _, a in ipairs(line.accesses) do
      out[#out + 1] = ("%s %s %d: %g"):format(a.op, a.tensor, a.requests,
        a.space == "global" and a.sectors / a.requests or a.wavefronts / a.requests)
    end
  end
  return table.concat(out, ", ")
end

-- A transpose of 32x32 tiles: writing a column of the tile meets 32 times in one bank, unless padded.
local function transpose(pad)
  local A, B = rand(f32, {64, 64}), zeros(f32, {64, 64})
  local k = kernel("transpose", function(A, B)
    local s = shared(f32, layout({32, 32}, {32 + pad, 1}))
    local x, y = threadIdx.x, threadIdx.y
    s[{x, y}] = A[{blockIdx.x * 32 + x, blockIdx.y * 32 + y}]
    sync_threads()
    B[{blockIdx.y * 32 + x, blockIdx.x * 32 + y}] = s[{y, x}]
  end)
  return function() k{grid = {2, 2}, block = {32, 8}}(A, B) end
end
print(accesses(transpose(0))) -- expect: load A 32: 4, store s 32: 32, load s 32: 1, store B 32: 4
print(accesses(transpose(1))) -- expect: load A 32: 4, store s 32: 1, load s 32: 1, store B 32: 4

-- A copy that takes every n-th element: n sectors more for each step, up to one for each lane.
local function strided(n)
  local x, y = zeros(f32, 32 * 32), zeros(f32, 32)
  local k = kernel("strided", function(x, y) y[threadIdx.x] = x[threadIdx.x * n] end)
  return accesses(function() k{grid = 1, block = 32}(x, y) end):match("load x 1: (%d+)")
end
print(strided(1), strided(2), strided(4), strided(8), strided(16), strided(32)) -- expect: 4	8	16	32	32	32
print(strided(3), strided(5))                                             -- expect: 12	20

-- Begun one element late it is one sector more; an address for all lanes is one.
local late = kernel("late", function(x, y, n) y[threadIdx.x] = x[threadIdx.x + 1] + x[n] end)
print(accesses(function() late{grid = 1, block = 32}(zeros(f32, 64), zeros(f32, 32), 3) end)) -- expect: load x 2: 3, store y 1: 4

-- Vectors: 2, 4 and 8 elements of a thread at once; sectors of a request grow with them, wavefronts too.
local function vectors(dtype, n)
  local A, B = zeros(dtype, {n, 32}), zeros(dtype, {n, 32})
  local k = kernel("vectors", function(A, B)
    local s = shared(dtype, layout{n, 32})
    local mine, there = s(_, threadIdx.x), A(_, threadIdx.x)
    copy(there, mine)
    sync_threads()
    local r = fragment_like(mine)
    copy(mine, r)
    copy(r, B(_, threadIdx.x))
  end, {static_shapes = true})
  return accesses(function() k{grid = 1, block = 32}(A, B) end)
end
print(vectors(f32, 1)) -- expect: load A 1: 4, store s 1: 1, load s 1: 1, store B 1: 4
print(vectors(f32, 2)) -- expect: load A 1: 8, store s 1: 2, load s 1: 2, store B 1: 8
print(vectors(f32, 4)) -- expect: load A 1: 16, store s 1: 4, load s 1: 4, store B 1: 16
print(vectors(f32, 8)) -- expect: load A 2: 32, store s 2: 8, load s 2: 8, store B 2: 32
print(vectors(f16, 8)) -- expect: load A 1: 16, store s 1: 4, load s 1: 4, store B 1: 16

-- The operands of a gemm, row by row of each k: one read of 4 rows where they lie together.
local gemm_of = kernel("gemm_of", function(out)
  local s = shared(f32, layout{8, 4})
  fill(s, 1)
  sync_threads()
  local c = fragment(f32, layout{8, 8})
  clear(c)
  gemm(s, s, c)
  out[threadIdx.x] = c[0]
end)
print(accesses(function() gemm_of{grid = 1, block = 32}(zeros(f32, 32)) end)) -- expect: store s 32: 1, load s 16: 2, store out 1: 4

-- Arithmetic, branches and lanes.
local work = kernel("work", function(x, n)
  local t = threadIdx.x
  local v = x[t]
  if t < n then
    v = v * 2.0 + 1.0
    v = sqrt(v)
  end
  x[t] = v
end)
local p = profile(function() work{grid = 2, block = 48}(zeros(f32, 48), 40) end, options)
local t = p.kernels[1].totals
print(t.fma, t.flops, t.special, t.branches, t.splits) -- expect: 80	160	80	4	2
print(t.global_load_requests, t.global_load_bytes, t.global_load_sectors) -- expect: 4	384	12
print(t.once_bytes, t.by_block_bytes)                 -- expect: 384	768
for _, line in ipairs(p.kernels[1].lines) do
  if line.special > 0 then print(line.executions, line.active_lanes, line.partial) end -- expect: 4	20.0	2
end

-- Atomic operations and barriers.
local atomics = kernel("atomics", function(x)
  atomic_add(x, threadIdx.x % 4, 1)
  sync_threads()
end)
t = profile(function() atomics{grid = 1, block = 64}(zeros(i32, 4)) end, options).kernels[1].totals
print(t.atomics, t.global_atomic_requests, t.global_atomic_sectors, t.barriers) -- expect: 64	2	2	2

-- Launches of one specialisation are counted together, others apart; what ran before is known too.
local twice = kernel("twice", function(x) x[threadIdx.x] = 1.0 end)
local x, y = zeros(f32, 32), zeros(f64, 32)
twice{grid = 1, block = 32}(x)
local function launches()
  twice{grid = 1, block = 32}(x)
  twice{grid = 3, block = 32}(x)
  twice{grid = 1, block = 32}(y)
end
p = profile(launches)
print(#p.kernels, p.kernels[1].launches, p.kernels[1].totals.global_store_requests, p.kernels[2].launches) -- expect: 2	2	4	1
twice{grid = 1, block = 32}(x)
print(pcall(profile, function() error("no", 0) end)) -- expect: false	no

-- A launch that fails is counted up to there, and the report says so.
do
  local shifted = kernel("shifted", function(x, y, n) y[threadIdx.x] = x[threadIdx.x + n] end)
  local from, to = ones(f32, 64), zeros(f32, 64)
  p = profile(function()
    for _, n in ipairs{0, 60} do pcall(shifted{grid = 1, block = 64}, from, to, n) end
  end)
  print(p.kernels[1].launches, p.kernels[1].failed)                   -- expect: 2	1
  print(tostring(p):match "2 launches[^\n]*")                         -- expect: 2 launches, of which 1 failed: what ran before counts
  p = profile(function() shifted{grid = 1, block = 64}(from, to, 0) end)
  print(p.kernels[1].failed, tostring(p):match "1 launch[^\n]*")      -- expect: nil	1 launch
end
print(#profile(launches).kernels)                    -- expect: 2
