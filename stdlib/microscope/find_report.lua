-- find_report.lua: how find_swizzle and find_layout print what they found.
local M = {}

function M.number(n)
  return n == math.floor(n) and ("%d"):format(n) or ("%.1f"):format(n)
end

-- "2688 (8-way)", of {wavefronts, conflicts}.
function M.conflicts(cost)
  if cost.conflicts == 0 then return "0" end
  local ways = cost.wavefronts / (cost.wavefronts - cost.conflicts)
  return ("%d (%s-way)"):format(math.floor(cost.conflicts + 0.5), M.number(ways))
end

-- The first line: what was searched, and how much of it.
function M.title(what, found)
  local n = #found.candidates
  local tried = ("%s: %d layout%s tried"):format(what, n, n == 1 and "" or "s")
  if not found.stopped then return tried end
  return tried .. (" of %d, then stopped: the best so far"):format(found.n_wanted)
end

-- Rows of texts as columns; column `left` begins where its heading does, the others end there.
function M.table(rows, left)
  local widths, out = {}, {}
  for _, row in ipairs(rows) do
    for i, text in ipairs(row) do widths[i] = math.max(widths[i] or 0, #text) end
  end
  for _, row in ipairs(rows) do
    local cells = {}
    for i, text in ipairs(row) do
      local space = (" "):rep(widths[i] - #text)
      cells[i] = i == left and text .. space or space .. text
    end
    out[#out + 1] = (table.concat(cells, "  "):gsub("%s+$", ""))
  end
  return table.concat(out, "\n")
end

return M
