-- scripts/gpu_check.sh: each command has a limit. One that hangs is named, with what ended it, and the next one runs.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
if not os.execute "bash -c 'command -v timeout' > /dev/null 2>&1" then
  tap.skip_all "no bash or timeout"
end

local dir = shell.folder()
local file = assert(io.open(dir .. "/cuttle", "w"))
file:write [[
#!/bin/sh
case $1 in
  info) exec sleep 60 ;;
  scripts/kernel_cases.lua) trap '' INT; while :; do sleep 60; done ;;
  tests/device/same_bits.lua) exit 1 ;;
esac
]]
file:close()
os.execute(("chmod +x '%s/cuttle'"):format(dir))

local out, code = shell.run("GPU_CHECK_SECONDS=1 GPU_CHECK_GRACE=1 "
  .. "bash scripts/gpu_check.sh '%s' info cases bits dtypes 2>/dev/null", dir)
out = out:gsub(dir, "build")
tap.is(out:match "\n\n(.*)", [[
HUNG after 1 s, until Ctrl-C: build/cuttle info
HUNG after 1 s, Ctrl-C did not end it: build/cuttle scripts/kernel_cases.lua tests/kernel_cases
FAIL build/cuttle tests/device/same_bits.lua
PASS build/cuttle tests/lua/dtype/engine.lua
3 failed
]], "what became of each command")
tap.is(code, 1, "exit code")
os.execute(("rm -r '%s'"):format(dir))
tap.done()
