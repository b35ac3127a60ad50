-- Values that nobody means, in each variable of the environment that a launch on the CPU engine
-- looks at: the program runs, or says what is wrong. Numbers are numbers, or refused.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local SEED <const>, DRAWN <const> = 1, 40
local script <const> = "kernel(function(x) x[0] = 1 end){grid = 1, block = 1}(zeros(f32, 1)) "
  .. "print 'ran'"
math.randomseed(SEED)

local quote = shell.quote

local function run(variables)
  local words = {}
  for name, value in pairs(variables) do words[#words + 1] = name .. "=" .. quote(value) end
  local pipe <close> = assert(io.popen(("env CUTTLE_DEVICE=cpu %s timeout 99 %s -e %s 2>&1"):format(
    table.concat(words, " "), quote(arg[-1]), quote(script))))
  local out = pipe:read "a"
  local _, how, code = pipe:close()
  return out, how, code
end

-- {====== Numbers ======

-- [variable] = {what else it needs, values that are numbers to it}
local folder <const> = shell.folder()
local numbers <const> = {
  CUTTLE_THREADS = { {}, { "", "0", "1", "2", "1e0" } },
  CUTTLE_CAPTURE_SECONDS = { { CUTTLE_CAPTURE = folder }, { "", "0", "1e9", "0.5" } },
}
local no_numbers <const> = { "-1", "x", "nan", "inf", "0x1", "1 ", "1e999",
                             "99999999999999999999999", "1,5", "--1" }

for _, name in ipairs { "CUTTLE_CAPTURE_SECONDS", "CUTTLE_THREADS" } do
  local others, good = table.unpack(numbers[name])
  local function with(value)
    local variables = { [name] = value }
    for other, v in pairs(others) do variables[other] = v end
    return run(variables)
  end
  local bad = {}
  for _, value in ipairs(good) do
    if with(value) ~= "ran\n" then bad[#bad + 1] = value end
  end
  for _, value in ipairs(no_numbers) do
    local out, _, code = with(value)
    local is_named = out:find(("%s is '%s'; a"):format(name, value), 1, true)
    if code ~= 1 or not is_named then bad[#bad + 1] = value .. ": " .. out end
  end
  tap.ok(#bad == 0, name .. " is a number or refused", table.concat(bad, "\n"))
end

-- {====== Texts ======

local texts <const> = {
  "CUTTLE_DEVICE", "CUTTLE_CHECK", "CUTTLE_CAPTURE", "CUTTLE_ISA", "CUTTLE_CACHE", "CUTTLE_NVRTC",
  "CUTTLE_LIBCUDA", "CUTTLE_NCCL", "CUTTLE_COMM_ID", "CUTTLE_CUBLAS", "CUTTLE_PLAYGROUND",
  "CUTTLE_HISTORY", "HOME", "XDG_CACHE_HOME",
}
local pieces <const> = { "", "/", "..", "%n%s", "\27[2J", "~", "cpu", "cpu:", "cuda:9", "0", "-1",
                         "off", "/dev/null", "/dev/zero", ("a"):rep(5000), "ö", "\xff", "'", "=" }

local wrong = {}
for _ = 1, DRAWN do
  local variables, said = {}, {}
  for _ = 1, math.random(1, 4) do
    local name = texts[math.random(#texts)]
    variables[name] = pieces[math.random(#pieces)] .. pieces[math.random(#pieces)]
    said[#said + 1] = name .. "=" .. variables[name]:sub(1, 40)
  end
  local out, how, code = run(variables)
  local is_said = code == 1 and #out > 10 and #out < 8000
  if how ~= "exit" or not (code == 0 and out:find "ran\n" or is_said) then
    wrong[#wrong + 1] = ("%s: %s %d %s"):format(table.concat(said, " "), how, code, out:sub(1, 300))
  end
end
tap.ok(#wrong == 0, "any texts: it runs, or says what is wrong", table.concat(wrong, "\n"))
os.execute("rm -rf " .. folder)
tap.done()
