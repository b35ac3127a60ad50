-- findings_baseline.lua: findings that are known, in a file. A finding is recognised by its id, its
-- script and the text of its line, so it may move to another line. The file has a finding in each
-- line, its three parts with tabs between; two that look alike stand there twice.
--   M.encode(findings)               the file's text
--   M.mark(findings, script, text, fail)   sets is_known; how many of the file's for this script
--                                    were not found. fail(line number, line) raises
local M = {}

local HEADER <const> = "# cuttle check: known findings (id, script, line)\n"

-- Blanks do not count.
local function key_of(f)
  local source = (f.source or ""):gsub("%s+", " ")
  return ("%s\t%s\t%s"):format(f.id, (f.file or f.chunk):gsub("%s", " "), source)
end

function M.encode(findings)
  local lines = {}
  for i, f in ipairs(findings) do lines[i] = key_of(f) .. "\n" end
  table.sort(lines)
  return HEADER .. table.concat(lines)
end

-- [key] = how often it stands in the file.
local function read(text, fail)
  local counts, n = {}, 0
  for line in (text:gsub("\n$", "") .. "\n"):gmatch "(.-)\r?\n" do
    n = n + 1
    if line:find "^CT%-[%u-]+\t[^\t]+\t[^\t]*$" then
      counts[line] = (counts[line] or 0) + 1
    elseif line ~= "" and not line:find "^#" then
      fail(n, line)
    end
  end
  return counts
end

function M.mark(findings, script, text, fail)
  local counts, n_left = read(text, fail), 0
  for _, f in ipairs(findings) do
    local key = key_of(f)
    f.is_known = (counts[key] or 0) > 0
    counts[key] = (counts[key] or 0) - 1
  end
  for key, n in pairs(counts) do
    local is_own = key:match "\t([^\t]*)\t" == script
    n_left = n_left + (is_own and math.max(n, 0) or 0)
  end
  return n_left
end

return M
