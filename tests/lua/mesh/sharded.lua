-- Sharded tensors: to shard and then take the whole is the identity; parts are where owners say.
device "cpu:12"
local m = mesh"(a=2,b=3,c=2)"

local specs <const> = { "(M,K)", "(M@a,K)", "(M@b,K)", "(M@a@b,K)", "(M@b@a,K)", "(M,K@b@a@c)",
  "(M@a,K@b)", "(M@b,K@a)", "(M@c@b@a,K)", "(M@a,K,@b+)", "(M,K,@a+,@c+)", "(M@b,K@c,@a+)" }

local function same(t, u) return reference.difference(t, u) == nil end

-- Sums of parts over axes with partial sums; each element where its owners have it.
local function check_parts(x, t)
  for _, coord in ipairs{ { 0, 0 }, { size(t, 0) - 1, size(t, 1) - 1 }, { size(t, 0) // 2, 0 } } do
    local ranks, offset = x:owner(coord)
    local sum = 0
    for _, rank in ipairs(ranks) do
      local part = x:part(rank)
      -- The offset is one in memory: find the coordinate there.
      for i = 0, size(part) - 1 do
        if part.layout(i) == offset then sum = sum + part[i] end
      end
    end
    local copies = 1
    for _, axis in ipairs(x.sharding:replicated()) do copies = copies * m.extent[axis] end
    assert(sum == copies * t[coord], tostring(x))
  end
end

local n = 0
for _, shape in ipairs{ { 24, 36 }, { 10, 7 }, { 5, 1 }, { 1, 13 } } do
  local t = arange(f32, shape, 1)
  for _, spec in ipairs(specs) do
    local x <close> = shard(t, spec, m)
    local whole <close> = x:whole()
    assert(same(whole, t), spec)
    check_parts(x, t)
    n = n + 1
  end
end
print(n) -- expect: 48

-- Sources of any layout: row-major, with gaps, with modes of modes, a slice.
for _, l in ipairs{ "(6,4):(4,1)", "(6,4):(8,2)", "((2,3),4):((1,8),2)",
  "((3,2),(2,2)):((1,12),(3,6))", "(6,4):(0,1)" } do
  local t = tensor(i32, l)
  for i = 0, 23 do t[i] = 3 * i end
  for _, spec in ipairs{ "(M@b,K)", "(M@a,K@c)", "(M,K@c@a)" } do
    local x <close> = m:shard(t, spec)
    for i = 0, 23 do assert(x:whole()[i] == t[i], l) end
  end
end
local slice = arange(i32, { 8, 8 })(_, 3)
print(shard(slice, "(M@a)", m):part(1)) -- expect: tensor i32 M=4:1 on cpu
-- expect:    28   29   30   31

-- Every type.
for _, dtype in ipairs{ f64, f32, tf32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, u64, u32, u16,
  u8 } do
  local t = arange(dtype, { 5, 3 })
  assert(same(shard(t, "(M@b,K,@a+)", m):whole(), t), tostring(dtype))
end
print(shard(full(bool, { 5, 3 }, true), "(M@b,K)", m):whole()[{ 4, 2 }]) -- expect: true

-- Parts that are uneven, or empty.
local x = shard(arange(i32, 4), "(M@b@a)", m)
print(x:part(0), size(x:part(11))) -- expect: tensor i32 M=1:0 on cpu
-- expect:     0	0
local sizes = {}
for rank = 0, 11 do sizes[rank + 1] = size(x:part(rank)) end
print(table.concat(sizes, " ")) -- expect: 1 1 1 0 1 0 1 1 1 0 1 0
print(x) -- expect: sharded i32 (M@b@a) of (4) over mesh (a=2,b=3,c=2):(1,2,6)
-- expect:   rank 0: M=1:0 on cpu
-- expect:   rank 1: M=1:0 on cpu
-- expect:   rank 2: M=1:0 on cpu
-- expect:   rank 3: M=0:0 on cpu
-- expect:   rank 4: M=1:0 on cpu
-- expect:   rank 5: M=0:0 on cpu
-- expect:   rank 6: M=1:0 on cpu
-- expect:   rank 7: M=1:0 on cpu
-- expect:   and 4 more

-- A kernel works on the valid part; padding is never seen.
local double = kernel("double", function(t)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(t) then t[i] = 2 * t[i] end
end)
local y = shard(arange(i32, { 10, 7 }), "(M@a@b,K@c)", m)
m:run(function(r) double{ grid = 1, block = 128 }(y:part(r.rank)) end)
print(same(y:whole(), arange(i32, { 10, 7 }, 0, 2))) -- expect: true

-- A sharded tensor from nothing; one device; closing.
local z = m:zeros(f32, { 7, 4 }, "(M@b,K)")
m:run(function(r) if r.coord.c == 0 and r.coord.a == 0 then fill(z:part(), r.coord.b) end end)
print(z:whole()) -- expect: tensor f32 (M=7,K=4):(1,7) on cpu
-- expect:     0    0    0    0
-- expect:     0    0    0    0
-- expect:     0    0    0    0
-- expect:     1    1    1    1
-- expect:     1    1    1    1
-- expect:     1    1    1    1
-- expect:     2    2    2    2
print(m:tensor(f16, "(7,4)", "(M@b,K)").dtype, z.layout, z.shape) -- expect: f16	(M=(3,3),K=4):((1@0,1@2),3@0)	(7,4)
device "cpu"
print(shard(arange(i32, 3), "(M@one)", mesh{ one = 1 }):whole()) -- expect: tensor i32 M=3:1 on cpu
-- expect:     0    1    2
local part = z:part(0)
z:close()
z:close()
local _, why = pcall(function() return part[0] end)
print(z, (why:gsub("^.-: ", ""))) -- expect: sharded f32 (M@b,K) of (7,4) over mesh (a=2,b=3,c=2):(1,2,6)
-- expect:   closed	part is closed; its memory was given back

-- Modes lie in parts as they do in the tensor, and stay so.
local rows = arange(f32, row_major{ 8, 6 })
device "cpu:4"
local m4 = mesh"(x=4)"
local in_rows = m4:shard(rows, "(M@x,K)")
print(in_rows:part(1).layout, in_rows:whole().layout) -- expect: (M=2,K=6):(6,1)	(M=8,K=6):(6,1)
print(reshard(in_rows, "(M,K@x)"):part(1).layout, allclose(reshard(in_rows, "(M,K@x)"):whole(), rows)) -- expect: (M=8,K=2):(2,1)	true
print(m4:zeros(f32, row_major{ 8, 6 }, "(M,K@x)"):part(3).layout) -- expect: (M=8,K=0):(2,1)
print(#in_rows:plan "(M,K)".steps) -- expect: 1
print(m4:shard(zeros(f32, layout({ 4, 2, 8 }, { 8, 32, 1 })), "(_@x,_,_)"):part(0).layout) -- expect: (1,2,8):(0,8,1)
