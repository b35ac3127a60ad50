-- The reference is made of the annotations in stdlib/meta: each of their entries has a heading, and the contents
-- lead to all of them.
local annotations = require "cuttle.annotations"
local text = dofile "scripts/gen_docs.lua"
local headings, links = {}, {}
for line in text:gmatch "[^\n]+" do
  local heading = line:match "^#+ (.+)$"
  if heading then
    local anchor = heading:lower():gsub("[^%w%- _]", ""):gsub(" ", "-")
    headings[anchor] = (headings[anchor] or 0) + 1
  end
end
for anchor in text:gmatch "%]%(#([^)]+)%)" do links[anchor] = true end
local n, n_missing = 0, 0
for _, topic in ipairs(annotations.load()) do
  for _, entry in ipairs(topic.entries) do
    n = n + 1
    local anchor = entry.signature:lower():gsub("[^%w%- _]", ""):gsub(" ", "-")
    if not headings[anchor] or not (links[anchor] or links[anchor .. "-1"]) then
      n_missing = n_missing + 1
      print("no heading, or no link to it: " .. entry.signature)
    end
  end
end
print(n > 200, n_missing) -- expect: true	0
