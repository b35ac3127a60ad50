-- scripts/products_gpu.lua on the CPU engine: products agree with the plain kernel, and words choose
-- some of them.
local tap = dofile "tests/support/tap.lua"

local function run(words)
  local command <const> = "CUTTLE_DEVICE=cpu '%s' scripts/products_gpu.lua %s 2>&1 </dev/null"
  local pipe = assert(io.popen(command:format(arg[-1], words)))
  local text = pipe:read "a"
  return text, pipe:close()
end

local text, ok = run "u8 NT"
tap.ok(ok and text:find "^ok %- u8 NT 136x144x272, C i32 by [^\n]*\n.*\n2 products, 0 wrong\n$",
  "of a type and a majorness", text)
text, ok = run "scales 128x128"
tap.ok(ok and text:find "\n3 products, 0 wrong\n$", "with scales", text)
tap.done()
