-- scripts/attention_gpu.lua on the CPU engine: each of its problems agrees with the plain kernel, and
-- a name chooses some of them.
local tap = dofile "tests/support/tap.lua"

local function run(name)
  local command <const> = "CUTTLE_DEVICE=cpu '%s' scripts/attention_gpu.lua %s 2>&1 </dev/null"
  local pipe = assert(io.popen(command:format(arg[-1], name)))
  local text = pipe:read "a"
  return text, pipe:close()
end

local text, ok = run ""
local _, n = text:gsub("ok %- ", "")
tap.ok(ok and n == 36 and text:find "\n0 failed\n$", "all problems", text)
text, ok = run "--small turns"
tap.ok(ok and text:find "^ok %- gradients, turns, difference [^\n]*\n0 failed\n$", "a small one",
  text)
text, ok = run "lazy"
tap.ok(ok and text:find "^ok %- f8e4m3, lazy: hopper 128x128, f8, [^\n]*\n0 failed\n$", "one", text)
tap.done()
