-- Steps of plans on the parts of tensors: each step gives the parts that sharding the whole tensor
-- anew gives, whatever the order of memory before and after.
device "cpu:12"
local sharded = require "cuttle.sharded"
local m = mesh"(a=2,b=3,c=2)"
local n = 0

local function check_parts(y, t, to)
  local want <close> = shard(t, to, m)
  for rank = 0, 11 do
    local part = y:part(rank)
    if size(part) > 0 and reference.difference(part, want:part(rank)) then
      error(("%s: the part of rank %d"):format(to, rank))
    end
  end
end

local function step(t, op, axes, from, to)
  local x <close> = shard(t, from, m)
  local s = m:sharding(t, to)
  local plan = { to = s, steps = { { op = op, axes = axes, from = x.sharding, to = s } } }
  local y <close> = sharded.run_plan(x, plan)
  local bad = reference.difference(y:whole(), t)
  if bad then error(("%s: %s to %s: element %d"):format(op, from, to, bad)) end
  if not next(s.partial) then check_parts(y, t, to) end
  assert(reference.difference(x:whole(), t) == nil)
  n = n + 1
end

local t = arange(f32, {24, 36})
step(t, "all_gather", {"a"}, "(M@a,K)", "(M,K)")
step(t, "all_gather", {"a","b"}, "(M@a@b,K)", "(M,K)")
step(t, "all_gather", {"b"}, "(M@b@a,K)", "(M@a,K)")
step(t, "all_gather", {"b"}, "(M@a@b,K)", "(M=(4,2,3),K=36):((1,1@1,4),12)")
step(t, "all_gather", {"b"}, "(M,K@b)", "(M,K)")
step(t, "all_gather", {"b", "a"}, "(M@a,K@b)", "(M,K)")
step(t, "all_gather", {"a", "b"}, "(M@a,K@b)", "(M=24,K=36):(36,1)")
step(t, "local", nil, "(M,K)", "(M@a,K)")
step(t, "local", nil, "(M,K)", "(M@a,K@b@c)")
step(t, "local", nil, "(M,K)", "(M=24,K=36):(36,1)")
step(t, "local", nil, "(M,K)", "(M,K,@a+)")
step(t, "all_reduce", {"a"}, "(M,K,@a+)", "(M,K)")
step(t, "all_reduce", {"a","b"}, "(M,K@c,@a+,@b+)", "(M=24,K@c=36):(18,1)")
step(t, "reduce_scatter", {"a"}, "(M,K,@a+)", "(M@a,K)")
step(t, "reduce_scatter", {"a", "c"}, "(M,K,@a+,@c+)", "(M@a,K@c)")
step(t, "reduce_scatter", {"c"}, "(M,K@b,@c+)", "(M,K@c@b)")
step(t, "all_to_all", {"a"}, "(M@a,K)", "(M,K@a)")
step(t, "all_to_all", {"a"}, "(M@a,K@b)", "(M,K@a@b)")
step(t, "all_to_all", {"a", "b"}, "(M@a@b,K)", "(M,K@a@b)")
step(t, "all_to_all", {"a", "b"}, "(M@a@b,K@c)", "(M,K@a@b@c)")
step(t, "permute", {"a", "c"}, "(M@a,K@c)", "(M@c,K@a)")
step(t, "permute", {"a", "c"}, "(M@a,K)", "(M@c,K)")
step(arange(f32,{12,7}), "all_gather", {"b"}, "(M@b,K)", "(M=(4,3),K=7):((1,28),4)")

-- Messages: anything to anything, also where extents do not divide.
local specs <const> = { "(M,K)", "(M@a,K)", "(M@b,K)", "(M@a@b,K)", "(M@b@a,K)", "(M,K@b@a@c)",
  "(M@a,K@b)", "(M@b,K@a)", "(M@c@b@a,K)" }
for _, shape in ipairs{ { 24, 36 }, { 10, 7 }, { 5, 1 } } do
  local u = arange(i32, shape)
  for _, a in ipairs(specs) do
    for _, b in ipairs(specs) do step(u, "send_recv", nil, a, b) end
  end
end
step(t, "send_recv", nil, "((4,2,3),36):((1,1@a,4),12)", "((2,3,4),36):((1,1@b,2),8)")
step(t, "send_recv", nil, "((2,12),36):((1@a,1),12)", "((12,2),36):((1,1@a),12)")
step(arange(f32,{1000,3}), "send_recv", nil, "((2,500),3):((1@a,1),500)", "(M@b,K)")
step(arange(f32,{1001,3}), "send_recv", nil, "(M@b,K)", "((2,501),3):((1@a,1),501)")
print(n) -- expect: 270
