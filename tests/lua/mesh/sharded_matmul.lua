-- Products of sharded tensors are those of the whole ones, however the operands and C are spread.
-- Numbers are small integers, so sums are exact in any order.
device "cpu:8"
local sharded = require "cuttle.sharded_matmul"
local meshes = { mesh{ x = 2, y = 2 }, mesh{ x = 4 }, mesh{ x = 2, y = 2, z = 2 },
                 mesh{ x = 3, y = 2 } }
local seed = 12345

local function random(n)
  seed = (seed * 1103515245 + 12345) & 0x7fffffff
  return (seed >> 8) % n
end

local function numbers(shape, dtype, major)
  local n, values = 1, {}
  for _, extent in ipairs(shape) do n = n * extent end
  for i = 1, n do values[i] = random(9) - 4 end
  return from_table(dtype, values, major(shape))
end

-- A spec for these modes: each axis shards one of them or none, or, if `sums`, may be partial.
local function random_spec(m, names, sums)
  local on, partial = {}, {}
  for i, name in ipairs(names) do on[i] = name end
  for _, axis in ipairs(m.axes) do
    local mode = random(#names + (sums and 2 or 1)) + 1
    if mode <= #names then
      on[mode] = on[mode] .. "@" .. axis
    elseif mode == #names + 2 then
      partial[#partial + 1] = "@" .. axis .. "+"
    end
  end
  return "(" .. table.concat(table.move(partial, 1, #partial, #on + 1, on), ",") .. ")"
end

local function same(a, b) return allclose(a, b, { atol = 0, rtol = 0 }) end

local failed = {}
local function case(i)
  local m = meshes[random(#meshes) + 1]
  local M, N, K, L = random(9) + 1, random(9) + 1, random(9) + 1, random(3) + 1
  local has_batches, dtype = random(3) == 0, random(2) == 0 and f32 or i32
  local major = random(2) == 0 and row_major or layout
  local tail = has_batches and { L } or {}
  local A = numbers({ M, K, table.unpack(tail) }, dtype, major)
  local B = numbers({ N, K, table.unpack(tail) }, dtype, row_major)
  local third = has_batches and { "L" } or {}
  local a = random_spec(m, { "M", "K", table.unpack(third) }, true)
  local b = random_spec(m, { "N", "K", table.unpack(third) }, true)
  local c = random_spec(m, { "M", "N", table.unpack(third) }, false)
  local want = matmul(A, B)
  local text = ("%d: %s %s %s %s -> %s on %s"):format(i, dtype, want.layout, a, b, c, m)
  local SA, SB = m:shard(A, a), m:shard(B, b)
  if not same(matmul(SA, SB):whole(), want) then failed[#failed + 1] = text end
  local C = m:tensor(dtype, want.layout, c)
  local out = matmul(SA, SB, C)
  if out ~= C or not same(C:whole(), want) then failed[#failed + 1] = text .. ", given C" end
  if not same(SA:whole(), A) or not same(SB:whole(), B) then
    failed[#failed + 1] = text .. ", operands"
  end
end
for i = 1, tonumber(arg and arg[1]) or 80 do case(i) end
print(#failed, failed[1]) -- expect: 0	nil

-- What needs no communication has none, and the roles of the axes say how C is spread.
local m = meshes[1]
local A, B = numbers({ 8, 6 }, f32, row_major), numbers({ 4, 6 }, f32, row_major)
local function look(a, b, c)
  local SA, SB = m:shard(A, a), m:shard(B, b)
  local plan = sharded.plan(SA, SB, c and m:tensor(f32, { 8, 4 }, c))
  local bytes = plan.plans.A.bytes + plan.plans.B.bytes + (plan.plans.C and plan.plans.C.bytes or 0)
  print(plan.shardings.C:text(), bytes)
end
look("(M@x,K)", "(N@y,K)") -- expect: (M@x,N@y)	0
look("(M,K@x)", "(N,K@x)") -- expect: (M,N,@x+)	0
look("(M,K@x)", "(N@y,K)") -- expect: (M,N@y,@x+)	0
look("(M@x,K@y)", "(N,K@y)") -- expect: (M@x,N,@y+)	0
look("(M,K,@x+)", "(N@y,K)") -- expect: (M,N@y,@x+)	0
look("(M@x,K)", "(N@x,K)") -- expect: (M@x,N)	48
look("(M,K@x)", "(N,K@x)", "(M@x,N)") -- expect: (M,N,@x+)	64
look("(M@x,K)", "(N,K)", "(M,N,@x+)") -- expect: (M,N,@x+)	48

-- alpha is for each summand, too.
print(same(matmul(m:shard(A, "(M,K@x)"), m:shard(B, "(N,K@x)"), { alpha = 3.0 }):whole(),
  matmul(A, B, { alpha = 3.0 }))) -- expect: true

-- A tensor with itself.
local X = m:shard(A, "(M@x,K)")
local G = matmul(X, X)
print(G.sharding:text(), same(G:whole(), matmul(A, A))) -- expect: (M@x,_)	true
