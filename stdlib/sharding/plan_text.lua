-- plan_text.lua: a plan as a table: steps, collectives, axes, bytes a device receives, time by the
-- model, and the shardings after each step.
local lists = require "cuttle.lists"
local plural = require "cuttle.plural"
local shardings = require "cuttle.sharding"
local M = {}

local units = { { 1e9, "GB" }, { 1e6, "MB" }, { 1e3, "kB" } }

--- Bytes with three digits: "12.6 MB".
function M.bytes(n)
  for _, unit in ipairs(units) do
    if n >= unit[1] then
      local x = n / unit[1]
      return ("%.3g %s"):format(x >= 100 and math.floor(x + 0.5) or x, unit[2])
    end
  end
  return ("%d B"):format(n)
end

--- Seconds with three digits: "35.2 us".
function M.seconds(s)
  if s >= 1 then return ("%.3g s"):format(s) end
  if s >= 1e-3 then return ("%.3g ms"):format(s * 1e3) end
  return ("%.3g us"):format(s * 1e6)
end

local function row_of(i, step, like)
  return { tostring(i), step.view and "local (view)" or step.op, table.concat(step.axes, ","),
           M.bytes(step.bytes), step.seconds == 0 and "-" or M.seconds(step.seconds),
           shardings.text(step.to, like) }
end

local is_right = { true, false, false, true, true, false } -- the columns of numbers

--- The printed plan.
function M.text(plan)
  local from, to = plan.from, plan.to
  local head = ("plan of (%s), %s an element, over %s\nfrom %s to %s"):format(
    table.concat(from.shape, ","), plural(plan.item, "byte"), from.mesh,
    shardings.text(from, to), shardings.text(to, to))
  if #plan.steps == 0 then return head .. "\nno steps: the same memory" end
  local rows = { { "step", "collective", "axes", "bytes", "time", "gives" } }
  for i, step in ipairs(plan.steps) do rows[i + 1] = row_of(i, step, to) end
  rows[#rows + 1] = { "", "all", "", M.bytes(plan.bytes), M.seconds(plan.seconds), "" }
  return head .. "\n" .. table.concat(lists.columns(rows, is_right), "\n")
end

return M
