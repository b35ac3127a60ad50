-- sharded_matmul.lua: matmul of sharded tensors. Each rank multiplies its parts by an ordinary
-- matmul, so what is to be found is how A (M,K,L), B (N,K,L) and C (M,N,L) are spread meanwhile.
-- An axis of the mesh then has one role:
--   "M", "N", "L"  it shards that mode of C, and of the operand that has it
--   "K"            it shards K of both operands; C has partial sums over it
--   "A", "B"       that operand has partial sums over it, and so has C: a product is linear
--   "none"         all three are replicated
-- Roles that A, B or the wanted C suggest are tried, all axes together. The cheapest wins: what
-- bringing A and B there takes, the product of the largest part, and bringing C where it is wanted.
local products = require "cuttle.matmul"
local option_names = require "cuttle.option_names"
local overlaps = require "cuttle.sharded_overlap"
local planning = require "cuttle.plan"
local sharded = require "cuttle.sharded"
local shardings = require "cuttle.sharding"
local tiles = require "cuttle.tiles"
local M = {}

local FLOPS <const> = 5e14 -- of a rank in a second; decides between moving and computing again

local modes_of <const> = { A = { "M", "K", "L" }, B = { "N", "K", "L" }, C = { "M", "N", "L" } }

local function fail(format, ...) tiles.fail("matmul", format, ...) end

-- {====== Arguments ======

local function check_operand(x, name)
  if not sharded.is_sharded(x) then
    fail("%s is %s, but another operand is sharded; spread it too, as m:shard(%s, \"(_,_)\"), "
      .. "which replicates it", name, tiles.type_name(x) == "tensor" and "an ordinary tensor"
      or "of type " .. tiles.type_name(x), name)
  end
  sharded.check(x, "matmul")
  if #x.sharding.shape ~= 2 and #x.sharding.shape ~= 3 then
    fail("%s is (%s); expected (%s), or with batches (%s)", name,
      table.concat(x.sharding.shape, ","), table.concat(modes_of[name], ",", 1, 2),
      table.concat(modes_of[name], ","))
  end
end

local known_options <const> = { alpha = true, config = true, overlap = true, split = true }

local function check_options(options)
  for key in pairs(options or {}) do
    if not known_options[key] then
      fail("the option %s does not work with sharded tensors: a rank may hold partial sums, "
        .. "which are added later; alpha, config, overlap and split do. Apply the rest with a "
        .. "kernel on the parts, x:part(rank)", tostring(key))
    end
  end
  option_names.check("matmul", options, known_options)
end

-- {letter = name or false}: of the first operand that has one.
local function names_of(operands)
  local names = { M = false, N = false, K = false, L = false }
  for _, name in ipairs { "C", "A", "B" } do
    for i, own in ipairs(operands[name] and operands[name].sharding.names or {}) do
      local letter = modes_of[name][i]
      names[letter] = names[letter] or own
    end
  end
  if names.M == names.N then names.N = false end -- a product of a tensor with itself
  return names
end

-- {letter = extent} of the problem.
local function extents_of(operands)
  local extent = { L = 1 }
  for _, name in ipairs { "A", "B", "C" } do
    local x = operands[name]
    for i, n in ipairs(x and x.sharding.shape or {}) do
      local letter = modes_of[name][i]
      local known = extent[letter]
      if known and known ~= n and not (letter == "L" and known == 1) then
        fail("mode %s has the extent %d in %s, and %d in another operand", letter, n, name, known)
      end
      extent[letter] = n
    end
  end
  return extent
end

local function check_meshes(operands)
  for name, x in pairs(operands) do
    if x.mesh ~= operands.A.mesh then
      fail("A is on %s, %s is on %s; expected one mesh", operands.A.mesh, name, x.mesh)
    end
  end
end

-- {====== Roles ======

-- What each operand suggests for an axis.
local function suggested(operands, axis)
  local found, list = {}, {}
  local function add(role)
    if not found[role] then list[#list + 1], found[role] = role, true end
  end
  for _, name in ipairs { "A", "B", "C" } do
    local s = operands[name] and operands[name].sharding
    local at = s and shardings.sharding_axes(s)[axis]
    if at then add(modes_of[name][at[1]]) end
    if s and s.partial[axis] then add(name == "C" and "K" or name) end
  end
  add("none")
  return list
end

-- Calls f with each choice of a role for each axis: {[axis] = role}.
local function each_choice(operands, f)
  local axes, choice = operands.A.mesh.axes, {}
  local function choose(i)
    if i > #axes then return f(choice) end
    for _, role in ipairs(suggested(operands, axes[i])) do
      choice[axes[i]] = role
      choose(i + 1)
    end
  end
  choose(1)
end

-- {====== Shardings for a choice ======

local function axes_on(factors)
  local axes = {}
  for _, f in ipairs(factors) do
    if f.axis then axes[f.axis] = true end
  end
  return axes
end

local function same_axes(a, b)
  for axis in pairs(a) do
    if not b[axis] then return false end
  end
  for axis in pairs(b) do
    if not a[axis] then return false end
  end
  return true
end

-- Consecutive blocks, for these axes in the order of the mesh.
local function blocks(mesh, n, axes)
  local factors, ranks = {}, 1
  for _, axis in ipairs(mesh.axes) do
    if axes[axis] then
      factors[#factors + 1] = { extent = mesh.extent[axis], axis = axis }
      ranks = ranks * mesh.extent[axis]
    end
  end
  table.insert(factors, 1, { extent = (n + ranks - 1) // ranks })
  return factors
end

-- The factors of a mode for these axes: as one of the operands has it, if it has just these.
local function factors_for(operands, letter, extent, axes)
  for _, name in ipairs { "A", "B", "C" } do
    local s = operands[name] and operands[name].sharding
    for i, l in ipairs(modes_of[name]) do
      local factors = s and s.modes[i]
      if l == letter and factors and extent == s.shape[i] and same_axes(axes_on(factors), axes) then
        return factors
      end
    end
  end
  return blocks(operands.A.mesh, extent, axes)
end

-- Where the mode of each letter comes in memory, fastest first: as in the operand, or in order.
local function memory_order(s, name)
  local at = {}
  for place, entry in ipairs(s and s.order or {}) do
    local letter = modes_of[name][entry[1]]
    at[letter] = at[letter] or place
  end
  for i, letter in ipairs(modes_of[name]) do at[letter] = at[letter] or 100 + i end
  return at
end

-- A sharding of the modes of A, B or C from the problem's factors.
local function sharding_of(problem, name, partial)
  local s = problem.operands[name] and problem.operands[name].sharding
  local order, modes, shape, names = memory_order(s, name), {}, {}, {}
  for i = 1, problem.ranks[name] do
    local letter = modes_of[name][i]
    shape[i], names[i], modes[i] = problem.extent[letter], problem.names[letter], {}
    if letter == "L" and s and s.shape[i] == 1 then shape[i] = 1 end
    for j, f in ipairs(problem.factors[letter]) do
      modes[i][j] = { extent = f.extent, axis = f.axis,
                      key = not f.axis and order[letter] * 100 + j or nil }
    end
    if shape[i] ~= problem.extent[letter] then modes[i] = { { extent = 1, key = 0 } } end
  end
  return shardings.arranged(problem.mesh, shape, names, modes, partial)
end

-- The given sharding where it says the same in other words, so that nothing is copied.
local function kept(x, s)
  return x and shardings.equal(x.sharding, s) and x.sharding or s
end

-- {A =, B =, C =}: how all three are spread while ranks multiply.
local function spread(problem, choice)
  local partial, on = { A = {}, B = {}, C = {} }, { M = {}, N = {}, K = {}, L = {} }
  for axis, role in pairs(choice) do
    if on[role] then on[role][axis] = true end
    if partial[role] then partial[role][axis] = true end
    if partial[role] or role == "K" then partial.C[axis] = true end
  end
  problem.factors = {}
  for letter, axes in pairs(on) do
    problem.factors[letter] = factors_for(problem.operands, letter, problem.extent[letter], axes)
  end
  local out = {}
  for _, name in ipairs { "A", "B", "C" } do
    out[name] = kept(problem.operands[name], sharding_of(problem, name, partial[name]))
  end
  return out
end

-- A batch that both share cannot be sharded with those of the other.
local function is_possible(problem, choice)
  for _, role in pairs(choice) do
    if role == "L" and problem.is_broadcast then return false end
  end
  return true
end

-- {====== The cheapest choice ======

local function largest_part(problem)
  local n = 1
  for _, factors in pairs(problem.factors) do
    for _, f in ipairs(factors) do n = f.axis and n or n * f.extent end
  end
  return n
end

local function plan_of(from, to, dtype)
  return planning.plan(from, to, dtype.bytes, nil, "matmul")
end

-- What the choice takes: seconds, and the plans.
local function try(problem, choice)
  local operands, s, plans = problem.operands, spread(problem, choice), {}
  local seconds = 2 * largest_part(problem) / FLOPS
  for _, name in ipairs { "A", "B" } do
    plans[name] = plan_of(operands[name].sharding, s[name], operands[name].dtype)
    seconds = seconds + plans[name].seconds
  end
  if operands.C then
    plans.C = plan_of(s.C, operands.C.sharding, operands.C.dtype)
    seconds = seconds + plans.C.seconds
  end
  return { seconds = seconds, shardings = s, plans = plans }
end

-- May C become what is wanted? Sums cannot be parted into summands again, so an axis of summands
-- has to be one of K, which C itself suggests.
local function reaches(problem, choice)
  local wanted = problem.operands.C and problem.operands.C.sharding.partial or {}
  for axis in pairs(wanted) do
    local role = choice[axis]
    if role ~= "K" and role ~= "A" and role ~= "B" then return false end
  end
  return true
end

local function search(problem)
  local best
  each_choice(problem.operands, function(choice)
    if not is_possible(problem, choice) or not reaches(problem, choice) then return end
    local found = try(problem, choice)
    if not best or found.seconds < best.seconds then best = found end
  end)
  return best
end

local WEAK <const> = { __mode = "k" }
local known = setmetatable({}, WEAK) -- by the shardings of A, B and C, then by types

local function get_or_add(t, key)
  if t[key] == nil then t[key] = setmetatable({}, WEAK) end
  return t[key]
end

local function problem_of(operands)
  check_meshes(operands)
  local A, B = operands.A, operands.B
  local problem = { operands = operands, mesh = A.mesh, extent = extents_of(operands),
                    names = names_of(operands), ranks = {} }
  for name, x in pairs(operands) do problem.ranks[name] = #x.sharding.shape end
  problem.ranks.C = problem.ranks.C or math.max(problem.ranks.A, problem.ranks.B)
  problem.is_broadcast = (A.sharding.shape[3] or 1) ~= (B.sharding.shape[3] or 1)
  return problem
end

-- Programs multiply tensors that are spread alike again and again. What is wrong with shardings was
-- found the first time.
local function cheapest(operands)
  local by = known
  for _, x in ipairs { operands.A, operands.B, operands.C or operands.A } do
    by = get_or_add(by, x.sharding)
  end
  local C = operands.C
  local key = operands.A.dtype.name .. (C and " " .. C.dtype.name or "")
  by[key] = by[key] or search(problem_of(operands))
  return by[key]
end

-- {====== Running it ======

local function moved(x, plan) return #plan.steps > 0 and sharded.run_plan(x, plan) or x end

local function multiply(A, B, C, options)
  for _, rank in ipairs(C.engine.ranks) do
    local c = C:part(rank)
    if size(c) > 0 then matmul(A:part(rank), B:part(rank), c, options) end
  end
end

local function read(A, B, C, options)
  if C ~= nil and not sharded.is_sharded(C) and options == nil and type(C) == "table" then
    C, options = nil, C
  end
  local operands = { A = A, B = B, C = C }
  for _, name in ipairs { "A", "B", "C" } do
    if name ~= "C" or C ~= nil then check_operand(operands[name], name) end
  end
  sharded.check_outside("matmul")
  check_options(options)
  return operands, options or {}
end

local function no_overlap(why)
  fail("overlap is true, but %s; leave the option out", why)
end

-- The cheapest choice, and the way to overlap it; nil and why not.
local function choose(operands, options)
  local best = cheapest(operands)
  local way, why = overlaps.find(best, operands, options)
  if options.overlap and not way then no_overlap(why) end
  return best, way, why
end

--- What matmul does with sharded tensors: {seconds =, shardings = {A =, B =, C =}, plans =,
--- kernel =, why =}. kernel: "gather_matmul", "matmul_scatter" or "matmul"; why it is the last one.
function M.plan(A, B, C, options)
  local best, way, why = choose(read(A, B, C, options))
  return { seconds = best.seconds, shardings = best.shardings, plans = best.plans,
           kernel = way and way.kernel or "matmul", why = why }
end

-- A, B and C as the ranks multiply them; those that are not the caller's are closed at the end.
local function operands_of(given, best, way)
  local own = {}
  for _, name in ipairs { "A", "B" } do
    local is_gathered = way and way.kernel == "gather_matmul" and way.side == name
    own[name] = is_gathered and given[name] or moved(given[name], best.plans[name])
  end
  local C = given.C
  local is_sum = way and way.kernel == "matmul_scatter"
  local is_there = C ~= nil and (is_sum or C.sharding == best.shardings.C)
  local dtype = C and C.dtype or products.result_type(given.A.dtype)
  own.C = is_there and C or sharded.new(given.A.engine, dtype, best.shardings.C)
  return own
end

local function close_moved(own, given)
  for _, name in ipairs { "A", "B" } do
    if own[name] ~= given[name] then own[name]:close() end
  end
end

-- false: the devices do not reach each other.
local function run(given, best, way, options)
  local own, is_done = operands_of(given, best, way), true
  if way then
    is_done = overlaps.run(way, given, own, own.C, options)
  else
    multiply(own.A, own.B, own.C,
      { alpha = options.alpha, config = options.config, split = options.split })
  end
  close_moved(own, given)
  if given.C and own.C ~= given.C then
    if is_done then sharded.assign(given.C, best.plans.C, own.C) end
    own.C:close()
  end
  return is_done and (given.C or own.C)
end

--- matmul(A, B[, C][, options]) of sharded tensors -> C
function M.matmul(A, B, C, options)
  local operands, opts = read(A, B, C, options)
  local best, way = choose(operands, opts)
  local out = run(operands, best, way, opts)
  if out then return out end
  if opts.overlap then no_overlap(select(2, overlaps.find(best, operands, opts))) end
  return run(operands, best, nil, opts)
end

return M
