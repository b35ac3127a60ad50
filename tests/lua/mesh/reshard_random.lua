-- reshard on real tensors: random meshes, shapes, types and shardings. From any to any it keeps the
-- whole; each rank's part is that of the whole tensor sharded anew; by way of a third comes the same.
-- Run with a number of cases and a seed to do more: cuttle reshard_random.lua 10000 7
local n_cases = math.tointeger(tonumber(arg and arg[1])) or 400
math.randomseed(math.tointeger(tonumber(arg and arg[2])) or 19)
device "cpu:16"

local draw = dofile "tests/support/draw.lua"
local pick, shuffled = draw.pick, draw.shuffled

-- {====== Random meshes and shardings ======

local function random_mesh()
  local shape, names, n = {}, {}, 1
  for i = 1, math.random(3) do
    local extent = pick{ 1, 2, 2, 2, 3, 4 }
    if n * extent <= 16 then
      names[#names + 1], shape[#shape + 1] = ("abc"):sub(i, i), extent
      n = n * extent
    end
  end
  if #names == 0 then names, shape = { "a" }, { 2 } end
  local strides, order, stride = {}, {}, 1
  for i = 1, #shape do order[i] = i end
  for _, i in ipairs(shuffled(order)) do strides[i], stride = stride, stride * shape[i] end
  return mesh(layout(shape, strides):named(table.unpack(names)))
end

-- "(_@a@b,_,@c+)": each axis shards a mode, holds copies or, if it may, partial sums.
local function random_spec(m, rank, may_be_partial)
  local entries, partial = {}, ""
  for i = 1, rank do entries[i] = "_" end
  for _, axis in ipairs(shuffled(m.axes)) do
    local choice = math.random(may_be_partial and 6 or 5)
    if choice <= 3 then
      local i = math.random(rank)
      entries[i] = entries[i] .. "@" .. axis
    elseif choice == 6 then
      partial = partial .. ",@" .. axis .. "+"
    end
  end
  return "(" .. table.concat(entries, ",") .. partial .. ")"
end

-- The mode cut at a divisor, with an axis within: "((2,3,4),...)", all with strides.
local function cyclic_spec(m, shape)
  local text, strides, at, axis = {}, {}, 1, pick(m.axes)
  local mode, extent = math.random(#shape), m.extent[axis]
  for i, n in ipairs(shape) do
    if i == mode and extent > 1 then
      local block = pick{ 1, 2, 3 }
      local rest = (n + block * extent - 1) // (block * extent)
      text[i] = ("(%d,%d,%d)"):format(block, extent, rest)
      strides[i] = ("(%d,1@%s,%d)"):format(at, axis, at * block)
      at = at * block * rest
    else
      text[i], strides[i], at = tostring(n), tostring(at), at * n
    end
  end
  return ("(%s):(%s)"):format(table.concat(text, ","), table.concat(strides, ","))
end

local function random_shape()
  local shape = {}
  for i = 1, math.random(3) do
    shape[i] = pick{ 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13, 16, 24 }
  end
  return shape
end

local function random_target(m, shape, may_be_partial)
  if math.random(4) == 1 then return cyclic_spec(m, shape) end
  return random_spec(m, #shape, may_be_partial)
end

-- {====== The laws ======

local function check_parts(x, t, what)
  local want <close> = shard(t, x.sharding, x.mesh)
  for rank = 0, x.mesh.n - 1 do
    local part = x:part(rank)
    if size(part) > 0 and reference.difference(part, want:part(rank)) then
      error(("%s: the part of rank %d differs"):format(what, rank))
    end
  end
end

local function check_case(m, shape, specs, t)
  local what = ("(%s) over %s: %s"):format(table.concat(shape, ","), m, table.concat(specs, " to "))
  local ok, why = pcall(function()
    local x <close> = shard(t, specs[1], m)
    assert(reference.difference(x:whole(), t) == nil, "shard, then whole")
    local y <close> = reshard(x, specs[2])
    check_parts(y, t, "one step")
    local z <close> = reshard(y, specs[3])
    check_parts(z, t, "two steps")
    local direct <close> = reshard(x, specs[3])
    check_parts(direct, t, "direct")
  end)
  if not ok then error(what .. ": " .. tostring(why), 0) end
end

local dtypes = { f64, f32, f16, i64, i32, i16, i8, u8, bf16, f8e4m3 }

for _ = 1, n_cases do
  local m, shape = random_mesh(), random_shape()
  local t = rand(i32, shape, 0, 9)
  t = reference.cast(t, pick(dtypes))
  local specs = { random_target(m, shape, true), random_target(m, shape), random_target(m, shape) }
  check_case(m, shape, specs, t)
end
print("every law holds") -- expect: every law holds
