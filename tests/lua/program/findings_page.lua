-- The page of findings: scripts/gen_findings.lua runs a wrong and a right kernel of each kind, and
-- fails unless `check` says exactly that kind of the wrong one, and nothing of the right one. Here:
-- the page has each kind, once, with both kernels; and ids look alike and are different.
local tap = dofile "tests/support/tap.lua"
local kinds = require("cuttle.findings").kinds
local text, n_pairs = dofile "scripts/gen_findings.lua"

tap.is(n_pairs, #kinds, "as many pairs as kinds")
local seen, n_headings = {}, 0
for id in text:gmatch "\n## ([^\n]+)\n" do
  n_headings = n_headings + 1
  tap.ok(not seen[id], id .. " stands once")
  seen[id] = true
end
tap.is(n_headings, #kinds, "as many headings as kinds")
for _, row in ipairs(kinds) do
  local part = text:match("\n## " .. row.id:gsub("%-", "%%-") .. "\n(.-)\n## ")
    or text:match("\n## " .. row.id:gsub("%-", "%%-") .. "\n(.*)$")
  local _, n_blocks = (part or ""):gsub("\n```lua\n", "")
  tap.ok(part and n_blocks == 2 and part:find(row.rule, 1, true)
    and part:find(row.remedy, 1, true), row.id .. " has its rule, its remedy and two kernels")
  tap.ok(row.id:find "^CT%-%u[%u-]+$" and row.kind:find "^%l[%l_]+$"
    and row.rule:find "^%u.*%.$" and row.remedy:find "^%u.*%.$" and not row.title:find "%.$",
    row.id .. " is written like the others")
end

-- The table in docs/check.md names the same ids, each once.
local page <close> = assert(io.open "docs/check.md")
local named, n_named = {}, 0
for row in page:read("a"):match("\n## What it finds\n(.-)\n## "):gmatch "\n|[^|]+|([^|]+)|" do
  for id in row:gmatch "`(CT%-[%u-]+)`" do named[id], n_named = true, n_named + 1 end
end
for _, row in ipairs(kinds) do tap.ok(named[row.id], row.id .. " is in docs/check.md") end
tap.is(n_named, #kinds, "and no other id is")
tap.done()
