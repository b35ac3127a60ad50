-- tables.lua: what benchmarks of several candidates in several regimes print: a line for each
-- candidate, with its rate and its ratios to peers, and which bars it meets. Candidates are those
-- of regimes.lua after they were timed.
local M = {}

local NAME <const> = 34

--- The least time in a regime of the candidates that are wanted, or nil.
function M.best(list, regime, is_wanted)
  local least
  for _, c in ipairs(list) do
    local ms = c.ms and c.ms[regime]
    if ms and is_wanted(c) and (least == nil or ms < least) then least = ms end
  end
  return least
end

-- TFLOP/s of so many operations in so many ms.
local function rate_text(flops, ms)
  local rate = flops / ms * 1e-9
  return (rate >= 10 and "%8.1f" or "%8.2g"):format(rate)
end

local function ratio_text(peer, ms)
  return peer and ("%8.3f"):format(peer / ms) or ("%8s"):format "-"
end

local function number_text(n) return n and ("%4.0f"):format(n) or "   -" end

--- Prints a list. t: {flops = of a launch, regimes = list of names, peers = list of {title,
--- function (regime) -> ms or nil}, title = of the last column, which is c.verdict}.
function M.print(list, t)
  local head = ("  %-" .. NAME .. "s"):format "TFLOP/s, ratios"
  for _, regime in ipairs(t.regimes) do
    head = head .. ("%8s"):format(regime:upper())
    for _, peer in ipairs(t.peers) do head = head .. ("%8s"):format(peer[1]) end
    head = head .. "  "
  end
  print(("%s   MHz     W  %s"):format(head, t.title))
  for _, c in ipairs(list) do
    local line = ("  %-" .. NAME .. "s"):format(c.name)
    for _, regime in ipairs(t.regimes) do
      line = line .. rate_text(t.flops, c.ms[regime])
      for _, peer in ipairs(t.peers) do
        line = line .. ratio_text(peer[2](regime), c.ms[regime])
      end
      line = line .. "  "
    end
    print(("%s  %s  %s  %s"):format(line, number_text(c.clock), number_text(c.power), c.verdict))
  end
end

--- A score of bars: {met =, all =, wrong =}, as the lines below count them.
function M.new_score() return { met = 0, all = 0, wrong = 0 } end

--- Adds "what 1.044 >= 1.03 yes" to parts and counts it: the ratio of times theirs / mine. Without
--- `least` or theirs there is no bar; without mine it is not met.
function M.bar(score, parts, what, theirs, mine, least)
  if least == nil or theirs == nil then return end
  local value = mine and theirs / mine or 0
  local is_met = value >= least
  score.all, score.met = score.all + 1, score.met + (is_met and 1 or 0)
  parts[#parts + 1] = ("%s %.3f >= %.2f %s"):format(what, value, least, is_met and "yes" or "NO")
end

function M.print_bars(parts)
  if #parts > 0 then print("  bars: " .. table.concat(parts, ", ")) end
end

return M
