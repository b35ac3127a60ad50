-- Locals of inputs: they outlive their input, and are seen by later ones as in one script.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

local function check(name, input, want, want_code)
  local out, code = shell.input(input)
  tap.ok(out == want and code == (want_code or 0), name,
    ("exit code %d\ngot: %q\nexpected: %q"):format(code, out, want))
end

local readme = assert(io.open("README.md")):read("a")
local program, printed = readme:match("```lua\n(.-)```\n```\n(.-)```")
check("the README's first program", program, (printed:gsub(" +", "\t")))

check("a local", "local x = 1\nx\nx = x + 1\nx\n", "1\n2\n")
check("no global", "local x = 1\n_G.x\n", "nil\n")
check("a name of the language stays", "local tile = 5\ntile\n_G.tile == tile\n", "5\nfalse\n")
check("by reference", "local n = 1\nfunction f() n = n + 1 return n end\nf(), n\nn = 10\nf(), n\n",
  "2\t2\n11\t11\n")
check("shadowed", "local n = 1\nfunction f() return n end\nlocal n = 2\nf(), n\nn = 3\nf(), n\n",
  "1\t2\n1\t3\n")
check("made of the one before", "local n = 1\nlocal n = n + 1\nn\n", "2\n")
check("two of one name in an input", "local n = 1 local n = 2\nn\n", "2\n")
check("several, and nil", "local a, b, c = 1, nil\na, b, c\n", "1\tnil\tnil\n")
check("a recursive function",
  "local function f(i) return i < 2 and 1 or i * f(i - 1) end\nf(5)\n", "120\n")
check("a constant",
  "local k <const>, s <const> = 5, {}\nk, #s\nfunction f() return k end\nf()\nk = 6\n",
  "5\t0\n5\ninput 5:1: attempt to assign to const variable 'k'\n", 1)
check("a variable after a constant", "local k <const> = 5\nlocal k = 6\nk = k + 1\nk\n", "7\n")
check("what is closed ends with its input",
  "local t <close> = setmetatable({}, {__close = function() print('closed') end})\nt\n",
  "closed\nnil\n")
check("of a block ends with it", "do local z = 1 end\nz\nfor i = 1, 2 do local w = i end\nw\n",
  "nil\nnil\n")
check("an input that returns", "local a = 1 return a + 1\na\n", "2\n1\n")
check("a comment at the end", "local a = 1 -- one\na\n", "1\n")
check("of several lines", "local a = {\n1,\n2}\n#a\n", "2\n")
check("of an input that fails", "local a = error('no', 0)\na\n", "no\nnil\n", 1)
check("lines of errors", "local a = nil\nfunction f()\n  return a.x\nend\nf()\n",
  "input 2:2: attempt to index a nil value (upvalue 'a')\n", 1)
check("one of many", ("local v = 1\n"):rep(300) .. "v\n", "1\n")
local many = {}
for i = 1, 250 do many[i] = ("local v%d = %d\n"):format(i, i) end
check("many", table.concat(many) .. "v1 + v250\n", "251\n")
check("a kernel's captures are traced anew",
  "local c, x = 2, zeros(f32, 1)\nlocal k = kernel('k', function(x) x[0] = c end)\n" ..
  "k{grid = 1, block = 1}(x)\nx[0]\nc = 3\nk{grid = 1, block = 1}(x)\nx[0]\n", "2.0\n3.0\n")
check("a helper typed later",
  "local x = zeros(f32, 1)\nlocal function h(v) return v + 1 end\n" ..
  "local k = kernel('k', function(x) x[0] = h(1) end)\nk{grid = 1, block = 1}(x)\nx[0]\n" ..
  "function h(v) return v + 100 end\nk{grid = 1, block = 1}(x)\nx[0]\n", "2.0\n101.0\n")
tap.done()
