-- The programs here are no longer than those of the originals, and docs/originals.md states both.
local tap = dofile "tests/support/tap.lua"
local page = assert(io.open "docs/originals.md"):read "a"

-- Lines with code: not blank ones, not comments.
local function lines_of(path)
  local n = 0
  for line in io.lines(path) do
    if line:find "%S" and not line:find "^%s*%-%-" then n = n + 1 end
  end
  return n
end

local originals = {
  {"sgemm_2d_blocktiling", 88}, {"moye_matmul", 61}, {"notebook_shared_matmul", 370},
  {"sgemm_1", 296}, {"sgemm_2", 332}, {"sgemm_sm70", 365}, {"sgemm_sm80", 487},
}
for _, row in ipairs(originals) do
  local name, theirs = row[1], row[2]
  local ours = lines_of("examples/" .. name .. ".lua")
  tap.ok(ours <= theirs, ("%s.lua has no more lines than its original"):format(name),
    ("%d lines beside %d"):format(ours, theirs))
  local stated = page:match(("(%%d+)[^|\n]*|[^|\n]*| `%s.lua`, %d |"):format(name, ours))
  tap.is(tonumber(stated), theirs, ("and the page says %d and %d"):format(theirs, ours))
end
tap.done()
