-- row_operator.lua: operators of rows that launch several kernels, called, prepared and explained
-- as a row_kernel is. Such an operator is a function f(launch, ...) that returns its results:
-- launch.rows(k, ...) is a call of the row_kernel k, and launch.matmul(A, B, C, options) one of
-- matmul. Both are done at once, or become steps. All have the options `stream`, as in a launch,
-- and `work`, memory for what they make by operator_device.lua's scratch.
local arguments = require "cuttle.arguments"
local launches = require "cuttle.operator_steps"
local on_device = require "cuttle.operator_device"
local tiles = require "cuttle.tiles"
local M = {}

local at_once <const> = {
  rows = function(k, ...) return k(...) end,
  matmul = function(...) matmul(...) end,
}

-- A launch that collects steps in that stream and, for each call, a text.
local function collector(steps, stream, texts)
  local function add(more, text)
    table.move(more, 1, #more, #steps + 1, steps)
    if texts then texts[#texts + 1] = text() end
  end
  return {
    rows = function(k, ...)
      local given = table.pack(...)
      local more, results = on_device.released(k.steps, k, ...)
      for _, step in ipairs(more) do step.launch.stream = stream end
      add(more, function() return k.name .. ": " .. k:explain(table.unpack(given)).text end)
      return table.unpack(results)
    end,
    matmul = function(A, B, C, options)
      local own = { stream = stream }
      for name, v in pairs(options or {}) do own[name] = v end
      local _, name, more = on_device.released(require "cuttle.matmul".prepare, A, B, C, own)
      add(more, function() return "matmul: " .. name end)
    end,
  }
end

-- The texts in order, neighbouring pairs and single ones that repeat said once with their number.
local function joined(texts)
  local lines, counts = {}, {}
  for _, text in ipairs(texts) do
    if not counts[text] then lines[#lines + 1] = text end
    counts[text] = (counts[text] or 0) + 1
  end
  for i, text in ipairs(lines) do
    if counts[text] > 1 then lines[i] = ("%d times %s"):format(counts[text], text) end
  end
  return table.concat(lines, "\n")
end

local Operator = {}
local operator_type = tiles.new_type("row_operator", Operator)

operator_type.__tostring = function(self) return "row_operator " .. self.name end

local function check_self(self)
  if tiles.type_name(self) == "row_operator" then return end
  tiles.fail("row_operator", "a method was called with '.'; write ':', as in "
    .. "rows.linear_cross_entropy:prepare(x, weight, target)")
end

-- The arguments with options that have neither `work` nor `stream`, and these.
local function without_work(...)
  local given = table.pack(...)
  local options, others = arguments.take_options(given), {}
  for name, v in pairs(options) do
    if name ~= "work" and name ~= "stream" then others[name] = v end
  end
  given.n = given.n + 1
  given[given.n] = others
  return given, options.work, options.stream
end

-- The steps of a call, and its results.
local function planned(self, ...)
  local given, work, stream = without_work(...)
  if work ~= nil then arguments.check_work(self.name, work, 0) end
  local steps = {}
  local found = table.pack(on_device.within(work, self.f, collector(steps, stream),
    table.unpack(given, 1, given.n)))
  if work ~= nil then arguments.check_work(self.name, work, found[1].most, found[1].place) end
  return steps, table.move(found, 2, found.n, 1, {})
end

operator_type.__call = function(self, ...)
  local _, work, stream = without_work(...)
  if work == nil and stream == nil then return self.f(at_once, ...) end
  local steps, results = planned(self, ...)
  launches.run(steps)
  return table.unpack(results)
end

--- The launches as a function without arguments, to be called often, and the list of results.
function Operator:prepare(...)
  check_self(self)
  local steps, results = planned(self, ...)
  return launches.prepare(steps), results
end

--- How many f32 the option `work` has to have for such a call.
function Operator:work(...)
  check_self(self)
  local given = without_work(...)
  return on_device.within(nil, self.f, collector({}), table.unpack(given, 1, given.n)).most
end

--- What is launched for these arguments: {launches =, text =}.
function Operator:explain(...)
  check_self(self)
  local steps, texts, given = {}, {}, (without_work(...))
  self.f(collector(steps, nil, texts), table.unpack(given, 1, given.n))
  return { launches = #steps, text = joined(texts) }
end

--- An operator of that name by a function f(launch, ...).
function M.new(name, f) return setmetatable({ name = name, f = f }, operator_type) end

return M
