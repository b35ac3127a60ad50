-- mutate_sync.lua: does `check` notice it if a barrier, fence, wait, commit, arrival, scope or
-- order is missing? Leaves out, or weakens, each in turn in the examples and library operators.
--   cuttle scripts/mutate_sync.lua [--orders=N] [--seconds=N] [NAME...]
-- Prints a line for each mutant, with tabs between: subject, what is missing, kernel, place,
-- outcome, the first finding or the reason. Outcomes:
--   found     check reports something that the program as it is does not have
--   ordered   the same, in another order: N are tried where nothing is known of the mutant
--   needless, elsewhere, turns, blind: see mutate_sync_known.lua
--   changed   nothing is reported, but results differ, and nobody has said why
--   survived  neither, and nobody has said why
-- Then the counts. The exit code is 1 if a subject failed, or a mutant is changed or survived.
package.path = "scripts/?.lua;" .. package.path
local check = require "cuttle.check"
local shell = require "shell"
local known = require "mutate_sync_known"
local subjects = require "mutate_sync_subjects"

local ORDERS <const> = 60 -- enough for mutants that are known to show in one
local options = { orders = 0, seconds = 900 }
local names = {}
for _, word in ipairs(arg) do
  local key, value = word:match "^%-%-(%w+)=(.*)$"
  if key then options[key] = tonumber(value) or value else names[#names + 1] = word end
end

-- {====== One subject, in a process of its own ======

-- The text of an example, perhaps changed, and its name.
local function text_of(name)
  local change = subjects.changed[name]
  local text = shell.read_file(("examples/%s.lua"):format(change and change[1] or name))
  for i = 2, change and #change or 0, 2 do
    assert(text:find(change[i], 1, true), "no such text: " .. change[i])
    text = shell.replace(text, change[i], change[i + 1])
  end
  return text, change and change[1] or name
end

local function program_of(name)
  if subjects.operators[name] then return subjects.operators[name] end
  local text, example = text_of(name)
  local path, words = "examples/" .. example .. ".lua", {}
  for word in (subjects.arguments[example] or ""):gmatch "%S+" do words[#words + 1] = word end
  local script = assert(load(text, "@" .. path))
  return function()
    arg = { [0] = path, [-1] = arg[-1], table.unpack(words) } -- luacheck: ignore
    return script(table.unpack(words))
  end
end

local EXIT <const> = {}

-- Calls f as a script: what it prints is dropped, and os.exit ends only the script.
local function quietly(f, ...)
  local say, write, exit = print, io.write, os.exit
  print, io.write = function() end, function() end -- luacheck: ignore
  os.exit = function() error(EXIT, 0) end -- luacheck: ignore
  local results = table.pack(pcall(f, ...))
  print, io.write, os.exit = say, write, exit -- luacheck: ignore
  return results[1] or results[2] == EXIT, results[2]
end

local function checked(name, how)
  how.call = quietly
  math.randomseed(1)
  return check.run(program_of(name), how)
end

-- The mutant in all launches of a run, in other orders too, if asked.
local function whole_run(name, mutant, orders)
  local findings = checked(name, { without = mutant, orders = orders })
  return findings[1]
end

-- What becomes of the mutant, and why: what is found, or what is known of it.
local function judge(name, mutant)
  if mutant.text then return "found", mutant.text end
  local f = mutant.launches == 0 and whole_run(name, mutant)
  if f then return "found", f.message end
  local reason = known[name .. ": " .. mutant.name]
  if reason and reason.why ~= "ordered" then return reason.why, reason.text end
  f = (reason or options.orders > 0) and whole_run(name, mutant, math.max(options.orders, ORDERS))
  if f then return "ordered", f.message end
  return mutant.is_needed and "changed" or "survived", ""
end

-- Names each mutant, as "sync_threads() #2": the second one of these in the program.
local function name_all(mutants)
  table.sort(mutants, function(a, b)
    if a.line ~= b.line then return a.line < b.line end
    return a.at < b.at
  end)
  local counts = {}
  for _, m in ipairs(mutants) do
    local what = m.object and ("%s '%s'"):format(m.what, m.object) or m.what
    counts[what] = (counts[what] or 0) + 1
    m.name = ("%s #%d"):format(what, counts[what])
  end
end

local function run_subject(name)
  local each = subjects.operators[name] and "each" or true
  local findings, launches, ok, why = checked(name, { mutants = each })
  if not ok or #findings > 0 then
    local text = ok and check.line(findings[1]) or tostring(why)
    print(("!failed\t%s\t%s"):format(name, text:gsub("%s+", " ")))
    os.exit(1)
  end
  name_all(findings.mutants)
  for _, m in ipairs(findings.mutants) do
    local outcome, text = judge(name, m)
    print(table.concat({ name, m.name, m.kernel, m.chunk .. ":" .. m.line, outcome,
      (text:gsub("%s+", " ")) }, "\t"))
  end
  print(("!done\t%s\t%d"):format(name, launches))
end

if options.subject then
  run_subject(options.subject)
  return
end

-- {====== All subjects ======

if #names == 0 then
  for _, path in ipairs(shell.lines_of((shell.capture("ls examples/*.lua")))) do
    names[#names + 1] = path:match "([%w_]+)%.lua$"
  end
  for _, more in ipairs { subjects.operators, subjects.changed } do
    for name in pairs(more) do names[#names + 1] = name end
  end
  table.sort(names)
end

local OUTCOMES <const> = { "found", "ordered", "needless", "elsewhere", "turns", "blind", "changed",
  "survived" }
local counts, kinds = {}, {} -- by outcome; by what is missing, and outcome
local n_wrong = 0

local function add(counted, outcome) counted[outcome] = (counted[outcome] or 0) + 1 end

local function count(line)
  local what, outcome = line:match "^[^!\t][^\t]*\t([^\t]*)\t[^\t]*\t[^\t]*\t(%l+)\t"
  if not outcome then return end
  what = what:gsub(" #%d+$", ""):gsub(" '[^']*'$", "")
  kinds[what] = kinds[what] or {}
  add(counts, outcome)
  add(kinds[what], outcome)
end

local function told(counted)
  local out = {}
  for _, outcome in ipairs(OUTCOMES) do
    if counted[outcome] then out[#out + 1] = ("%s %d"):format(outcome, counted[outcome]) end
  end
  return table.concat(out, ", ")
end

for _, name in ipairs(names) do
  local out = shell.capture(("%senv CUTTLE_DEVICE=cpu %s scripts/mutate_sync.lua --orders=%d "
    .. "--subject=%s 2>&1 </dev/null"):format(shell.time_limit(options.seconds),
    shell.quote(arg[-1]), options.orders, shell.quote(name)))
  for _, line in ipairs(shell.lines_of(out)) do
    print(line)
    count(line)
  end
  if not out:find("!done", 1, true) then
    n_wrong = n_wrong + 1
    print("!incomplete\t" .. name)
  end
end
local whats = {}
for what in pairs(kinds) do whats[#whats + 1] = what end
table.sort(whats)
for _, what in ipairs(whats) do print(("# %s: %s"):format(what, told(kinds[what]))) end
print("# all: " .. told(counts))
n_wrong = n_wrong + (counts.changed or 0) + (counts.survived or 0)
os.exit(n_wrong == 0, true)
