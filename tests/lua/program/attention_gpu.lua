-- scripts/attention_gpu.lua on the CPU engine: each of its problems agrees with the plain kernel, and
-- a name chooses some of them.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

local function run(name) return shell.cuttle("scripts/attention_gpu.lua %s", name) end

local text, code = run ""
local _, n = text:gsub("ok %- ", "")
tap.ok(code == 0 and n == 38 and text:find "\n0 failed\n$", "all problems", text)
text, code = run "--small turns"
tap.ok(code == 0 and text:find "^ok %- gradients, turns, difference [^\n]*\n0 failed\n$",
  "a small one", text)
text, code = run "lazy"
tap.ok(code == 0 and text:find "^ok %- f8e4m3, lazy: hopper 128x128, f8, [^\n]*\n0 failed\n$",
  "one", text)
tap.done()
