-- reshard: any sharding to any other keeps the tensor, each rank gets the part that sharding the
-- whole tensor anew gives, and by way of a third sharding comes the same.
device "cpu:12"
local m = mesh"(a=2,b=3,c=2)"

local specs <const> = { "(M,K)", "(M@a,K)", "(M@b,K)", "(M@a@b,K)", "(M@b@a,K)", "(M,K@b@a@c)",
  "(M@a,K@b)", "(M@b,K@a)", "(M@c@b@a,K)", "(M@c,K)", "(M@c,K@a)", "(M@a@c,K@b)" }
local partial <const> = { "(M,K,@a+)", "(M@b,K,@a+,@c+)", "(M,K@c,@b+)", "(M@a,K@b,@c+)" }
local n = 0

local function check(x, t, spec)
  local want <close> = shard(t, spec, m)
  for rank = 0, m.n - 1 do
    local part = x:part(rank)
    if size(part) > 0 and reference.difference(part, want:part(rank)) then
      error(("%s to %s: the part of rank %d"):format(x.sharding:text(), spec, rank))
    end
  end
  n = n + 1
end

local function all_pairs(t, sources)
  for _, from in ipairs(sources) do
    local x <close> = shard(t, from, m)
    for i, to in ipairs(specs) do
      local y <close> = reshard(x, to)
      check(y, t, to)
      local z <close> = y:reshard(specs[i % #specs + 1])
      check(z, t, specs[i % #specs + 1])
    end
  end
end

for _, shape in ipairs{ { 24, 36 }, { 10, 7 }, { 5, 1 } } do
  all_pairs(arange(i32, shape, 1), specs)
  all_pairs(arange(i32, shape, 1), partial)
end
print(n) -- expect: 1152
