-- The file of results: what is written is read, one result for each device, driver, source and key;
-- what is no result stays; two files merge line by line.
local shell = dofile "tests/support/shell.lua"
local store = require "cuttle.store"
local path = os.tmpname()

local function row(key, ms, config, how, device)
  return { name = "k.lua:1", how = how or "measured", ms = ms, device = device or "GPU A",
           driver = "CUDA 13.0", key = key, config = config, source = "0123456789abcdef" }
end

local function show(rows)
  local parts = {}
  for i, r in ipairs(rows) do parts[i] = ("%s %s %s %s"):format(r.key, r.config, r.how, r.ms) end
  return #parts .. ": " .. table.concat(parts, "; ")
end

local function text_of() return shell.read_file(path) end

os.remove(path)
print(show(store.read(path)))              -- expect: 0:
print(store.add(path, { row("f32(8)", 0.25, "a=1 b={2,3}") }))     -- expect: true
print(show(store.read(path)))              -- expect: 1: f32(8) a=1 b={2,3} measured 0.25
print(select(2, text_of():gsub("\n", "")), text_of():match "\n([^\n]*)\n$") -- expect: 2	k.lua:1	measured	0.25	GPU A	CUDA 13.0	f32(8)	a=1 b={2,3}	0123456789abcdef

-- Another key or device is another result; the same one is replaced in its place.
store.add(path, { row("f32(16)", 0.5, "a=2"), row("f32(8)", 0.75, "a=3", nil, "GPU B") })
store.add(path, { row("f32(8)", 0.125, "a=4") })
print(show(store.read(path)))              -- expect: 3: f32(8) a=4 measured 0.125; f32(16) a=2 measured 0.5; f32(8) a=3 measured 0.75

-- A result that knows less does not replace one that knows more.
store.add(path, { row("f32(8)", 0.001, "a=5", "predicted") })
store.add(path, { row("f32(16)", 0.001, "a=6", "partial") })
print(show(store.read(path)))              -- expect: 3: f32(8) a=4 measured 0.125; f32(16) a=2 measured 0.5; f32(8) a=3 measured 0.75
store.add(path, { row("f32(32)", 1, "a=1", "predicted") })
store.add(path, { row("f32(32)", 2, "a=2", "partial") })
store.add(path, { row("f32(32)", 3, "a=3") })
print(store.read(path)[4].config)          -- expect: a=3

-- What is added again changes nothing: the file is not even written anew.
local function file_number()
  local pipe <close> = assert(io.popen("ls -i " .. path))
  return pipe:read "n"
end
local before, number = text_of(), file_number()
print(store.add(path, { row("f32(8)", 0.125, "a=4") }), text_of() == before) -- expect: true	true
print(file_number() == number)             -- expect: true

-- A file that was cut at any byte gives the rows of its whole lines, and no other.
local whole = store.read(path)
local bad = 0
for n = 0, #before do
  local cut <close> = assert(io.open(path, "wb"))
  cut:write(before:sub(1, n))
  cut:close()
  local rows = store.read(path)
  local _, n_lines = before:sub(1, n + 1):gsub("\n", "")
  bad = bad + (#rows == math.max(0, n_lines - 1) and 0 or 1)
  for i, r in ipairs(rows) do bad = bad + (r.config == whole[i].config and 0 or 1) end
end
print(bad)                                 -- expect: 0

-- Comments and lines of others stay where they are.
local file = assert(io.open(path, "wb"))
file:write("# mine\n<<<<<<< ours\n", before:match "\n([^\n]*\n)", "a line\tof\tsomething\n")
file:close()
store.add(path, { row("f32(64)", 1, "a=9") })
print((text_of():gsub("k.lua[^\n]*\t(a=%d)\t[^\n]*", "%1"):gsub("\n", "|"))) -- expect: # Results of tune: name, how, ms, device, driver, key, configuration, source|# mine|<<<<<<< ours|a=4|a line	of	something|a=9|

-- Tabs and line ends in names do not break lines.
store.add(path, { row("f32(1)\tx\n", 1, "a=1") })
print(#store.read(path), store.read(path)[3].key == "f32(1)\tx\n") -- expect: 3	true

-- As `git merge` with its driver `union` does: the lines of both.
local a, b = text_of(), text_of():gsub("a=9", "a=8"):gsub("f32%(64%)", "f32(65)")
file = assert(io.open(path, "wb"))
file:write(a, b)
file:close()
print(#store.read(path))                   -- expect: 6
store.add(path, { row("f32(2)", 1, "a=1") })
print(select(2, text_of():gsub("f32%(65%)", ""))) -- expect: 1

-- What is written is read, whatever the texts are.
math.randomseed(11)
local function random_text()
  local bytes = {}
  for i = 1, math.random(0, 12) do
    bytes[i] = math.random(2) == 1 and math.random(0, 255) or ("#\\\t\n\rx09 "):byte(math.random(9))
  end
  return string.char(table.unpack(bytes))
end
local many, wrong = {}, 0
for i = 1, 300 do
  many[i] = row(i .. random_text(), i, random_text())
  many[i].name = random_text()
end
os.remove(path)
store.add(path, many)
local got, faults = store.read(path)
for i, r in ipairs(many) do
  for name, value in pairs(r) do wrong = wrong + (got[i][name] == value and 0 or 1) end
end
print(#got, #faults, wrong)                -- expect: 300	0	0
store.add(path, many)
print(#store.read(path))                   -- expect: 300

-- Lines that should be results but are not; those of Windows end by \r\n.
local good = before:match "\n([^\n]*)\n"
file = assert(io.open(path, "wb"))
file:write(table.concat({ "# mine", good, "", "<<<<<<< ours",
  good:gsub("\tmeasured", "\tguessed"), good:sub(1, -2), good .. "\tmore",
  good:gsub("0.125", "-1"), good:gsub("0.125", "1e999"), "" }, "\r\n"))
file:close()
got, faults = store.read(path)
print(#got, got[1].source)                 -- expect: 1	0123456789abcdef
for _, fault in ipairs(faults) do print(fault.line, fault.why) end
-- expect: 4	1 field between tabs; a result has 8
-- expect: 5	'guessed' in place of measured, partial or predicted
-- expect: 6	'0123456789abcde' in place of a hash of 16 hexadecimal digits
-- expect: 7	9 fields between tabs; a result has 8
-- expect: 8	'-1' in place of milliseconds
-- expect: 9	'1e999' in place of milliseconds

-- A file that can be written is left as it is; none is made.
before = text_of()
print(store.try(path), text_of() == before) -- expect: true	true
os.remove(path)
print(store.try(path), io.open(path) == nil) -- expect: true	true
print(store.try("/nowhere/x.tune"))        -- expect: nil	/nowhere/x.tune: No such file or directory
store.add(path, { row("f32(1)", 1, "a=1") })

-- A folder, or one that is not there.
print(store.add("/nowhere/x.tune", { row("f32(8)", 1, "a=1") })) -- expect: nil	/nowhere/x.tune: No such file or directory
print(store.read("/tmp/"))                 -- expect: nil	/tmp/: Is a directory
print(store.read("/dev/zero"))             -- expect: nil	/dev/zero: it is larger than 64 MiB
print(#store.read("/dev/null"))            -- expect: 0
print((store.table(store.read(path)):gsub("\n.*", ""))) -- expect: name     key     device  how       ms  configuration

-- What a terminal would obey is shown as it is written.
store.add(path, { row("f32(2)", 1, "a=1", nil, "GPU \x1b[2J") })
print((store.table(store.read(path)):match "GPU \\x1b%S*")) -- expect: GPU \x1b[2J
os.remove(path)

-- Of equal results the one that knows more, then the later; a table of them has each once.
print(show(store.distinct { row("f32(8)", 1, "a=1"), row("f32(4)", 2, "a=2"),
  row("f32(8)", 3, "a=3"), row("f32(4)", 4, "a=4", "predicted") })) -- expect: 2: f32(8) a=3 measured 3; f32(4) a=2 measured 2
