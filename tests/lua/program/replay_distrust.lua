-- A file of a launch may come from anybody: its texts are shown and never run, NVRTC gets nothing out of it, it
-- takes no more memory than it is long, and it writes nothing to a terminal but text.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local program = arg[-1]
local folder = shell.folder()
local file = folder .. "/launch.ctk"

local read = shell.read_file

local function write(path, text)
  local f <close> = assert(io.open(path, "wb"))
  f:write(text)
  return path
end

local function run(...)
  return shell.run("{ %s --device=cpu %s; }", program, table.concat({ ... }, " "))
end

local function run_text(text) return run(write(folder .. "/script.lua", text)) end

-- {====== Texts ======

-- The bytes of a function of a victim's script stand in a string of another text with a function at the same lines.
local victim = folder .. "/victim.lua"
write(victim, "return kernel('mine', function(x)\n  x[threadIdx.x] = 2.0\nend)\n")
local body
local env = setmetatable({ kernel = function(_, f) body = f end }, { __index = _G })
assert(loadfile(victim, "t", env))()
local bytes = string.dump(body, true):sub(33):gsub(".", function(c)
  return ("\\%03d"):format(c:byte())
end)
local evil = "local f = function(x)\n  x[threadIdx.x] = 666.0\nend\n"
  .. ('local bytes = "%s"\n'):format(bytes)
  .. "local k = kernel('bait', function(x) x[0] = 1.0 end)\n"
  .. ("capture(k:prepare{grid = 1, block = 1}(zeros(f32, 1)), %q)\n"):format(file)

local program_of = [[
local k, x = dofile(%q), zeros(f32, 1)
%s
k{grid = 1, block = 1}(x)
print(x[0])]]
tap.is(run_text(program_of:format(victim, ("load(%q, %q)"):format(evil, "@" .. victim))), "2.0\n",
  "bytes in a string are no function")
run_text(("assert(load(%q, %q))()"):format(evil, "@" .. victim))
tap.ok(read(file):find("666.0", 1, true), "the file has the text")
tap.is(run_text(program_of:format(victim, ("replay(%q)()"):format(file))), "2.0\n",
  "a text of a file is no source")

local out
local nobody = folder .. "/nobody.lua"
run_text(("assert(load(%q, %q))()"):format(("local k = kernel('sum', function(x)\n"
  .. "  x[threadIdx.x] = x[0] + 1.0 -- the line\nend)\n"
  .. "capture(k:prepare{grid = 1, block = 1}(zeros(f32, 1)), %q)"):format(file), "@" .. nobody))
out = run("replay '--trace=x[0]'", file)
tap.ok(out:find("-- the line", 1, true), "reports show its lines", out)

-- {====== NVRTC ======

local precious = write(folder .. "/precious.txt", "dear")
local of_options = [[
local k = kernel("named", function(x) x[threadIdx.x] = 1.0 end,
  {nvrtc_options = {"--create-pch=%s"}})
capture(k:prepare{grid = 1, block = 4}(zeros(f32, 4)), %q)]]
run_text(of_options:format(precious, file))
tap.ok(read(file):find("create-pch", 1, true), "the file names an option")
out = run("replay --profile", file)
tap.is(read(precious), "dear", "which NVRTC does not get", out)
out = run("replay", file)
tap.ok(out:find("options of NVRTC that the file names are left out; --trust", 1, true),
  "and that is said", out)
out = run("replay --info", file)
tap.ok(out:find("option of NVRTC: --create-pch=" .. precious, 1, true), "so is its name", out)
tap.ok(not run("replay --trust", file):find("left out", 1, true), "who trusts it gives it")

local ok, why = pcall(replay, file, { data = true })
tap.ok(not ok and why:find("replay: option 'data' is unknown; expected trust", 1, true),
  "an unknown option", why)

-- {====== Memory ======

-- The span has 12345 bytes, and says 3 GiB.
run_text(([[
local k = kernel("small", function(x) x[threadIdx.x] = 1 end)
capture(k:prepare{grid = 1, block = 4}(zeros(u8, 12345)), %q)]]):format(file))
local whole = read(file)
local n = ("<I8"):unpack(whole, 17)
local header, n_changes = whole:sub(33, 32 + n):gsub('("bytes":)12345', "%13221225472")
tap.is(n_changes, 1, "the size of the span")
write(file, dofile "tests/support/sealed.lua"(whole:sub(1, 16) .. ("<I8"):pack(#header)
  .. whole:sub(25, 32) .. header .. whole:sub(33 + n, -9)))
ok, why = pcall(replay, file)
local wanted = "the file asks for 3.0 GiB of memory for tensors whose elements it does not hold"
tap.ok(not ok and why:find(wanted, 1, true),
  "more than a file that is made so may ask for", why)
out = run("replay --info", file)
tap.ok(out:find("tensor u8 12345:1", 1, true), "what it holds takes none", out)

-- {====== Terminals ======

local function is_plain(text) return not text:gsub("[\n\t]", ""):find "%c" end
local script = "local k = kernel('shown', function(x)\n"
  .. "  printf('\\27[2J%c%c', x[0], x[1])\n"
  .. "  assert(x[0] < 0, '\\27[31m')\nend)\n"
  .. "local x = from_table(i32, {27, 7})\n"
  .. ("capture(k:prepare{grid = 1, block = 1}(x), %q, {data = true})"):format(file)
run_text(("assert(load(%q, '=\\27]0;title\\7'))()"):format(script))
local is_there = read(file):find "\27%]0;title\7" and read(file):find "\27%[2J"
tap.ok(is_there, "the file has sequences for terminals")
for _, mode in ipairs { "", "--info", "--check", "--profile", "--timeline", "--trace=x[0]" } do
  out = run("replay", mode, file)
  tap.ok(#out > 0 and is_plain(out), "none reaches it: replay " .. mode, out:gsub("%c", "^"))
end
out = run("replay", file)
tap.ok(out:find("?[2J277", 1, true), "what a kernel prints is text", out)
os.execute("rm -r " .. folder)
tap.plan()
