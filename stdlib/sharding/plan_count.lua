-- plan_count.lua: how many elements a rank lacks of its new part, counted from the factors of two
-- shardings, without a look at single elements.
local M = {}

local MAX_RUNS <const> = 4000000 -- of one count; see M.missing

-- {====== Numbers below a bound with some digits given ======

-- How many g in [0, bound) have the digits `fixed[k]` where it is given. Digit k of g counts
-- weights[k]; the last digit has no upper end.
local function count_below(bound, weights, fixed)
  local free, n = {}, 0 -- free[k]: choices of the digits below k
  free[1] = 1
  for k = 1, #weights - 1 do
    free[k + 1] = free[k] * (fixed[k] and 1 or weights[k + 1] // weights[k])
  end
  for k = #weights, 1, -1 do
    local digit = bound // weights[k]
    bound = bound % weights[k]
    if fixed[k] == nil then
      n = n + digit * free[k]
    elseif fixed[k] < digit then
      return n + free[k]
    elseif fixed[k] > digit then
      return n
    end
  end
  return n
end

-- The weights of both shardings' factors of a mode in order; nil if they do not divide one another.
local function weights_of(...)
  local all, out = {}, {}
  for _, factors in ipairs { ... } do
    local weight = 1
    for _, factor in ipairs(factors) do
      all[#all + 1], weight = weight, weight * factor.extent
    end
  end
  table.sort(all)
  for _, weight in ipairs(all) do
    local last = out[#out]
    if last ~= weight then
      if last and weight % last ~= 0 then return nil end
      out[#out + 1] = weight
    end
  end
  return out
end

-- The axes of a mode: {axis =, weight =, extent =}.
local function axes_of(factors)
  local out, weight = {}, 1
  for _, factor in ipairs(factors) do
    if factor.axis then
      out[#out + 1] = { axis = factor.axis, weight = weight, extent = factor.extent }
    end
    weight = weight * factor.extent
  end
  return out
end

-- Notes in `fixed` the digits that the axes have at a coordinate. Returns false if a digit would
-- need two values.
local function fix(fixed, weights, axes, coord)
  for _, a in ipairs(axes) do
    local finish = a.weight * a.extent
    for k, weight in ipairs(weights) do
      if weight >= a.weight and weight < finish then
        local digit, above = coord[a.axis] // (weight // a.weight), weights[k + 1]
        if above and above <= finish then digit = digit % (above // weight) end
        if fixed[k] and fixed[k] ~= digit then return false end
        fixed[k] = digit
      end
    end
  end
  return true
end

-- {====== One mode ======

-- The factors before the first axis are one run of neighbours; how long it is, and how many.
local function runs_of(factors)
  local length, n, started = 1, 1, false
  for _, factor in ipairs(factors) do
    started = started or factor.axis ~= nil
    if not started then
      length = length * factor.extent
    elseif not factor.axis then
      n = n * factor.extent
    end
  end
  return length, n
end

-- Calls visit(first) for the beginning of each run of a part.
local function each_run(factors, coord, visit)
  local function go(j, weight, at, started)
    local factor = factors[j]
    if factor == nil then return visit(at) end
    local above = weight * factor.extent
    if factor.axis then return go(j + 1, above, at + coord[factor.axis] * weight, true) end
    if not started then return go(j + 1, above, at, false) end
    for i = 0, factor.extent - 1 do go(j + 1, above, at + i * weight, true) end
  end
  go(1, 1, 0, false)
end

-- Of factors that do not divide one another: the sum over the runs of one part of what the other
-- has of them.
local function common_by_runs(mode, coord)
  local a, b = mode.from, mode.to
  local length, n_runs = runs_of(a)
  local _, n_other = runs_of(b)
  if n_other < n_runs then
    a, b = b, a
    length = runs_of(a)
  end
  local weights, fixed, n = weights_of(b), {}, 0
  fix(fixed, weights, axes_of(b), coord)
  each_run(a, coord, function(first)
    local last = math.min(first + length, mode.extent)
    if first < last then
      n = n + count_below(last, weights, fixed) - count_below(first, weights, fixed)
    end
  end)
  return n
end

-- The elements of a mode that a rank needs, and those of them that it has.
local function counts(mode, coord)
  local fixed = {}
  local need_weights = weights_of(mode.to)
  fix(fixed, need_weights, mode.to_axes, coord)
  local need = count_below(mode.extent, need_weights, fixed)
  if mode.weights == nil then return need, common_by_runs(mode, coord) end
  fixed = {}
  if not fix(fixed, mode.weights, mode.from_axes, coord) or
    not fix(fixed, mode.weights, mode.to_axes, coord) then return need, 0 end
  return need, count_below(mode.extent, mode.weights, fixed)
end

-- {====== All ranks ======

local function mode_of(from, to, i)
  local m = { extent = from.shape[i], from = from.modes[i], to = to.modes[i], axes = {} }
  m.weights = weights_of(m.from, m.to)
  m.from_axes, m.to_axes = axes_of(m.from), axes_of(m.to)
  for _, list in ipairs { m.from_axes, m.to_axes } do
    for _, a in ipairs(list) do
      m.axes[a.axis] = a.extent
    end
  end
  local _, a = runs_of(m.from)
  local _, b = runs_of(m.to)
  m.work = m.weights and 1 or math.min(a, b)
  for _, extent in pairs(m.axes) do m.work = m.work * extent end
  return m
end

-- Calls visit(coord) for each coordinate on these axes.
local function each_coord(axes, extent, visit)
  local coord = {}
  local function go(k)
    if k > #axes then return visit(coord) end
    for i = 0, extent[axes[k]] - 1 do
      coord[axes[k]] = i
      go(k + 1)
    end
  end
  go(1)
end

-- need[key], common[key] of a mode; the key is a number made of the coordinates on its axes.
local function tabulate(mode)
  local names, at = {}, 1
  mode.step = {}
  for name, extent in pairs(mode.axes) do
    names[#names + 1], mode.step[name] = name, at
    at = at * extent
  end
  mode.need, mode.common = {}, {}
  each_coord(names, mode.axes, function(coord)
    local key = 0
    for name, step in pairs(mode.step) do key = key + coord[name] * step end
    mode.need[key], mode.common[key] = counts(mode, coord)
  end)
end

local function lacking(modes, coord)
  local need, common = 1, 1
  for _, mode in ipairs(modes) do
    local key = 0
    for name, step in pairs(mode.step) do key = key + coord[name] * step end
    need, common = need * mode.need[key], common * mode.common[key]
  end
  return need - common
end

--- The most elements that a rank needs for its part in `to` and does not have in `from`. nil where
--- the factors of a mode do not divide one another and lie in very many runs.
function M.missing(from, to)
  local modes, axes, seen, most = {}, {}, {}, 0
  for i = 1, #from.shape do
    modes[i] = mode_of(from, to, i)
    if modes[i].work > MAX_RUNS then return nil end
    tabulate(modes[i])
    for name in pairs(modes[i].axes) do
      if not seen[name] then axes[#axes + 1], seen[name] = name, true end
    end
  end
  each_coord(axes, from.mesh.extent, function(coord)
    most = math.max(most, lacking(modes, coord))
  end)
  return most
end

return M
