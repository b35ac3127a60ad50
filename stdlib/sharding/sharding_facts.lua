-- sharding_facts.lua: what explain says of meshes, shardings and plans: rows {heading, text}.
local shardings = require "cuttle.sharding"
local plan_text = require "cuttle.plan_text"
local M = {}

local plural = require "cuttle.plural"

-- Headings of a list stand before its first row.
local function add_list(rows, heading, texts)
  for i, text in ipairs(texts) do rows[#rows + 1] = { i == 1 and heading or "", text } end
end

-- {====== Meshes ======

function M.mesh(m)
  local rows, axes = { { "mesh", ("%s: %s"):format(m.layout, plural(m.n, "rank")) } }, {}
  for i, name in ipairs(m.axes) do
    axes[i] = ("%s: %s, the first %s"):format(name, plural(m.extent[name], "rank"),
      table.concat(m:group(0, name), ", ", 1, math.min(4, m.extent[name])))
  end
  add_list(rows, "axes", axes)
  return rows
end

-- {====== Shardings ======

local function mode_text(s, i) return "mode " .. (s.names[i] or i - 1) end

-- What an axis does to a mode: blocks of neighbours, dealt once or in rounds.
local function shards_text(s, i, j)
  local block, rounds = 1, 1
  for k, factor in ipairs(s.modes[i]) do
    if k < j then block = block * factor.extent end
    if k > j and not factor.axis then rounds = rounds * factor.extent end
  end
  return ("shards %s in blocks of %d%s"):format(mode_text(s, i), block,
    rounds > 1 and (", dealt in %d rounds"):format(rounds) or "")
end

local function axis_text(s, name, on)
  if s.partial[name] then return "each rank holds a summand" end
  local at = on[name]
  return at and shards_text(s, at[1], at[2]) or "replicated"
end

local function padding_text(s)
  local padded, texts = shardings.padded(s), {}
  for i, n in ipairs(padded) do
    if n > s.shape[i] then
      texts[#texts + 1] = ("%s from %d to %d"):format(mode_text(s, i), s.shape[i], n)
    end
  end
  return #texts == 0 and "none" or table.concat(texts, ", ")
end

local function n_elements(s)
  local n = 1
  for _, extent in ipairs(s.shape) do n = n * extent end
  return n
end

function M.sharding(s)
  local on, axes = shardings.sharding_axes(s), {}
  for i, name in ipairs(s.mesh.axes) do
    axes[i] = ("%s (%d): %s"):format(name, s.mesh.extent[name], axis_text(s, name, on))
  end
  local rows = { { "sharding", ("%s of (%s)"):format(shardings.text(s),
    table.concat(s.shape, ",")) }, { "mesh", tostring(s.mesh.layout) } }
  add_list(rows, "axes", axes)
  add_list(rows, "layout", { tostring(shardings.layout(s)) })
  local part = shardings.part_size(s)
  add_list(rows, "part", { ("%s: %s of %d, 1 in %.4g"):format(shardings.part_layout(s),
    plural(part, "element"), n_elements(s), n_elements(s) / part) })
  add_list(rows, "padding", { padding_text(s) })
  return rows
end

-- {====== Plans ======

local words = {
  all_gather = "each rank of a group gets the parts of all",
  reduce_scatter = "summands are added, and each rank keeps one chunk",
  all_reduce = "summands are added, and each rank keeps all",
  all_to_all = "each rank sends a different chunk to each rank of its group",
  permute = "each rank sends its whole part to one rank",
  send_recv = "each rank gets what it lacks from the nearest rank that has it",
  ["local"] = "each rank copies within its own memory",
}

function M.plan(plan)
  local rows = { { "plan", ("from %s to %s"):format(shardings.text(plan.from),
    shardings.text(plan.to)) } }
  for i, step in ipairs(plan.steps) do
    local text = step.view and "another view of the same memory" or words[step.op]
    rows[#rows + 1] = { "step " .. i, ("%s%s: %s"):format(step.op, #step.axes > 0 and
      " over " .. table.concat(step.axes, ", ") or "", text) }
    if step.bytes > 0 then
      rows[#rows + 1] = { "", ("%s for a device, %s"):format(plan_text.bytes(step.bytes),
        plan_text.seconds(step.seconds)) }
    end
  end
  rows[#rows + 1] = { "all", ("%s, %s"):format(plan_text.bytes(plan.bytes),
    plan_text.seconds(plan.seconds)) }
  return rows
end

-- {====== Of any object ======

--- Rows for an object of these types; nil for any other.
function M.of(x)
  local meta = type(x) == "table" and getmetatable(x)
  local name = type(meta) == "table" and meta.__name
  if name == "sharded tensor" then return M.sharding(x.sharding) end
  return (name == "mesh" or name == "sharding" or name == "plan") and M[name](x) or nil
end

return M
