-- row_lists.lua: launches over lists of tensors of any lengths: a block takes a part of one
-- tensor, and tables say which. Tensors of one type are a list, and one launch takes all of it.
local arguments = require "cuttle.arguments"
local grouped = require "cuttle.lists".groups
local on_device = require "cuttle.operator_device"
local plural = require "cuttle.plural"
local tiles = require "cuttle.tiles"
local M = {}

local THREADS <const>, WIDTH <const>, DEEP <const> = 256, 4, 4 -- a thread's vectors
local PART <const> = THREADS * WIDTH * DEEP -- elements of a block

local function fail(op, format, ...) tiles.fail(op, format, ...) end

-- {====== Parts ======

-- body(at, width) for each vector, and then for each element behind the last vector, of a block's
-- part of a tensor with n elements. `at` is the first element.
local function each_part(first, n, body)
  local whole = n - n % WIDTH
  for j in range(DEEP) do
    local at = first + (j * THREADS + threadIdx.x) * WIDTH
    if at < whole then body(at, WIDTH) end
  end
  local at = whole + threadIdx.x
  if first + PART >= n and threadIdx.x < n - whole then body(at, 1) end
end

-- The vector at element `at`, which the tensor has.
local function vector(t, at, width)
  return view(t, layout({ width, size(t) // width }, { 1, width }))(_, at // width)
end

local function load(t, at, width)
  local r = fragment(t.dtype, width)
  copy(vector(t, at, width), r)
  return r
end

local function store(t, at, width, values)
  local r = fragment(f32, width)
  for e = 0, width - 1 do r[e] = cast(values[e], f32) end
  copy(t.dtype == f32 and r or cast(r, t.dtype), vector(t, at, width))
end

-- {====== Rounding ======

-- 16 random bits for each of a vector's elements, or of one: four neighbours share a call of
-- Philox, whose offset is their place and whose stream is the step.
local function random_bits(seed, t, at, width, count)
  local words = { rand_u32x4(seed, cast(t, i64) * (1 << 40) + cast(at, i64) // WIDTH, count) }
  local bits = {}
  for e = 0, width - 1 do bits[e] = words[e + 1] >> 16 end
  if width == WIDTH then return bits end
  local i = at % WIDTH
  local word = where(i == 0, words[1], where(i == 1, words[2], where(i == 2, words[3], words[4])))
  return { [0] = word >> 16 }
end

-- v as a number of bf16, the one above or below with the nearer one more likely: v is their mean.
local function at_random(v, bits)
  local raised = bitcast(bitcast(v, u32) + bits & 0xffff0000, f32)
  return where(abs(v) < math.huge, raised, v)
end

-- {====== Kernels ======

-- The element's function on a vector: the new values, and those of each state.
local function step_vector(way, numbers, factor, old, slope, states, width)
  local made, after = {}, {}
  for s = 1, way.n_states do after[s] = {} end
  for e = 0, width - 1 do
    local state = {}
    for s = 1, way.n_states do state[s] = states[s][e] end
    local value, new_state = way.element(cast(old[e], f32), cast(slope[e], f32) * factor, state,
      numbers)
    made[e] = value
    for s = 1, way.n_states do after[s][e] = new_state[s] end
  end
  return made, after
end

-- A step of all tensors of a list. `lists`: the parameters p, gradients g, states s1, s2, ..., and
-- masters, if there are any; `parts`: the number of each block's tensor, and its first element.
local function make_step(name, way, has_masters, is_stochastic)
  return kernel(name .. "_step", function(lists, parts, clip, numbers, seed, count)
    local t = cast(parts[{ 0, blockIdx.x }], i32)
    local p, g, from = lists.p[t + 1], lists.g[t + 1], {}
    for s = 1, way.n_states do from[s] = lists["s" .. s][t + 1] end
    local factor = clip[1]
    each_part(parts[{ 1, blockIdx.x }], size(p), function(at, width)
      local states = {}
      for s = 1, way.n_states do states[s] = load(from[s], at, width) end
      local old = load(has_masters and lists.masters[t + 1] or p, at, width)
      local made, after = step_vector(way, numbers, factor, old, load(g, at, width), states, width)
      for s = 1, way.n_states do store(from[s], at, width, after[s]) end
      if has_masters then store(lists.masters[t + 1], at, width, made) end
      if is_stochastic then
        local bits = random_bits(seed, t, at, width, count)
        for e = 0, width - 1 do made[e] = at_random(made[e], bits[e]) end
      end
      store(p, at, width, made)
    end)
  end)
end

-- Copies of all tensors of a list, in the type of others.
local widen = kernel("widen", function(from, to, parts)
  local t = cast(parts[{ 0, blockIdx.x }], i32) + 1
  each_part(parts[{ 1, blockIdx.x }], size(from[t]), function(at, width)
    store(to[t], at, width, load(from[t], at, width))
  end)
end)

-- The sum of squares of each part.
local squares = kernel("squares", function(list, parts, sums, first)
  local g = list[cast(parts[{ 0, blockIdx.x }], i32) + 1]
  local sum = f32(0)
  each_part(parts[{ 1, blockIdx.x }], size(g), function(at, width)
    local r = load(g, at, width)
    for e = 0, width - 1 do
      local v = cast(r[e], f32)
      sum = sum + v * v
    end
  end)
  local total = block_reduce(sum, "add")
  if threadIdx.x == 0 then sums[first + blockIdx.x] = total end
end)

local ADDED <const> = 1e-6 -- to the norm, as PyTorch's clip_grad_norm_ has it

-- out: the norm of all parts, and what gradients are multiplied by, so that it is at most max_norm.
local add_squares = kernel("add_squares", function(sums, out, max_norm)
  local sum = f64(0)
  for i in range(threadIdx.x, size(sums), blockDim.x) do sum = sum + cast(sums[i], f64) end
  local total = block_reduce(sum, "add")
  if threadIdx.x == 0 then
    local norm = cast(sqrt(total), f32)
    out[0], out[1] = norm, min(1.0, max_norm / (norm + ADDED))
  end
end)

-- {====== Lists ======

-- The tensor as its elements in memory's order.
local function flat(op, t, name)
  arguments.check_tensor(op, t, name, "of any shape", "it launches kernels itself")
  if cosize(t.layout) ~= size(t) then
    fail(op, "%s is %s; expected a tensor without gaps or repeated elements", name, t.layout)
  end
  return view(t, layout(size(t)))
end

-- The tensors' numbers, grouped by a key that key_of(i) gives.
local function groups_by(n, key_of)
  local numbers = {}
  for i = 1, n do numbers[i] = i end
  return grouped(numbers, key_of)
end

-- Of each block: the number of its tensor in the list, and its first element.
local function parts_of(place, list)
  local numbers, firsts = {}, {}
  for i, t in ipairs(list) do
    for first = 0, size(t) - 1, PART do
      numbers[#numbers + 1], firsts[#firsts + 1] = i - 1, first
    end
  end
  if #numbers == 0 then return nil, 0 end
  return on_device.bring(place, from_table(i64, { numbers, firsts })), #numbers
end

local function pick(list, numbers)
  local out = {}
  for k, i in ipairs(numbers) do out[k] = list[i] end
  return out
end

local function check_list(op, list, name)
  local is_list = type(list) == "table" and getmetatable(list) == nil
  if not is_list or #list == 0 then
    fail(op, "%s is %s; expected a list of tensors, {a, b}", name,
      is_list and "an empty list" or "of type " .. tiles.type_name(list))
  end
  for i, t in ipairs(list) do
    arguments.check_tensor(op, t, ("%s[%d]"):format(name, i), "of any shape",
      "it launches kernels itself")
    if t.device ~= list[1].device then
      fail(op, "%s[%d] is on %s, but %s[1] is on %s; expected all on one device", name, i, t.device,
        name, list[1].device)
    end
  end
end

-- {====== The norm ======

local function norm_of(op, gradients, max_norm, stream)
  local place, flats = gradients[1].device, {}
  for i, g in ipairs(gradients) do flats[i] = flat(op, g, ("gradients[%d]"):format(i)) end
  local groups, n = groups_by(#flats, function(i) return flats[i].dtype.name end), 0
  for _, group in ipairs(groups) do
    group.list = pick(flats, group)
    group.parts, group.n = parts_of(place, group.list)
    group.first, n = n, n + group.n
  end
  local sums, out = on_device.new(place, f32, layout(math.max(n, 1))), on_device.new(place, f32,
    layout(2))
  fill(sums, 0.0)
  for _, group in ipairs(groups) do
    if group.n > 0 then
      squares { grid = group.n, block = THREADS, stream = stream }(group.list, group.parts, sums,
        group.first)
    end
  end
  add_squares { grid = 1, block = 1024, stream = stream }(sums, out, max_norm)
  return out
end

--- The norm of all elements of a list of tensors, a tensor f32 of one element on their device.
function M.norm(gradients)
  check_list("gradient_norm", gradients, "gradients")
  return view(norm_of("gradient_norm", gradients, math.huge), layout(1))
end

-- {====== Optimizers ======

local Optimizer = {}
local optimizer_type = tiles.new_type("optimizer", Optimizer, { "masters" })

local creation_options <const> = { "masters", "seed", "stochastic" }

local function zeros_like(place, list)
  local out = {}
  for i, t in ipairs(list) do
    out[i] = on_device.new(place, f32, layout(size(t)))
    fill(out[i], 0.0)
  end
  return out
end

-- f32 copies of the parameters.
local function masters_of(place, list)
  local out = zeros_like(place, list)
  for _, group in ipairs(groups_by(#list, function(i) return list[i].dtype.name end)) do
    local from = pick(list, group)
    local parts, n = parts_of(place, from)
    if n > 0 then widen { grid = n, block = THREADS }(from, pick(out, group), parts) end
  end
  return out
end

local function check_types(op, parameters, is_stochastic)
  for i, p in ipairs(parameters) do
    if not p.dtype.is_float then
      fail(op, "parameters[%d] has elements of type %s; expected a float type", i, p.dtype)
    elseif is_stochastic and p.dtype ~= bf16 then
      fail(op, "parameters[%d] has elements of type %s; stochastic rounding is for bf16", i,
        p.dtype)
    end
  end
end

--- An optimizer. `way`: {element =, n_states =, numbers = of the options and the count of steps,
--- options = names of a step's}.
function M.new(op, parameters, options, way)
  check_list(op, parameters, "parameters")
  options = arguments.options(op, options or {}, creation_options, "{masters = true}")
  check_types(op, parameters, options.stochastic)
  local place, flats = parameters[1].device, {}
  for i, p in ipairs(parameters) do flats[i] = flat(op, p, ("parameters[%d]"):format(i)) end
  local self = { name = op, way = way, place = place, parameters = parameters, flats = flats,
    states = {}, count = 0, seed = options.seed or 0, groups = {},
    masters = options.masters and masters_of(place, flats) or nil,
    no_clip = on_device.bring(place, from_table(f32, { 0, 1 })),
    kernel = make_step(op, way, options.masters and true or false, options.stochastic) }
  for s = 1, way.n_states do self.states[s] = zeros_like(place, flats) end
  return setmetatable(self, optimizer_type)
end

local function check_gradients(self, gradients)
  check_list(self.name, gradients, "gradients")
  if #gradients ~= #self.flats then
    fail(self.name, "%d gradients; expected %d, one for each parameter", #gradients, #self.flats)
  end
  local flats = {}
  for i, g in ipairs(gradients) do
    local p = self.parameters[i]
    if g.layout ~= p.layout then
      fail(self.name, "gradients[%d] is %s, but parameters[%d] is %s; expected the same layout", i,
        g.layout, i, p.layout)
    end
    flats[i] = flat(self.name, g, ("gradients[%d]"):format(i))
  end
  return flats
end

-- Which tensors one launch takes, and its blocks; the types of gradients may change.
local function groups_of(self, gradients)
  local function key_of(i) return self.flats[i].dtype.name .. " " .. gradients[i].dtype.name end
  local key = {}
  for i in ipairs(gradients) do key[i] = key_of(i) end
  key = table.concat(key, ",")
  if not self.groups[key] then
    self.groups[key] = groups_by(#gradients, key_of)
    for _, group in ipairs(self.groups[key]) do
      group.parts, group.n = parts_of(self.place, pick(self.flats, group))
    end
  end
  return self.groups[key]
end

-- The lists of one launch.
local function lists_of(self, group, gradients)
  local lists = { p = pick(self.flats, group), g = pick(gradients, group) }
  if self.masters then lists.masters = pick(self.masters, group) end
  for s = 1, self.way.n_states do lists["s" .. s] = pick(self.states[s], group) end
  return lists
end

-- The norm and the factor of a step, (2).
local function clip_of(self, gradients, options)
  local most = options.max_norm
  if most == nil then return self.no_clip end
  if type(most) ~= "number" or most ~= most or most <= 0 then
    fail(self.name, "max_norm is %s; expected a number above 0", tostring(most))
  end
  return norm_of(self.name, gradients, most + 0.0, options.stream)
end

--- A step: changes parameters, masters and states in place. Returns the norm of all gradients, f32
--- on their device, if max_norm is given.
function Optimizer:step(gradients, options)
  if tiles.type_name(self) ~= "optimizer" then
    fail("optimizer", "step was called with '.'; write ':', as in optimizer:step(gradients)")
  end
  local flats = check_gradients(self, gradients)
  options = arguments.options(self.name, options or {}, self.way.options, "{rate = 1e-3}")
  local numbers = self.way.numbers(options, self.count + 1)
  local clip = clip_of(self, flats, options)
  self.count = self.count + 1
  for _, group in ipairs(groups_of(self, flats)) do
    if group.n > 0 then
      self.kernel { grid = group.n, block = THREADS, stream = options.stream }(
        lists_of(self, group, flats), group.parts, clip, numbers, self.seed, self.count)
    end
  end
  return options.max_norm and view(clip, layout(1)) or nil
end

optimizer_type.__tostring = function(self)
  return ("optimizer %s of %s after %s"):format(self.name, plural(#self.flats, "tensor"),
    plural(self.count, "step"))
end

return M
