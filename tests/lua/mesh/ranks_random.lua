-- Random programs of collectives on random meshes, beside a plain simulation of each rank's numbers.
-- Run with a number of programs and a seed to do more: cuttle ranks_random.lua 10000 7
local n_programs = math.tointeger(tonumber(arg and arg[1])) or 150
math.randomseed(math.tointeger(tonumber(arg and arg[2])) or 19)
device "cpu:27"

local draw = dofile "tests/support/draw.lua"
local pick, shuffled = draw.pick, draw.shuffled

local function random_mesh()
  local shape, names, order, strides, stride = {}, {}, {}, {}, 1
  for i = 1, math.random(3) do
    shape[i], names[i], order[i] = pick{ 1, 2, 2, 3 }, ("abc"):sub(i, i), i
  end
  for _, i in ipairs(shuffled(order)) do strides[i], stride = stride, stride * shape[i] end
  return mesh(layout(shape, strides):named(table.unpack(names)))
end

-- {====== The simulation ======

-- The ranks of a group, from the coordinates of all ranks: the first axis is the fastest.
local function group_of(m, rank, axes)
  local mine, is_free, out = m:coord(rank), {}, {}
  for _, axis in ipairs(axes) do is_free[axis] = true end
  for other = 0, m.n - 1 do
    local coord, fits, place, weight = m:coord(other), true, 0, 1
    for _, axis in ipairs(m.axes) do
      fits = fits and (is_free[axis] or coord[axis] == mine[axis])
    end
    for _, axis in ipairs(axes) do
      place, weight = place + coord[axis] * weight, weight * m.extent[axis]
    end
    if fits then out[place + 1] = other end
  end
  return out
end

local fold = {
  sum = function(a, b) return a + b end, max = math.max, min = math.min,
}

local function reduced(values, group, op)
  local out = table.move(values[group[1]], 1, #values[group[1]], 1, {})
  for k = 2, #group do
    for i, v in ipairs(values[group[k]]) do out[i] = fold[op](out[i], v) end
  end
  return out
end

local function place_of(group, rank)
  for i, other in ipairs(group) do
    if other == rank then return i end
  end
end

-- By operation: the rank's new numbers; what the rank calls for them, with tensors src and dst.
local simulate, call = {}, {}

function simulate.all_reduce(values, group, _, op) return reduced(values, group, op.reduce) end
function call.all_reduce(r, op, src, dst)
  copy(src, dst)
  r:all_reduce(dst, op.axes, op.reduce)
end

function simulate.all_gather(values, group)
  local out = {}
  for _, rank in ipairs(group) do table.move(values[rank], 1, #values[rank], #out + 1, out) end
  return out
end
function call.all_gather(r, op, src, dst) r:all_gather(src, dst, op.axes) end

function simulate.reduce_scatter(values, group, rank, op)
  local sums = reduced(values, group, op.reduce)
  local n, place = #sums // #group, place_of(group, rank)
  return table.move(sums, (place - 1) * n + 1, place * n, 1, {})
end
function call.reduce_scatter(r, op, src, dst) r:reduce_scatter(src, dst, op.axes, op.reduce) end

function simulate.all_to_all(values, group, rank)
  local n, place, out = #values[rank] // #group, place_of(group, rank), {}
  for _, from in ipairs(group) do
    table.move(values[from], (place - 1) * n + 1, place * n, #out + 1, out)
  end
  return out
end
function call.all_to_all(r, op, src, dst) r:all_to_all(src, dst, op.axes) end

function simulate.broadcast(values, group, _, op)
  return values[group[op.root % #group + 1]]
end
function call.broadcast(r, op, src, dst)
  copy(src, dst)
  r:broadcast(dst, op.axes, op.root % #r.mesh:group(r.rank, op.axes))
end

function simulate.shift(values, _, rank, op) return values[(rank - op.by) % #op.all] end
function call.shift(r, op, src, dst)
  local n = r.mesh.n
  if op.by % n == 0 then return copy(src, dst) end
  r:send_recv(src, (r.rank + op.by) % n, dst, (r.rank - op.by) % n)
end

-- {====== Programs ======

-- The sizes of a rank's tensor before and after an operation, over g ranks.
local size_after = {
  all_gather = function(n, g) return n * g end,
  reduce_scatter = function(n, g) return n % g == 0 and n // g end,
  all_to_all = function(n, g) return n % g == 0 and n end,
}

local function random_program(m, n)
  local ops, all = {}, {}
  for rank = 0, m.n - 1 do all[rank + 1] = rank end
  while #ops < 6 do
    local op = { name = pick{ "all_reduce", "all_gather", "reduce_scatter", "all_to_all",
      "broadcast", "shift" }, reduce = pick{ "sum", "max", "min" }, root = math.random(0, 5),
      by = math.random(0, 5), all = all, axes = {} }
    for i, axis in ipairs(shuffled(m.axes)) do
      if i == 1 or math.random(2) == 1 then table.insert(op.axes, axis) end
    end
    local after = size_after[op.name]
    local size = after and after(n, m:span(op.axes)) or not after and n
    if size and size <= 4000 then
      op.size, n = size, size
      ops[#ops + 1] = op
    end
  end
  return ops
end

local function run_simulation(m, ops, values)
  for _, op in ipairs(ops) do
    local new = {}
    for rank = 0, m.n - 1 do
      new[rank] = simulate[op.name](values, group_of(m, rank, op.axes), rank, op)
    end
    values = new
  end
  return values
end

for _ = 1, n_programs do
  local m, n = random_mesh(), pick{ 1, 6, 12, 24 }
  local ops, values = random_program(m, n), {}
  for rank = 0, m.n - 1 do values[rank] = rand(i64, n, -50, 50):totable() end
  local got = m:run(function(r)
    local t = from_table(i64, values[r.rank])
    for _, op in ipairs(ops) do
      local new = tensor(i64, op.size)
      call[op.name](r, op, t, new)
      t = new
    end
    return t:totable()
  end)
  local want = run_simulation(m, ops, values)
  for rank = 0, m.n - 1 do
    for i = 1, #want[rank] do
      assert(got[rank][i] == want[rank][i], ("%s: rank %d, element %d"):format(m, rank, i))
    end
  end
end
print("as simulated") -- expect: as simulated
