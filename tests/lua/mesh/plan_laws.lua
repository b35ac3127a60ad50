-- The laws of plans, on random shardings: a naive machine carries out each step on arrays of
-- element numbers, by the definition of its collective alone. Then each rank must hold what the
-- target says, and what was received must be the bytes that the plan claims.
-- Run with a number of cases and a seed to do more: cuttle plan_laws.lua 100000 7
local plans = require "cuttle.plan"
local shardings = require "cuttle.sharding"
local cost = require "cuttle.plan_cost"
local permute = require "cuttle.permute"
local pieces = require "cuttle.pieces"
local n_cases = math.tointeger(tonumber(arg and arg[1])) or 500
local seed = math.tointeger(tonumber(arg and arg[2])) or 19
math.randomseed(seed)

local PAD <const> = -1       -- an element of a part that is no element of the tensor
local MASK_BITS <const> = 52 -- an element is its number and, above, which summands it holds

-- {====== Shardings, read from their fields only ======

-- Coordinates of all ranks of a mesh by the layout's shape and strides; kept, as all that follows.
local function coords_of(m)
  local coords = {}
  for r = 0, m.n - 1 do coords[r] = m:coord(r) end
  return coords
end

local kept = {}

local function keep(of, key, make)
  kept[of] = kept[of] or {}
  kept[of][key] = kept[of][key] or make(of)
  return kept[of][key]
end

local function number_at(s, coord, digit)
  local number, size = 0, 1
  for i, factors in ipairs(s.modes) do
    local at, weight = 0, 1
    for _, factor in ipairs(factors) do
      local d = factor.axis and coord[factor.axis] or digit[factor] or 0
      at, weight = at + d * weight, weight * factor.extent
    end
    if at >= s.shape[i] then return PAD end
    number, size = number + at * size, size * s.shape[i]
  end
  return number
end

-- The element, or PAD, at each place of a rank's part: an array from 0, with its length as n.
local function places_of(s, rank)
  return keep(s, rank, function()
    local coord, out, digit = keep(s.mesh, "coords", coords_of)[rank], { n = 1 }, {}
    for _, at in ipairs(s.order) do out.n = out.n * s.modes[at[1]][at[2]].extent end
    for offset = 0, out.n - 1 do
      local rest = offset
      for _, at in ipairs(s.order) do
        local factor = s.modes[at[1]][at[2]]
        digit[factor], rest = rest % factor.extent, rest // factor.extent
      end
      out[offset] = number_at(s, coord, digit)
    end
    return out
  end)
end

-- Calls visit(offset, number or PAD) for each place of a rank's part; returns how many.
local function each_place(s, rank, visit)
  local places = places_of(s, rank)
  for offset = 0, places.n - 1 do visit(offset, places[offset]) end
  return places.n
end

-- Ranks that differ on these axes only, the first axis fastest, by comparing all coordinates.
local function find_group(m, rank, axes)
  local coords, group, is_in = keep(m, "coords", coords_of), {}, {}
  for _, name in ipairs(axes) do is_in[name] = true end
  for r = 0, m.n - 1 do
    local c, same = coords[r], true
    for _, name in ipairs(m.axes) do
      same = same and (is_in[name] or c[name] == coords[rank][name])
    end
    if same then
      local place, weight = 0, 1
      for _, name in ipairs(axes) do
        place, weight = place + c[name] * weight, weight * m.extent[name]
      end
      group[place + 1] = r
    end
  end
  return group
end

local function group_of(m, rank, axes)
  return keep(m, rank .. ":" .. table.concat(axes, ","), function()
    return find_group(m, rank, axes)
  end)
end

local function place_in(group, rank)
  for i, r in ipairs(group) do
    if r == rank then return i end
  end
end

-- {====== The machine ======

-- The parts of all ranks: arrays from 0, with their lengths in .n. Over partial axes a rank holds
-- the summand with the number of its coordinates there.
local function parts_of(s)
  local parts, axes = {}, {}
  for _, name in ipairs(s.mesh.axes) do
    if s.partial[name] then axes[#axes + 1] = name end
  end
  for r = 0, s.mesh.n - 1 do
    local part, mask = {}, 1 << (place_in(group_of(s.mesh, r, axes), r) - 1)
    part.n = each_place(s, r, function(offset, number)
      part[offset] = number == PAD and PAD or number << MASK_BITS | mask
    end)
    parts[r] = part
  end
  return parts
end

local function sum(a, b)
  if a == PAD or b == PAD then
    assert(a == b, "padding meets an element in a sum")
    return PAD
  end
  assert(a >> MASK_BITS == b >> MASK_BITS, "different elements in a sum")
  assert(a & b & ((1 << MASK_BITS) - 1) == 0, "a summand counts twice")
  return a | b
end

local step_of = {}

function step_of.all_gather(parts, group, part)
  local new, n = {}, 0
  for _, r in ipairs(group) do
    for i = 0, parts[r].n - 1 do new[n], n = parts[r][i], n + 1 end
  end
  new.n = n
  return new, n - part.n
end

function step_of.reduce_scatter(parts, group, part, place)
  local n = part.n // #group
  assert(part.n % #group == 0)
  local new = { n = n }
  for i = 0, n - 1 do
    local at = (place - 1) * n + i
    new[i] = parts[group[1]][at]
    for j = 2, #group do new[i] = sum(new[i], parts[group[j]][at]) end
  end
  return new, n * (#group - 1)
end

-- In two steps: each rank sums its chunk, then all get all chunks.
function step_of.all_reduce(parts, group, part, place)
  local new, chunk = { n = part.n }, (part.n + #group - 1) // #group
  for i = 0, part.n - 1 do
    new[i] = parts[group[1]][i]
    for j = 2, #group do new[i] = sum(new[i], parts[group[j]][i]) end
  end
  local mine = math.max(0, math.min(part.n, place * chunk) - (place - 1) * chunk)
  return new, mine * (#group - 1) + part.n - mine
end

function step_of.all_to_all(parts, group, part, place)
  local n, new = part.n // #group, { n = part.n }
  assert(part.n % #group == 0)
  for j, r in ipairs(group) do
    for i = 0, n - 1 do new[(j - 1) * n + i] = parts[r][(place - 1) * n + i] end
  end
  return new, part.n - n
end

function step_of.permute(parts, group, part, _, step, rank)
  local want, source = {}, permute.source(step, rank)
  assert(place_in(group, source), "permute leaves its group")
  each_place(step.to, rank, function(offset, number) want[offset] = number end)
  each_place(step.from, source, function(offset, number) assert(want[offset] == number) end)
  step.sources = step.sources or {}
  assert(not step.sources[source], "two ranks get one part")
  step.sources[source] = true
  return parts[source], source ~= rank and part.n or 0
end

-- The place of each element of a part: {[number] = value}.
local function held(s, rank, part)
  local out = {}
  each_place(s, rank, function(offset, number) out[number] = part[offset] end)
  return out
end

step_of["local"] = function(parts, _, part, _, step, rank)
  local have, new = held(step.from, rank, parts[rank]), {}
  new.n = each_place(step.to, rank, function(offset, number)
    new[offset] = number == PAD and PAD or assert(have[number], "a local step lacks an element")
  end)
  if step.view then -- a range of what there was
    local first
    for i = 0, part.n - 1 do
      if new[0] == part[i] and new[0] ~= PAD then first = i break end
    end
    for i = 0, new.n - 1 do
      assert(new[i] == PAD or (first + i < part.n and new[i] == part[first + i]), "no view")
    end
  end
  return new, 0
end

function step_of.send_recv(parts, _, _, _, step, rank)
  local have, new, received = held(step.from, rank, parts[rank]), {}, 0
  local whole = {} -- axes without summands: of all copies along them, any will do
  for _, name in ipairs(step.from.mesh.axes) do
    if not step.from.partial[name] then whole[#whole + 1] = name end
  end
  local function search(number)
    for _, r in ipairs(group_of(step.from.mesh, rank, whole)) do
      local far = keep(parts, r, function() return held(step.from, r, parts[r]) end)
      if far[number] then return far[number] end
    end
  end
  new.n = each_place(step.to, rank, function(offset, number)
    if number == PAD then
      new[offset] = PAD
    elseif have[number] then
      new[offset] = have[number]
    else
      new[offset], received = search(number), received + 1
    end
  end)
  return new, received
end

-- Copies a box between two arrays; returns how many elements, without padding.
local function copy_box(box, src, dst)
  local n = 0
  local function go(k, at, to)
    if k == 0 then
      assert(dst[to] == nil, "an element comes twice")
      assert(at < src.n, "a box reads outside the part")
      dst[to] = src[at]
      n = n + (src[at] ~= PAD and 1 or 0)
      return
    end
    local extent, step, new_step = table.unpack(box.dims[k])
    for i = 0, extent - 1 do go(k - 1, at + i * step, to + i * new_step) end
  end
  go(#box.dims, box.src, box.dst)
  return n
end

-- The same by the boxes of pieces.lua.
local function check_boxes(step, parts, rank, new, received)
  local from, to, copied = pieces.spread(step.from), pieces.spread(step.to), {}
  local axes = {}
  for _, name in ipairs(step.from.mesh.axes) do
    local is_on = false
    for _, factors in ipairs(step.from.modes) do
      for _, factor in ipairs(factors) do is_on = is_on or factor.axis == name end
    end
    if is_on then axes[#axes + 1] = name end
  end
  for _, r in ipairs(step.op == "local" and { rank } or group_of(step.from.mesh, rank, axes)) do
    for _, box in ipairs(pieces.boxes(from, r, to, rank)) do
      local n = copy_box(box, parts[r], copied)
      received = received - (r ~= rank and n or 0)
    end
  end
  assert(received == 0)
  for i = 0, new.n - 1 do
    assert((copied[i] or PAD) == new[i], "boxes and elements differ")
    copied[i] = nil
  end
  assert(next(copied) == nil, "a box writes outside the part")
end

-- Carries out a step. Returns the new parts.
local function run_step(step, parts, item)
  local m, new, most = step.from.mesh, {}, 0
  for r = 0, m.n - 1 do
    local group = group_of(m, r, step.axes)
    local received
    new[r], received = step_of[step.op](parts, group, parts[r], place_in(group, r), step, r)
    if step.op == "local" or step.op == "send_recv" then
      check_boxes(step, parts, r, new[r], received)
    end
    most = math.max(most, received)
  end
  -- A ring, which step_of carries out; on several nodes of 8 a sum may go by a tree.
  local by_tree = step.op == "all_reduce" and m.n > 8 and step.bytes == 2 * parts[0].n * item
  assert(by_tree or most * item == step.bytes, "the bytes of " .. step.op)
  return new
end

-- That parts hold what a sharding says. Padding may hold anything.
local function check_parts(s, parts, want)
  for r = 0, s.mesh.n - 1 do
    local n = each_place(s, r, function(offset, number)
      if number ~= PAD then
        assert(parts[r][offset] == want(r, number), "a part holds another element")
      end
    end)
    assert(parts[r].n == n, "a part has another size")
  end
end

-- The value of element `number` of a rank: the summands over the axes that are summed since.
local function expected(from, to)
  local before, summed = {}, {}
  for _, name in ipairs(from.mesh.axes) do
    if from.partial[name] then before[#before + 1] = name end
    if from.partial[name] and not to.partial[name] then summed[#summed + 1] = name end
  end
  local mask = {}
  for r = 0, from.mesh.n - 1 do
    mask[r] = 0
    local all = group_of(from.mesh, r, before)
    for _, other in ipairs(group_of(from.mesh, r, summed)) do
      mask[r] = mask[r] | 1 << (place_in(all, other) - 1)
    end
  end
  return function(r, number) return number << MASK_BITS | mask[r] end
end

local function run_plan(plan, parts)
  local bytes, seconds, last = 0, 0.0, plan.from
  for _, step in ipairs(plan.steps) do
    check_parts(step.from, parts, expected(plan.from, last))
    parts = run_step(step, parts, plan.item)
    bytes, seconds, last = bytes + step.bytes, seconds + step.seconds, step.to
  end
  assert(bytes == plan.bytes and seconds == plan.seconds)
  return parts
end

-- {====== Random shardings ======

local draw = dofile "tests/support/draw.lua"
local pick, shuffled = draw.pick, draw.shuffled

local function random_mesh()
  local n = math.random(3)
  local shape, stride, size, at = {}, {}, 1, 1
  local order = {}
  for i = 1, n do
    shape[i], order[i] = pick { 1, 2, 2, 2, 3, 3, 4, 4, 6, 8 }, i
    if size * shape[i] > 24 then shape[i] = 2 end
    size = size * shape[i]
  end
  for _, i in ipairs(shuffled(order)) do stride[i], at = at, at * shape[i] end
  return mesh(layout(shape, stride):named(table.unpack({ "a", "b", "c" }, 1, n)))
end

local function random_shape()
  local shape, budget = {}, 200
  for i = 1, math.random(3) do
    shape[i] = math.min(budget, pick { 1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 12, 12, 24, math.random(40) })
    budget = math.max(1, budget // shape[i])
  end
  return shape
end

local function ceil_div(a, b) return (a + b - 1) // b end

-- The factors of a mode: a block, axes, the rest in memory, perhaps more axes.
local function random_factors(m, extent, axes)
  local factors, span, cut = {}, 1, math.random(0, #axes)
  local function add(n, axis)
    factors[#factors + 1] = { n, axis }
    span = span * n
  end
  if math.random() < 0.35 then add(pick { 2, 3, 4 }) end
  for i = 1, cut do add(m.extent[axes[i]], axes[i]) end
  if cut > 0 and math.random() < 0.3 then add(pick { 2, 3 }) end
  for i = cut + 1, #axes do span = span * m.extent[axes[i]] end
  local rest = ceil_div(extent, span)
  if rest > 1 then factors[#factors + 1] = { rest } end
  for i = cut + 1, #axes do factors[#factors + 1] = { m.extent[axes[i]], axes[i] } end
  if #factors == 0 then factors[1] = { 1 } end
  return factors
end

-- A text with strides: factors in memory in a random order.
local function random_layout(m, shape, axes_of, partial)
  local modes, places = {}, {}
  for i, extent in ipairs(shape) do
    modes[i] = random_factors(m, extent, axes_of[i])
    for _, factor in ipairs(modes[i]) do
      if not factor[2] then places[#places + 1] = factor end
    end
  end
  if math.random() < 0.7 then places = shuffled(places) end
  local at, stride = 1, {}
  for _, factor in ipairs(places) do stride[factor], at = at, at * factor[1] end
  local shapes, strides = {}, {}
  for i, factors in ipairs(modes) do
    local a, b = {}, {}
    for j, factor in ipairs(factors) do
      a[j] = tostring(factor[1])
      b[j] = factor[2] and "1@" .. factor[2] or tostring(stride[factor])
    end
    shapes[i] = "(" .. table.concat(a, ",") .. ")"
    strides[i] = "(" .. table.concat(b, ",") .. ")"
  end
  for _, name in ipairs(partial) do shapes[#shapes + 1] = "@" .. name .. "+" end
  return ("(%s):(%s)"):format(table.concat(shapes, ","), table.concat(strides, ","))
end

local function random_plain(shape, axes_of, partial)
  local texts = {}
  for i = 1, #shape do
    texts[i] = pick { "_", "M" .. i }
    for _, name in ipairs(axes_of[i]) do texts[i] = texts[i] .. "@" .. name end
  end
  for _, name in ipairs(partial) do texts[#texts + 1] = "@" .. name .. "+" end
  return "(" .. table.concat(texts, ",") .. ")"
end

-- A sharding; over axes of `may` there may be partial sums.
local function random_sharding(m, shape, may)
  local axes_of, partial = {}, {}
  for i = 1, #shape do axes_of[i] = {} end
  for _, name in ipairs(shuffled(m.axes)) do
    local x = math.random()
    if x < 0.25 and may[name] then
      partial[#partial + 1] = name
    elseif x < 0.8 then
      table.insert(axes_of[math.random(#shape)], name)
    end
  end
  local text = math.random() < 0.5 and random_plain(shape, axes_of, partial) or
    random_layout(m, shape, axes_of, partial)
  local ok, s = pcall(m.sharding, m, shape, text)
  if ok then
    assert(m:sharding(shape, s:text()) == s, "the text of a sharding")
    return s
  end
  assert(tostring(s):find("do not follow one another in memory"), s)
  return random_sharding(m, shape, may)
end

-- {====== Laws of shardings ======

local function check_sharding(s)
  for r = 0, s.mesh.n - 1 do
    local n_valid, product = 0, 1
    for _, n in ipairs(s:valid(r)) do product = product * n end
    each_place(s, r, function(offset, number)
      if number ~= PAD then
        n_valid = n_valid + 1
        local ranks, at = s:owner(idx2crd(number, shape(s.shape)))
        assert(at == offset and place_in(ranks, r))
      end
    end)
    assert(size(s:part_view(r)) == n_valid and product == n_valid)
  end
  assert(size(s:part_layout()) == parts_of(s)[0].n)
end

-- {====== Cases ======

local counted = {}
local one_node = cost.links { node = 1000 }

-- Without padding, a plan moves no more than what each rank lacks, except for the share of the
-- bandwidth that single messages reach.
local function check_least(a, b, item)
  local parts, most = parts_of(a), 0
  if not shardings.is_even(a) or not shardings.is_even(b) then return end
  for _, name in ipairs(a.mesh.axes) do
    if a.partial[name] and not b.partial[name] and a.mesh.extent[name] > 1 then return end
  end
  for r = 0, a.mesh.n - 1 do
    local _, lacks = step_of.send_recv(parts, nil, nil, nil, { from = a, to = b }, r)
    most = math.max(most, lacks)
  end
  local bytes = plans.plan(a, b, item, one_node).bytes
  assert(bytes <= most * item / one_node.send_recv + 1e-9, "a plan moves too much")
end

-- The engine of the CPU mesh carries out the same plan on tensors.
local function check_engine(a, b)
  local n = 1
  for _, extent in ipairs(a.shape) do n = n * extent end
  local t = arange(i32, n):view(layout(a.shape))
  local x <close> = shard(t, a:text(), a.mesh)
  local y <close> = reshard(x, b:text())
  local whole = y:whole()
  for i = 0, n - 1 do assert(whole[i] == i, "the engine moved an element elsewhere") end
end

device "cpu:48" -- as many as a mesh here may have

local function run_case()
  kept = {}
  local m, shape = random_mesh(), random_shape()
  local may = {}
  for _, name in ipairs(m.axes) do may[name] = true end
  local a = random_sharding(m, shape, may)
  local b = random_sharding(m, shape, a.partial)
  local item = pick { 1, 2, 4, 8 }
  local plan = plans.plan(a, b, item)
  local parts = run_plan(plan, parts_of(a))
  check_parts(b, parts, expected(a, b))
  for _, step in ipairs(plan.steps) do counted[step.op] = (counted[step.op] or 0) + 1 end
  if math.random() < 0.3 then -- the composition of two plans is the direct one
    local c = random_sharding(m, shape, b.partial)
    local composed = run_plan(plans.plan(b, c, item), parts_of(b))
    check_parts(c, composed, expected(b, c))
    check_parts(c, run_plan(plans.plan(a, c, item), parts_of(a)), expected(a, c))
  end
  if math.random() < 0.1 then check_sharding(a) end
  check_least(a, b, item)
  if math.random() < 0.2 then check_engine(a, b) end
  return a, b
end

local function run_all()
  for i = 1, n_cases do
    local state = math.random(1 << 40)
    math.randomseed(state)
    local ok, err = xpcall(run_case, debug.traceback)
    if not ok then
      print("case", i, "seed of the case", state)
      error(err, 0)
    end
    math.randomseed(state, 1)
  end
end

run_all()
for _, op in ipairs { "all_gather", "reduce_scatter", "all_reduce", "all_to_all", "permute",
  "local", "send_recv" } do
  assert(n_cases < 500 or counted[op], op .. " was never planned")
  if arg and arg[1] then print(op, counted[op]) end
end
print("done") -- expect: done
