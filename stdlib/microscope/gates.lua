-- gates.lua: limits for the figures of a profile: "conflicts<=2, registers<=128, spills=0".
--   M.names                     what can be gated
--   M.parse(text, fail, into)   adds the gates of a text to a list; fail(format, ...) raises
--   M.judge(gates, profile)     a finding for each kernel and gate that it does not keep
--   M.summary(gates, findings, profile)   a line that tells how many were kept
local kinds = require "cuttle.findings"
local near = require "cuttle.near"
local plural = require "cuttle.plural"
local M = {}

-- {====== Figures of a kernel ======

-- The sum of a field over a kernel's accesses to shared memory, or with math.max the largest; and
-- the line of the access where it is largest.
local function over_shared(kernel, field, join)
  local value, most, at = 0, 0, nil
  for _, line in ipairs(kernel.lines) do
    for _, access in ipairs(line.accesses) do
      local n = access.space == "shared" and access[field] or 0
      value = join(value, n)
      if n > most then most, at = n, line end
    end
  end
  return value, at
end

local function add(a, b) return a + b end

local function most_split(kernel)
  local at
  for _, line in ipairs(kernel.lines) do
    if line.splits > (at and at.splits or 0) then at = line end
  end
  return kernel.totals.splits, at
end

-- Each: the figure and, if it has one, its line; the figure as text; how to change it. A figure
-- that is nil is not known.
local figures <const> = {
  { name = "registers", of = function(k) return k.registers end,
    says = function(n) return plural(n, "register") .. " a thread" end,
    remedy = "keep fewer values in fragments at once" },
  { name = "spills", of = function(k) return k.local_bytes end,
    says = function(n) return plural(n, "byte") .. " of local memory a thread" end,
    remedy = "keep fewer values at once, and index local arrays by constants" },
  { name = "shared_bytes", of = function(k) return k.shared_bytes end,
    says = function(n) return plural(n, "byte") .. " of shared memory a block" end,
    remedy = "use smaller tiles or fewer stages" },
  { name = "conflicts", of = function(k) return over_shared(k, "conflicts", add) end,
    says = function(n) return plural(n, "wavefront") .. " of bank conflicts" end,
    remedy = "swizzle or pad the layout; find_swizzle() searches for one" },
  { name = "degree", of = function(k) return over_shared(k, "degree", math.max) end,
    says = function(n) return ("bank conflicts of degree %g"):format(n) end,
    remedy = "swizzle or pad the layout; find_swizzle() searches for one" },
  { name = "splits", of = most_split,
    says = function(n) return plural(n, "split") .. " of warps at branches" end,
    remedy = "let all lanes of a warp take the same branch" },
  { name = "occupancy", of = function(k) return 100 * k.occupancy.fraction end,
    says = function(n) return ("an occupancy of %g %%"):format(n) end,
    remedy = "use less of what limits it; the profile says what that is" },
  { name = "predicted_ms", of = function(k) return k.predicted.ms end,
    says = function(n) return ("a predicted time of %.4g ms"):format(n) end,
    remedy = "the profile says which unit and which lines take it" },
}

M.names = {}
local figure_of <const> = {}
for i, figure in ipairs(figures) do
  M.names[i], figure_of[figure.name] = figure.name, figure
end

-- {====== Gates ======

local comparisons <const> = {
  ["<="] = function(a, b) return a <= b end, ["<"] = function(a, b) return a < b end,
  [">="] = function(a, b) return a >= b end, [">"] = function(a, b) return a > b end,
  ["="] = function(a, b) return a == b end,
}

local function listed() return table.concat(M.names, ", ") end

local function parse_one(text, fail)
  local name, comparison, limit = text:match "^([%a_]+)%s*([<>=]+)%s*([%d.]+)$"
  local compare, number = comparisons[comparison], tonumber(limit)
  if not compare or not number then
    fail("--gate: '%s' is no gate; expected a figure, one of <= < >= > =, and a number, as in "
      .. "registers<=128; figures: %s", text, listed())
  end
  if not figure_of[name] then
    local nearest = near.nearest(name, M.names)
    fail("--gate: '%s' is no figure; %sfigures: %s", name,
      nearest and ("did you mean %s? "):format(nearest) or "", listed())
  end
  return { text = name .. comparison .. limit, figure = figure_of[name], compare = compare,
           limit = number }
end

function M.parse(text, fail, into)
  for part in (text .. ","):gmatch "%s*(.-)%s*," do
    into[#into + 1] = parse_one(part, fail)
  end
end

local function finding_of(gate, kernel)
  local figure = gate.figure
  local value, line = figure.of(kernel)
  if value and gate.compare(value, gate.limit) then return nil end
  local what = value and figure.says(value) or ("an unknown number of %s: %s"):format(figure.name,
    kernel.registers_unknown or kernel.predicted.why or "nothing counts them here")
  return { kind = "gate", id = kinds.of.gate.id, kernel = kernel.name,
           chunk = line and line.file or kernel.file, line = line and line.line or kernel.line,
           count = 1,
           message = ("gate: kernel '%s' has %s, and the gate is %s; %s"):format(kernel.name, what,
             gate.text, value and figure.remedy or "gate another figure") }
end

function M.judge(gates, profile)
  local findings = {}
  for _, kernel in ipairs(profile.kernels) do
    for _, gate in ipairs(gates) do findings[#findings + 1] = finding_of(gate, kernel) end
  end
  return findings
end

function M.summary(gates, findings, profile)
  local n_all = #gates * #profile.kernels
  return ("gates: %d of %d kept, in %s"):format(n_all - #findings, n_all,
    plural(#profile.kernels, "kernel"))
end

return M
