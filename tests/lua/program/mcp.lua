-- `cuttle mcp` as a program: limits, files, what a race's answer costs to read, and `--sandbox`,
-- in which its processes run. mcp_client.lua asks more of it, with a client that others wrote.
local json = require "cuttle.json"
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local cuttle = arg[-1]
if not cuttle:find "^/" then cuttle = assert(io.popen "pwd"):read "l" .. "/" .. cuttle end

local quote = shell.quote

local write = shell.write_file

local folder = os.tmpname()
os.remove(folder)
assert(os.execute(("mkdir %s"):format(folder)))

-- The answers of the server to these messages, by id.
local function serve(requests)
  local list = { '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}' }
  for i, r in ipairs(requests) do
    local tool = r.tool
    r.tool = nil
    list[i + 1] = json.encode_line { jsonrpc = "2.0", id = i, method = r[1] or "tools/call",
      params = r.params or { name = tool, arguments = r } }
  end
  write(folder .. "/in", table.concat(list, "\n") .. "\n")
  -- The next message goes in when the one before is answered; then the input ends.
  local pipe = assert(io.popen(([[cd %s && rm -f done && mkfifo done && exec 3<>done &&
    { while IFS= read -r line; do printf '%%s\n' "$line"; read -r _ <&3; done <in; } |
    %s mcp --root=. | while IFS= read -r line; do
      printf '%%s\n' "$line"
      case $line in *'"id":'*) echo >&3 ;; esac
    done]])
    :format(folder, quote(cuttle))))
  local answers = {}
  for line in pipe:lines() do
    local message = assert(json.decode(line))
    if message.id then answers[message.id] = message.result or message end
  end
  pipe:close()
  return answers
end

local function text_of(result) return result.content[1].text end

-- A kernel of some length with one race.
local lines = { 'local k = kernel("long", function(x, y)', "  local s = shared(f32, 64)",
                "  local v = x[threadIdx.x]" }
for i = 1, 50 do lines[#lines + 1] = ("  v = v * %d.0 + %d.0"):format(i % 3 + 1, i) end
for _, line in ipairs { "  s[threadIdx.x] = v", "  v = s[63 - threadIdx.x]", "  y[threadIdx.x] = v",
                        "end)", "k{grid = 1, block = 64}(ones(f32, 64), zeros(f32, 64))" } do
  lines[#lines + 1] = line
end
local race = table.concat(lines, "\n") .. "\n"
write(folder .. "/race.lua", race)
write(folder .. "/race.txt", race)

-- What a script does to Lua's own library changes no answer.
for _, harm in ipairs { "string.format, table.concat, print = nil",
  "getmetatable('').__index = nil" } do
  local harmed = serve { { tool = "check", script = race .. harm } }[1]
  tap.ok(text_of(harmed):find("check: 1 finding", 1, true), "check after " .. harm, text_of(harmed))
end
local hidden = serve { { tool = "run", path = "race.txt\0.lua" } }[1]
tap.ok(hidden.isError and text_of(hidden):find("is no .lua file", 1, true), "a 0 in a path",
  text_of(hidden))

-- A message may be longer than what one read gives.
local long <const> = "-- " .. ("x"):rep(200000) .. "\nprint(1)"
local longest = serve { { tool = "run", script = long } }[1]
tap.ok(not longest.isError and text_of(longest):find("1", 1, true), "a script of 200,000 bytes",
  text_of(longest))

-- A candidate that leaves out half of the elements, and its reference.
local half = [[
local f = kernel("half", function(x, y)
  if threadIdx.x % 2 == 0 then y[threadIdx.x] = x[threadIdx.x] * 2 end
end)
return function(x, y) f{grid = 1, block = size(x)}(x, y) end]]
local doubled = [[
return {name = "double", sizes = {N = {2, 100}}, inputs = {{"x", f32, "N"}},
  outputs = {{"y", f32, "N"}},
  reference = function(x, y) for i = 0, size(x) - 1 do y[i] = 2 * x[i] end end}]]

local answers = serve {
  { tool = "check", path = "race.lua" },
  { tool = "check", path = "../" .. folder:match "[^/]+$" .. "/race.lua" },
  { tool = "check", path = "race.txt" },
  { tool = "check", path = "none.lua" },
  { tool = "check", script = "", path = "race.lua" },
  { tool = "check", script = "x", speed = 1 },
  { tool = "check", script = "x", seconds = 601 },
  { tool = "emit", script = "x", form = "asm" },
  { tool = "trace", script = "x" },
  { tool = "run", script = "while true do end", seconds = 1 },
  { tool = "run", script = "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end",
    memory = 64 },
  { tool = "run", script = "for i = 1, 1000 do print(i) end", budget = 200 },
  { tool = "run", script = "print(io, os, debug, load_npy, require 'cuttle.process')" },
  { tool = "run", script = "print(..., #arg, arg[0])", arguments = { "a", "b" }, name = "x.lua" },
  { tool = "run", script = "x = = 1" },
  { tool = "layout", expression = "(4,2):(2,1)", action = "explain" },
  { tool = "layout", expression = "composition('(4,2)', 3 + {})" },
  { tool = "emit", sm = "80", script = "kernel('k', function(x) x[0] = 1 end){grid = 1, block = 1}"
    .. "(zeros(f32, 1)) print 'said'" },
  { "resources/read", params = { uri = "cuttle://results/1/run.txt" } },
  { "resources/read", params = { uri = "cuttle://docs/../Makefile" } },
  { tool = "run", script = "local s = ('x'):rep(1023) for i = 1, 1025 do print(s) end" },
  { "resources/read", params = { uri = "cuttle://results/2/run.txt" } },
  { tool = "judge", script = half, reference = doubled, seed = 1 },
  { tool = "judge", script = half, reference = "x = = 1" },
  { tool = "judge", script = half, reference = "return {}" },
  { tool = "check", script = "zoros(1)" },
}

-- {====== A race ======

local found = answers[1].structuredContent.findings[1]
tap.is(("%s %s:%d %d"):format(found.id, found.file, found.line, found.other_line),
  "CT-RACE-SHARED race.lua:55 54", "a race is found at its lines")
tap.ok(text_of(answers[1]):find("put sync_threads() between line 54 and line 55", 1, true),
  "and its remedy is named", text_of(answers[1]))
local _, n_words = json.encode(answers[1]):gsub("[%w_.]+", "")
tap.ok(n_words < 300, "the whole answer has fewer than 300 words", n_words)

-- {====== What is refused ======

local refused <const> = {
  [2] = "is no .lua file in the server's folder", [3] = "is no .lua file in the server's folder",
  [4] = "No such file", [5] = "give 'script', the source, or 'path', the file, and not both",
  [6] = "check has no argument 'speed'; it has arguments, budget,",
  [7] = "'seconds' is 601; from 1 to 600 was expected",
  [8] = "'form' is 'asm'; one of cuda, ptx, sass was expected", [9] = "trace needs 'element'",
  [10] = "stopped after 1 s; give 'seconds' for more", [11] = "not enough memory",
  [13] = "no module 'cuttle.process' is preloaded", [15] = "script.lua:1: unexpected symbol",
  [17] = "attempt to perform arithmetic on a table value",
}
for i = 1, 17 do
  if refused[i] then
    tap.ok(answers[i].isError and text_of(answers[i]):find(refused[i], 1, true), refused[i],
      text_of(answers[i]))
  end
end

tap.is(text_of(answers[26]),
  "script.lua:1: attempt to call a nil value (global 'zoros'); did you mean 'zeros'?",
  "the answer for a script that fails is its error")

-- {====== Judged candidates ======

local judged = answers[23]
tap.ok(not judged.isError and judged.structuredContent.verdict == "wrong",
  "a wrong candidate is judged", text_of(judged))
tap.ok(text_of(answers[24]):find("reference.lua:1: unexpected symbol", 1, true),
  "a reference that does not load", text_of(answers[24]))
tap.ok(answers[25].isError and text_of(answers[25]):find("judge: ", 1, true),
  "a reference without inputs", text_of(answers[25]))

-- {====== Budgets, arguments, emission ======

local cut = answers[12]
tap.ok(#text_of(cut) < 300 and text_of(cut):find("of 3892 characters", 1, true)
  and cut.content[2].uri == "cuttle://results/1/run.txt", "a long answer is cut", text_of(cut))
tap.ok(answers[19].contents[1].text:find "\n1000$", "the whole of it is a resource")
tap.ok(answers[22].contents[1].text:find "x\n\n%.%.%. the output beyond 1 MiB is dropped$",
  "output beyond the limit is dropped", answers[22].contents[1].text:sub(-100))
tap.is(answers[20].error.code, -32002, "no other files are resources")
tap.is(text_of(answers[14]), "a\t2\tx.lua", "a script has its arguments")
tap.ok(text_of(answers[16]):find "coverage", "a layout is explained", text_of(answers[16]))
tap.ok(text_of(answers[18]):find "^extern" and not text_of(answers[18]):find "said",
  "CUDA C is emitted alone", text_of(answers[18]))

-- {====== cuttle --sandbox ======

local function run(arguments, script)
  write(folder .. "/s.lua", script)
  local out = shell.run("cd %s && %s %s", folder, quote(cuttle), arguments)
  return (out:gsub("\n$", ""))
end

tap.is(run("--sandbox s.lua", "print(io, os, device().name)"):match "^nil\tnil\t", "nil\tnil\t",
  "a sandbox has no files")
tap.is(run("--sandbox=16 s.lua", "print(tensor(f32, 1 << 23))"),
  "s.lua:1: tensor: not enough memory for a tensor of 33554432 bytes", "its memory is limited")
tap.is(run("--sandbox check s.lua", ""),
  "cuttle: --sandbox runs a script or emit, and check needs files; see cuttle check --help",
  "commands that need files are refused")
tap.is(run("--sandbox=0 s.lua", ""),
  "cuttle: --sandbox=MIB needs a whole number of MiB from 1 to 1048576", "the size is checked")
tap.is(run("--sandbox=1048577 s.lua", ""),
  "cuttle: --sandbox=MIB needs a whole number of MiB from 1 to 1048576", "also if it is too large")
tap.is(run("-i --sandbox s.lua", ""),
  "cuttle: --sandbox must be the first option; see cuttle --help", "and its place")
tap.is(run("mcp --port=1", ""), "mcp: unknown argument --port=1; see cuttle mcp --help",
  "an unknown argument")
os.execute("rm -r " .. folder)
tap.done()
