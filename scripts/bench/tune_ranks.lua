-- tune_ranks.lua: how two orders of the same things agree, as a table. Entries have kernel, shape,
-- ms, predicted.
local lists = require "cuttle.lists"
local M = {}

local TOP <const> = 5 -- of the predicted order, which a GPU would run

-- Ranks of numbers; equal ones share their mean.
local function ranks_of(values)
  local order, ranks = {}, {}
  for i = 1, #values do order[i] = i end
  table.sort(order, function(a, b) return values[a] < values[b] end)
  local first = 1
  while first <= #order do
    local last = first
    while last < #order and values[order[last + 1]] == values[order[first]] do last = last + 1 end
    for i = first, last do ranks[order[i]] = (first + last) / 2 end
    first = last + 1
  end
  return ranks
end

--- Spearman's correlation of two lists of numbers; 0 where one has no order.
function M.spearman(xs, ys)
  local a, b, mean = ranks_of(xs), ranks_of(ys), (#xs + 1) / 2
  local ab, aa, bb = 0, 0, 0
  for i = 1, #xs do
    ab = ab + (a[i] - mean) * (b[i] - mean)
    aa, bb = aa + (a[i] - mean) ^ 2, bb + (b[i] - mean) ^ 2
  end
  return aa * bb > 0 and ab / math.sqrt(aa * bb) or 0
end

--- How much slower the best of the first n is than the best of all, by the predicted order.
function M.loss(list, n)
  local order = table.move(list, 1, #list, 1, {})
  table.sort(order, function(a, b) return a.predicted < b.predicted end)
  local best, found = math.huge, math.huge
  for i, x in ipairs(order) do
    best = math.min(best, x.ms)
    if i <= n then found = math.min(found, x.ms) end
  end
  return found / best - 1
end

--- Spearman's correlation of what a list measured and predicted, and their ratio's mean.
function M.agreement(list)
  local xs, ys, log = {}, {}, 0
  for i, x in ipairs(list) do
    xs[i], ys[i] = x.predicted, x.ms
    log = log + math.log(x.predicted / x.ms) / #list
  end
  return M.spearman(xs, ys), math.exp(log)
end

-- Parts of a list by a name, in the order of their first entries.
function M.groups(list, name_of)
  local groups = lists.groups(list, name_of)
  for _, group in ipairs(groups) do group.name = name_of(group[1]) end
  return groups
end

local function line(name, list, losses)
  local rank, ratio = M.agreement(list)
  return ("| %s | %d | %.2f | %.2f | %s |\n"):format(name, #list, rank, ratio, losses)
end

local function percent(x) return ("%.1f %%"):format(100 * x) end

--- A table: each kernel at each shape, each kernel, and all.
function M.text(list)
  local out = { "| space | pairs | Spearman | predicted / measured | first | first five | "
    .. "runs saved |\n|---|---|---|---|---|---|---|\n" }
  for _, group in ipairs(M.groups(list, function(x) return x.kernel .. " " .. x.shape end)) do
    out[#out + 1] = line(group.name, group, ("%s | %s | %.1f x"):format(percent(M.loss(group, 1)),
      percent(M.loss(group, TOP)), #group / math.min(TOP, #group)))
  end
  for _, group in ipairs(M.groups(list, function(x) return x.kernel end)) do
    out[#out + 1] = line("**" .. group.name .. "**", group, "| |")
  end
  out[#out + 1] = line("**all**", list, "| |")
  return table.concat(out)
end

return M
