-- scripts/products_gpu.lua on the CPU engine: products agree with the plain kernel, and words choose
-- some of them.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

local function check(words, wanted, name)
  local text, code = shell.cuttle("scripts/products_gpu.lua %s", words)
  tap.ok(code == 0 and text:find(wanted), name, text)
end

check("u8 NT", "^ok %- u8 NT 136x144x272, C i32 by [^\n]*\n.*\n2 products, 0 wrong\n$",
  "of a type and a majorness")
check("scales 128x128", "\n3 products, 0 wrong\n$", "with scales")
tap.done()
