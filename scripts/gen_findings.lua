-- gen_findings.lua: the page of all findings of `check`, with a wrong and a right kernel for each.
--   cuttle scripts/gen_findings.lua build/docs/docs/findings.md
-- Each kernel in tests/check/right has a twin of the same name in tests/check, which is wrong.
-- What `check` says of the two decides where they stand: the wrong one must have findings of one
-- kind only, the right one none, and each kind needs one such pair. Without a path it returns the
-- text, and the number of pairs; tests/lua/program/findings_page.lua looks at them.
local kinds = require("cuttle.findings").kinds
local shell = dofile "scripts/shell.lua"
local program = arg[-1]
local WRONG <const>, RIGHT <const> = "tests/check/", "tests/check/right/"

-- {====== What check says ======

local quote <const>, read <const> = shell.quote, shell.read_file

-- {ids =, lines =, option =, text =} of a kernel: the ids that were found, what was printed, and
-- the program without its expectations.
local function look_at(path)
  local text, list = read(path), os.tmpname()
  local option = text:match "%-%- check: (%l%S*)\n"
  local command = ("CUTTLE_THREADS=1 %s check %s --write-baseline=%s %s 2>&1 </dev/null"):format(
    quote(program), option and quote("--" .. option) or "", list, path)
  local pipe <close> = assert(io.popen(command))
  local lines, ids = {}, {}
  for line in pipe:lines() do
    if not line:find "^check: " then lines[#lines + 1] = line:gsub("^tests/check/", "") end
  end
  for id in read(list):gmatch "%f[^\n](CT%-[%u-]+)\t" do ids[id], ids[1] = true, id end
  os.remove(list)
  return { ids = ids, lines = lines, option = option,
           text = text:gsub(" %-%- finds: [^\n]*", "") }
end

local function names_of_pairs()
  local names = {}
  local list <close> = assert(io.popen("ls " .. RIGHT))
  for name in list:lines() do names[#names + 1] = name end
  return names
end

-- [id] = {wrong =, right =, name =}, the first of its kind by name, and how many there are.
local function read_pairs()
  local by_id, n = {}, 0
  for _, name in ipairs(names_of_pairs()) do
    local wrong, right = look_at(WRONG .. name), look_at(RIGHT .. name)
    local id = wrong.ids[1]
    assert(id and next(wrong.ids, next(wrong.ids)) and #right.lines == 0,
      ("%s: findings in the wrong kernel: %s; in the right one: %s"):format(name,
        table.concat(wrong.lines, "\n"), table.concat(right.lines, "\n")))
    for other in pairs(wrong.ids) do
      assert(other == 1 or other == id, name .. " has findings of two kinds")
    end
    if not by_id[id] then by_id[id], n = { wrong = wrong, right = right, name = name }, n + 1 end
  end
  return by_id, n
end

-- {====== The page ======

local out = {}
local function add(format, ...) out[#out + 1] = format:format(...) end

local function add_code(text) add("```lua\n%s```", text) end

local function add_pair(pair)
  add("Wrong, `tests/check/%s`:\n", pair.name)
  add_code(pair.wrong.text)
  add("```\n$ cuttle check %s%s\n%s\n```\n", pair.wrong.option and
    ("--%s "):format(pair.wrong.option:gsub("=(.*[<>].*)$", '="%1"')) or "", pair.name,
    table.concat(pair.wrong.lines, "\n"))
  add("Right, `tests/check/right/%s`:\n", pair.name)
  add_code(pair.right.text)
end

local function add_kind(row, pair)
  assert(pair, row.id .. " has no pair of kernels in tests/check and tests/check/right")
  add("\n## %s\n", row.id)
  add("**%s**, in JSON `%s`. %s %s\n", row.title:gsub("^%l", string.upper), row.kind, row.rule,
    row.remedy)
  add_pair(pair)
end

local by_id, n_pairs = read_pairs()
add [[
# Findings of check

This page explains each kind of finding of [`cuttle check`](check.md), with a wrong and a right
kernel. `make docs` makes it from the table of kinds and the kernels in `tests/check`. The id of a
kind stays the same in later versions.

| Id | What is wrong |
|---|---|]]
for _, row in ipairs(kinds) do
  add("| [%s](#%s) | %s |", row.id, row.id:lower(), row.title)
end
for _, row in ipairs(kinds) do add_kind(row, by_id[row.id]) end
local text = table.concat(out, "\n") .. "\n"

local path = ...
if path then
  local file <close> = assert(io.open(path, "w"))
  file:write(text)
end
return text, n_pairs
