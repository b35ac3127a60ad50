-- Just beyond the limits of the program and of the commands that watch kernels.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local script = os.tmpname()

local quote = shell.quote

-- The last `bytes` of what the command prints, and its exit code.
local function run(environment, arguments, bytes)
  local out, code = shell.run("env CUTTLE_DEVICE=cpu %s %s %s", environment, quote(arg[-1]),
    arguments)
  return out:sub(-(bytes or #out)), code
end

local function is(name, want, want_code, out, code)
  tap.ok(out == want and code == want_code, name,
    ("exit code %d\ngot: %s\nexpected: %s"):format(code, out, want))
end

local function write(text) shell.write_file(script, text) end

local launch = "-e 'kernel(function(x) x[0] = 1 end){grid = 1, block = 1}(zeros(f32, 1))'"
is("threads of the CPU engine", "", 0, run("CUTTLE_THREADS=1024", launch))
is("one more", "(command line):1: CPU engine: 1025 threads; expected 0 (one per core) to 1024\n", 1,
  run("CUTTLE_THREADS=1025", launch))
is("-e", "", 0, run("", ("-e x=1 "):rep(64)))
is("one more -e", "cuttle: -e more than 64 times; see cuttle --help\n", 2,
  run("", ("-e x=1 "):rep(65)))

write('kernel("p", function() for i in range(66) do printf(("x"):rep(1022) .. "\\n") end end)'
  .. "{grid = 1, block = 1024}()\n")
local rest <const> = "x\nprintf: no room for 1983 more\n"
is("64 MiB of a launch's printf", rest, 0, run("", script, #rest))

write('kernel("p", function() for i in range(1 << 20) do sync_threads() end end)'
  .. "{grid = 1, block = 32}()\n")
is("events of a timeline", script .. ":1: timeline: the block does more than 1048576 things; "
  .. "launch a smaller problem\n", 1, run("", "timeline " .. script))
os.remove(script)
tap.done()
