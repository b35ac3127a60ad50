-- `cuttle check`, CUTTLE_CHECK and the launch option `check`: what is printed, exit
-- codes, refusals.
local cuttle = arg[-1]
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local script = os.tmpname()

local quote = shell.quote

local function write(text) shell.write_file(script, text) end

-- stdout, stderr behind it, and the exit code.
local function run(arguments, environment)
  local out, code = shell.run("%s %s %s", environment or "", quote(cuttle), arguments)
  out = out:gsub(script:gsub("%p", "%%%0"), "FILE")
  return out, code
end

local function report(name, ok, note) tap.ok(ok, name, note) end

local function expect(name, arguments, want, want_code, environment)
  local out, code = run(arguments, environment)
  report(name, out == want and code == want_code, ("exit code %d, got %q"):format(code, out))
end

local right = [[
kernel("right", function(x) x[threadIdx.x] = 1 end){grid = 1, block = 32}(zeros(f32, 32))
print("ran", #arg, ...)
]]
local wrong = [[
local k = kernel("wrong", function(x)
  x[threadIdx.x + 4] = 1
  x[0] = 1
end)
for _ = 1, 2 do k{grid = 1, block = 32}(zeros(f32, 32)) end
print("ran")
]]
local outside = "FILE:2: out of bounds: write of x at 32, extent 32, by thread (28,0,0) of block "
  .. "(0,0,0)"

local out, code
write(right)
expect("nothing found", "check " .. script .. " a b",
  "ran\t2\ta\tb\ncheck: no finding in 1 launch\n", 0)
write("kernel('k', function(x) x[0] = 1.0 * blockIdx.x end){grid = 2, block = 1}(zeros(f32, 1))")
out, code = run("check " .. script)
report("a race between blocks", code == 1 and out:find("FILE:1: race: write of x at 0", 1, true),
  out)
expect("--no-global", "check --no-global " .. script, "check: no finding in 1 launch\n", 0)
write(right .. "os.exit(false)")
expect("the script's failure", "check " .. script, "ran\t0\ncheck: no finding in 1 launch\n"
  .. "check: the script itself failed, with exit code 1\n", 2)
write(right .. "zeroz(f32)")
expect("its error", "check " .. script, "ran\t0\nFILE:3: attempt to call a nil value (global "
  .. "'zeroz'); did you mean 'zeros'?\ncheck: no finding in 1 launch\n"
  .. "check: the script itself failed\n", 2)
write(wrong .. "io.popen('kill -INT $PPID'):close() while true do end")
expect("Ctrl-C", "check " .. script, "ran\nFILE:7: interrupted\n" .. outside .. " (8 times)\n"
  .. "check: 1 finding in 2 launches\ncheck: the script itself failed\n", 130)
write(wrong .. "io.popen('kill -TERM $PPID'):close() while true do end")
expect("SIGTERM", "check " .. script, "ran\nFILE:7: interrupted\n" .. outside .. " (8 times)\n"
  .. "check: 1 finding in 2 launches\ncheck: the script itself failed\n", 143)
write(wrong .. "print(pcall(os.exit, 3)) print('never')")
expect("os.exit in a pcall", "check " .. script, "ran\n" .. outside .. " (8 times)\n"
  .. "check: 1 finding in 2 launches\ncheck: the script itself failed, with exit code 3\n", 1)
write(wrong .. "coroutine.wrap(function() xpcall(os.exit, type, true) end)() print('never')")
expect("os.exit in a coroutine", "check " .. script, "ran\n" .. outside .. " (8 times)\n"
  .. "check: 1 finding in 2 launches\n", 1)
-- The write is left out, so the loop does not end by itself.
local endless = [[
kernel("endless", function(x)
  while x[32] == 0 do x[32] = 1 end
end){grid = 1, block = 32%s}(zeros(i32, 32))
]]
local ended = "endless: accesses outside were left out %d+ times in one block, the last one by "
write(endless:format(""))
out, code = run("check " .. script)
report("a loop that does not end", code == 1 and out:find("FILE:2: " .. ended) and
  out:find("FILE:2: out of bounds: read of x at 32", 1, true) and
  out:find("check: 1 finding in 1 launch", 1, true), out)
write(endless:format(", check = true"))
out, code = run("--device=cpu " .. script)
report("the same, of one launch", code == 1 and out:find(ended) and
  out:find("FILE:2: out of bounds: read of x at 32", 1, true), out)
write [[
local k = kernel("k", function(x) x[threadIdx.x] = 1 end)
print(select("#", bench(k:prepare{grid = 1, block = 32}(zeros(f32, 32)))))
]]
expect("bench launches once", "check " .. script, "3\ncheck: no finding in 1 launch\n", 0)
write "print(1)"
expect("no launch", "check " .. script,
  "1\ncheck: no finding in 0 launches: nothing ran on the CPU engine\n", 0)
expect("no launch, as JSON", "check --json " .. script,
  '1\n{"failed":false,\n"findings":[],\n"is_partial":false,\n"launches":0}\n', 0)
write("kernel('k', function(x) x[blockIdx.x] = 1 end){grid = 1281, block = 32, "
  .. "cooperative = true}(zeros(f32, 1281))")
expect("a cooperative grid", "check " .. script, "check: no finding in 1 launch\n", 0)
out, code = run("check --on=t4 " .. script)
report("--on", code == 1 and out:find("^FILE:1: cooperative grid: 1281 blocks of kernel 'k', but "
  .. "T4 runs at most 640 at once") and out:find("check: 1 finding in 1 launch", 1, true), out)
out, code = run("check --json --on=T4 " .. script)
report("as JSON", code == 1 and out:find('"kind":"cooperative_grid"', 1, true)
  and out:find('"line":1', 1, true), out)
out, code = run("check --on=T5 " .. script)
report("no such device", code == 2
  and out:find("^check: %-%-on=T5 is not a known device; expected one of T4, A100"), out)
expect("no device", "check --on " .. script,
  "check: --on needs a value, as in --on=H100; see cuttle check --help\n", 2)
expect("a value of a flag", "check --nan=1 " .. script,
  "check: --nan takes no value; see cuttle check --help\n", 2)
write(wrong)
expect("findings", "check " .. script,
  "ran\n" .. outside .. " (8 times)\ncheck: 1 finding in 2 launches\n", 1)
out, code = run("check --json " .. script)
report("as JSON", code == 1 and out:find('"count":8', 1, true) and
  out:find('"kind":"out_of_bounds"', 1, true)
  and out:find('"line":2', 1, true) and out:find('"failed":false', 1, true), out)
expect("no script", "check", "check: a script was expected; see cuttle check --help\n", 2)
expect("no such script", "check nowhere.lua",
  "check: cannot open nowhere.lua: No such file or directory\n", 2)
expect("unknown option", "check --fast x.lua",
  "check: unknown option --fast; see cuttle check --help\n", 2)
expect("CUTTLE_CHECK makes it an error", "--device=cpu " .. script, outside .. " (4 times)\n", 1,
  "CUTTLE_CHECK=1")
expect("CUTTLE_CHECK=0 does not", "--device=cpu -e " .. quote "print(1)", "1\n", 0,
  "CUTTLE_CHECK=0")
for _, text in ipairs { "foo", "no", "10", "-1", "true" } do
  for _, device in ipairs { "", "--device=cpu " } do
    expect(("CUTTLE_CHECK=%s %sis refused"):format(text, device),
      device .. "-e " .. quote "print(1)",
      ("cuttle: CUTTLE_CHECK is '%s'; 0 or 1 was expected\n"):format(text), 1,
      "CUTTLE_CHECK=" .. text)
  end
end

-- The launch option.
local function try(config, f, ...)
  local ok, message = pcall(function(...) kernel("tried", f)(config)(...) end, ...)
  return ok, (tostring(message):gsub("^[^\n]-:(%d+): ", ""):gsub("\n[^\n]-:(%d+): ", "\n"))
end
local function race(y)
  local s = shared(f32, 64)
  s[threadIdx.x] = 1.0 * threadIdx.x
  y[threadIdx.x] = s[63 - threadIdx.x]
end
local ok, message = try({ grid = 1, block = 64, check = true }, race, zeros(f32, 64))
report("check = true", not ok and message:find("^race: read of s at 63"), message)
ok, message = try({ grid = 1, block = 64 }, race, zeros(f32, 64))
report("no check", ok, message)
ok, message = try({ grid = 1, block = 32, check = true }, function(y) y[threadIdx.x] = 1 end,
  zeros(f32, 32))
report("check = true, nothing found", ok, message)
local function divide(x) x[threadIdx.x] = x[threadIdx.x] / x[threadIdx.x] end
ok, message = try({ grid = 1, block = 32, check = true }, divide, zeros(f32, 32))
report("NaN are no findings", ok, message)
ok, message = try({ grid = 1, block = 32, check = { nan = true } }, divide, zeros(f32, 32))
report("unless asked for", not ok and message:find("^nan: "), message)
local function collide(x) x[0] = 1.0 * blockIdx.x end
ok, message = try({ grid = 4, block = 1, check = true }, collide, zeros(f32, 1))
report("races between blocks are findings", not ok and message:find("^race: write of x at 0"),
  message)
ok, message = try({ grid = 4, block = 1, check = { global = false } }, collide, zeros(f32, 1))
report("unless left out", ok, message)
ok, message = try({ grid = 4, block = 1, check = { global = true } }, collide, zeros(f32, 1))
report("global = true", not ok, message)
ok, message = try({ grid = 1, block = 64, check = { global = false } }, race, zeros(f32, 64))
report("races in shared memory are not left out", not ok and message:find("^race: read of s at 63"),
  message)
ok, message = try({ grid = 1, block = 33, check = { global = false } },
  function(y) y[threadIdx.x] = y[threadIdx.x + 1] end, zeros(f32, 32))
report("nor are accesses outside", not ok and message:find("out of bounds", 1, true) or
  not ok and message:find("outside", 1, true), message)
ok, message = try({ grid = 2, block = 32, check = { global = false } }, function(x, y)
  if atomic_add(y, 0, 1) == 1 then x[threadIdx.x] = 1 end
  fence()
end, zeros(f32, 32), zeros(u32, 1))
report("releases without global races", ok, message)
ok, message = try({ grid = 1, block = 32, check = 1 }, divide, zeros(f32, 32))
report("not a table", not ok and message ==
  "tried: launch option check is a number; true or {nan = true} was expected", message)

-- The function.
local check = require "cuttle.check"
local line = debug.getinfo(1, "l").currentline + 2
local findings, launches, done, result = check.run(function(a)
  kernel("k", function(x) x[threadIdx.x + 1] = 1 end){grid = 2, block = 32}(zeros(f32, 32))
  return a + 1
end, nil, 4)
local f = findings[1]
report("run", #findings == 1 and launches == 1 and done and result == 5 and
  f.kind == "out_of_bounds" and
  f.kernel == "k" and f.count == 2 and f.buffer == "x" and f.thread[1] == 31 and f.block[1] == 0 and
  f.line == line, f and check.line(f))
findings, launches, done, result = check.run(error, nil, "text", 0)
report("run of an error", #findings == 0 and launches == 0 and not done and result == "text",
  result)
report("one at a time", not select(3, check.run(function() check.run(print) end)))
os.remove(script)
tap.done()
