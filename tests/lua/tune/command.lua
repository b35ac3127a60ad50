-- `cuttle tune` without a GPU: its files, its options and its complaints.
local shell = dofile "tests/support/shell.lua"
local cuttle = arg[-1]:gsub("^[^/].*/", os.getenv("PWD") .. "/%0")
local folder = shell.folder()

local function write(name, text) shell.write_file(folder .. "/" .. name, text) end

local function text_of(name)
  local file <close> = io.open(folder .. "/" .. name, "rb")
  return file and file:read "a"
end

-- Standard output and error of the command, and its exit code.
local function run(arguments)
  return shell.run("cd %s && CUTTLE_DEVICE=cpu CUTTLE_CACHE=cache '%s' tune %s", folder, cuttle,
    arguments)
end

-- What a script prints.
local function output_of(script)
  local out = shell.run("cd %s && CUTTLE_DEVICE=cpu CUTTLE_CACHE=cache '%s' %s", folder, cuttle,
    script)
  return out
end

-- The last line and the exit code.
local function show(arguments)
  local out, code = run(arguments)
  print(out:gsub("%d%.%d+", "MS"):match "([^\n]*)\n$", code)
end

write("t.lua", [[
local x = zeros(f32, 64)
local function fill(c)
  return kernel("fill", function(t) t[threadIdx.x] = 1.0 end){grid = 1, block = c.n}
end
tune(fill, {n = {32, 64}}, {name = "fill"})(x)
if arg[1] then os.execute("rm -r " .. arg[1]) end
tune(fill, {n = {32, 64}}, {name = "again", key = function() return "a\tb" end})(x)
]])
write("nothing.lua", [[
local x = zeros(f32, 64)
tune(function() return function() end end, {n = {32, 64}}, {name = "nothing"})(x)
]])
write("idle.lua", "print 'idle'")

-- {====== Running ======

show "t.lua"                      -- expect: 2 results in t.tune	0
print(select(2, text_of "t.tune":gsub("a\\x09b", ""))) -- expect: 1
show "--all --file=mine.tune --on=h100 t.lua" -- expect: 2 results in mine.tune	0
print(select(2, text_of "mine.tune":gsub("\tH100\t", ""))) -- expect: 2
show "nothing.lua"                -- expect: n=32: predict: no kernel was launched	1
show "idle.lua" -- expect: tune: idle.lua called no tuned function; for matmul and attention there is require "cuttle.matmul".tune; see docs/tune.md	1
print(text_of "idle.tune")        -- expect: nil

-- SIGTERM ends a search that a configuration holds up.
write("hung.lua", [[
tune(function() io.popen("kill -TERM $PPID"):close() while true do end end, {n = {32, 64}},
  {name = "hung"})(zeros(f32, 64))
]])
show "hung.lua" -- expect: interrupted	143

-- Results for a function of a module are found when the script runs that was tuned.
write("module.lua", [[
return tune(function(c)
  return kernel("fill", function(t) t[threadIdx.x] = 1.0 end){grid = 1, block = c.n}
end, {n = {32, 64}}, {name = "module", unknown = "nearest"})
]])
write("main.lua", [[
local fill = require "module"
print(select(2, fill:config(zeros(f32, 64))) ~= nil)
]])
local function run_main()
  local command = "cd %s && CUTTLE_DEVICE=cpu CUTTLE_CACHE=cache '%s' main.lua"
  local pipe <close> = assert(io.popen(command:format(folder, cuttle)))
  return pipe:read "l"
end
print(run_main())                 -- expect: false
show "main.lua"                   -- expect: 1 result in main.tune	0
print(run_main())                 -- expect: true

-- Where the file cannot be written nothing is tuned; what is not kept is told.
show "--file=/nowhere/x.tune t.lua"
-- expect: tune: cannot write /nowhere/x.tune: No such file or directory	1
print(run "--file=/nowhere/x.tune t.lua":find "fill") -- expect: nil
os.execute("mkdir " .. folder .. "/gone")
show "--file=gone/x.tune t.lua gone"
-- expect: tune: 1 result in no file: gone/x.tune: No such file or directory	1
os.execute("mkdir " .. folder .. "/gone")
print(run "--file=gone/x.tune t.lua gone":find "\n1 result in gone/x.tune\n" ~= nil) -- expect: true
show "- <t.lua"
-- expect: tune: the script has no name, so name the file of results, as in --file=gemm.tune	1

-- {====== Options ======

show "--on=Z80 t.lua"
-- expect: tune: --on=Z80 is not a known device; expected one of T4, A100, A100-80GB, A10, L4, L40S, H200, H100, H100-PCIe, B200	1
show "--on= t.lua"
-- expect: tune: --on= is not a known device; expected one of T4, A100, A100-80GB, A10, L4, L40S, H200, H100, H100-PCIe, B200	1
show "--all=3 t.lua"              -- expect: tune: --all takes no value; see cuttle tune --help	1
show "--file= t.lua"              -- expect: tune: --file needs a name, as in --file=gemm.tune	1
show "--all --list t.tune" -- expect: tune: --list comes first, as in cuttle tune --list gemm.tune	1
show "--all --merge=a.tune t.tune"
-- expect: tune: --merge comes first, as in cuttle tune --merge=all.tune a.tune b.tune	1
show "--merged=a.tune t.tune"
-- expect: tune: unknown option --merged=a.tune; see cuttle tune --help	1
show "--list --all"
-- expect: tune: files were expected, not the option --all; see cuttle tune --help; a file of that name is ./--all	1
show "--merge=a.tune --list"
-- expect: tune: files were expected, not the option --list; see cuttle tune --help; a file of that name is ./--list	1
show "--merge t.tune mine.tune"
-- expect: tune: --merge needs the file to add to and others, as in --merge=all.tune a.tune b.tune	1
show "--merge=a.tune"
-- expect: tune: --merge needs the file to add to and others, as in --merge=all.tune a.tune b.tune	1
print(text_of "a.tune", run "--list --help":match "^[^\n]*")
-- expect: nil	usage: cuttle tune [options] script.lua [arguments]
print(run "--list":match "^tune: .- no ") -- expect: tune: nothing has been tuned yet: there is no
show "--list none.tune" -- expect: tune: cannot read none.tune: No such file or directory	1
show "--list ."                   -- expect: tune: cannot read .: Is a directory	1

-- {====== Lines that are no results ======

local first = text_of "t.tune":match "\n([^\n]*\n)"
write("bad.tune", "# mine\n" .. first .. "\n<<<<<<< ours\n" .. first:gsub("fill", "more")
  :gsub("f32", "f64") .. first:gsub("predicted", "guessed"))
local out, code = run "--list bad.tune"
print((out:gsub("  +", " "):gsub("%d%.%d+", "MS")), code)
-- expect: tune: bad.tune:4: no result: 1 field between tabs; a result has 8
-- expect: tune: bad.tune:6: no result: 'guessed' in place of measured, partial or predicted
-- expect: name key device how ms configuration
-- expect: fill f32(64) H200 predicted MS n=32
-- expect: more f64(64) H200 predicted MS n=32
-- expect: 	1
print(run "--merge=all.tune bad.tune mine.tune")
-- expect: tune: bad.tune:4: no result: 1 field between tabs; a result has 8
-- expect: tune: bad.tune:6: no result: 'guessed' in place of measured, partial or predicted
-- expect: 4 results of 2 files in all.tune, which has 4
-- expect: 	1
show "--list all.tune"            -- expect: again  a\x09b   H100    predicted  MS  n=32	0
write("notes.md", "# Notes\nabout all\27[31m\tthis\n")
show "--list notes.md"
-- expect: tune: cannot read notes.md:2: no result: 2 fields between tabs; a result has 8, nor is there one in the file; name another one	1
show "--merge=notes.md t.tune"
-- expect: tune: cannot write notes.md:2: no result: 2 fields between tabs; a result has 8, nor is there one in the file; name another one	1
print((text_of "notes.md":gsub("\27", "ESC"))) -- expect: # Notes
-- expect: about allESC[31m	this
-- expect:
write("bad.lua", [[
  local k = kernel("k", function(x) x[threadIdx.x] = 1 end)
  for _ = 1, 2 do
    local t = tune(function(c) return k{grid = 1, block = c.n} end, {n = {32, 64}}, {name = "bad"})
    t(zeros(f32, 64))
  end]])
print((select(2, output_of "bad.lua":gsub("tune: bad.tune:%d: no result", "")))) -- expect: 2
write("bad.tune", "about all\n")
print(output_of "bad.lua":match "bad.lua:4: tune: cannot read bad.tune:1: no result: 1 field")
-- expect: bad.lua:4: tune: cannot read bad.tune:1: no result: 1 field
show "--merge=/nowhere/all.tune t.tune"
-- expect: tune: cannot write /nowhere/all.tune: No such file or directory	1
os.execute("rm -r " .. folder)
