-- `cuttle profile`: its options, scripts that end by os.exit, fail or launch nothing.
local shell = dofile "tests/support/shell.lua"

local write = shell.file

local function run(arguments, redirect)
  return shell.cuttle("profile %s %s", arguments, redirect or "2>&1")
end

local body = "local k = kernel('ones', function(x) x[threadIdx.x] = 1.0 end)\n"
  .. "local x = zeros(f32, 32)\n"
  .. "local ms = bench(k:prepare{grid = 1, block = 32}(x))\n"
  .. "print(ms > 0, x[0], #arg, ...)\n"
local script = write(body .. "os.exit(true, true)\n")
local failing = write(body .. "error('no more', 0)\n")
local empty = write("print('nothing')\n")

local out, code = run(script .. " a b")
print(code, out:match("^[^\n]*"), out:match("store global x  1xf32 +1 +128B  4 sectors")) -- expect: 0	true	1.0	2	a	b	store global x  1xf32         1   128B  4 sectors
print(out:match("ones .-(%d+ launch)"), out:match("sm_%d+"), out:match("roofline of %w+")) -- expect: 1 launch	sm_90	roofline of H200
out = run("--sm=80 --on=A100 " .. script)
print(out:match("sm_%d+"), out:match("roofline of %w+")) -- expect: sm_80	roofline of A100

-- JSON alone goes to standard output; what the script prints does not.
out = run("--json " .. script, "2>/dev/null")
print(out:sub(1, 12), out:sub(-3, -2), out:find("true\t", 1, true)) -- expect: {"kernels":[	1}	nil
local json, page = os.tmpname(), os.tmpname()
out, code = run(("--json=%s --html=%s %s"):format(json, page, script))
print(code, out == ("true\t1.0\t0\n%s\n%s\n"):format(json, page)) -- expect: 0	true
local function first_line(path)
  local file = assert(io.open(path))
  local line = file:read()
  file:close()
  return line:sub(1, 15)
end
print(first_line(json), first_line(page)) -- expect: {"kernels":[{"b	<!DOCTYPE html>

-- What fails says so, after what it ran until then.
out, code = run(failing)
print(code, out:match("ones .-(%d+ launch)"), out:match("[^\n]*no more[^\n]*")) -- expect: 1	1 launch	no more
local left, stopped = write(body .. "os.exit(3)\n"), write(body
  .. "io.popen('kill -INT $PPID'):close() while true do end\n")
out, code = run(left)
print(code, out:match("ones .-(%d+ launch)")) -- expect: 3	1 launch
out, code = run(stopped)
print(code, out:match("ones .-(%d+ launch)"), out:match("interrupted\n$")) -- expect: 130	1 launch	interrupted
-- expect:
out, code = run(empty)
print(code, (out:gsub(empty, "SCRIPT"):gsub("\n", "|"))) -- expect: 1	nothing|profile: SCRIPT launched no kernel on the CPU engine|
print((run("")))              -- expect: profile: a script was expected; see cuttle profile --help
-- expect:
print((run("--nosuch " .. empty))) -- expect: profile: unknown option --nosuch; see cuttle profile --help
-- expect:
print((run("--sm=x " .. empty))) -- expect: profile: --sm=x is not a compute capability; 90 stands for 9.0
-- expect:
print((run("--html " .. empty))) -- expect: profile: --html needs the name of a file, as in --html=profile.html
-- expect:
print((run("/nonexistent.lua")):match("cannot open") ~= nil, (run("--help")):match("^usage: cuttle profile")) -- expect: true	usage: cuttle profile
for _, path in ipairs { script, failing, empty, left, stopped, json, page } do os.remove(path) end
