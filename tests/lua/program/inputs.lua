-- Inputs from a pipe: what the read-eval-print loop prints for them, without prompts.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

local function check(name, input, want, want_code)
  local out, code = shell.input(input)
  tap.ok(out == want and code == (want_code or 0), name,
    ("exit code %d\ngot: %q\nexpected: %q"):format(code, out, want))
end

check("a layout", "(4,8):(8,1)\n", "(4,8):(8,1)\n")
check("a shape", "(4,8)\n", "(4,8):(1,4)\n")
check("an expression", 'composition("(20,2):(16,4)","(4,5):(1,4)")\n', "(4,5):(16,64)\n")
check("several values", "1, nil, 'x'\n", "1\tnil\tx\n")
check("a function of the language", "layout\nx = function() end\ntostring(x) == tostring(layout)\n",
  "function layout; help(layout)\nfalse\n")
check("a misspelt name", "compostion('4', '4')\n",
  "input 1:1: attempt to call a nil value (global 'compostion'); did you mean 'composition'?\n", 1)
check("a name of CuTe", "make_layout(4)\n",
  "input 1:1: attempt to call a nil value (global 'make_layout'); " ..
  "make_layout is layout or L or concat here\n", 1)
check("a name like no other", "somewhere.x\nn.x\n",
  "input 1:1: attempt to index a nil value (global 'somewhere')\n" ..
  "input 2:1: attempt to index a nil value (global 'n')\n", 1)
check("a misspelt name, handled", "pcall(function() zippd_divide() end)\n",
  "false\tinput 1:1: attempt to call a nil value (global 'zippd_divide')\n")
check("a statement", "x = 3\nx * 2\n", "6\n")
check("the last value", "(4,8):(8,1)\nsize(ans)\nans + 1\n", "(4,8):(8,1)\n32\n33\n")
check("an input of several lines", "for i = 1, 2 do\nprint(i)\nend\n", "1\n2\n")
check("an expression of several lines", "x = {1,\n2}\n#x\n", "2\n")
check("a comment and empty lines", "-- nothing\n\n   \n1\n", "1\n")
check("no newline at the end", "1", "1\n")
check("exit ends", "1\nexit\n2\n", "1\n")
check("goes on after an error, and says so at the end",
  "error('no', 0)\n1\n", "no\n1\n", 1)
check("each input has a name", "x = 1\nlocal y = nil + 1\n",
  "input 2:1: attempt to perform arithmetic on a nil value\n", 1)
check("lines of an input", "x = 1\n(function()\nerror 'here' end)()\n", "input 2:2: here\n", 1)
check("a last expression after statements", "x = {4; 5}; x[2]\nlocal n = 'a;b'; n .. '!'\nn\n",
  "5\na;b!\na;b\n")
check("the same after lines", "x = {4,\n5}; x[2]\nfor i = 1, 2 do x = i; x\n= i\nend\n", "5\n")
check("the same with a last ';'", "x = 4; x + 1;\n", "5\n")
check("two values", "x = {y = 1}\nx.y; x.y\n",
  "input 2:1: syntax error near ';'; a value alone is not a statement: assign it, or print it\n", 1)
check("constants that are false or nil", "local c <const> = false\nc\nlocal c <const> = nil\nc\n",
  "false\nnil\n")
check("a name too many", "x = 1 x\nx = 1 x\n", "input 1:2: syntax error near 'x'\n", 1)
check("a text with a semicolon", "x = 'a; b'\nx\n", "a; b\n")
check("statements that go on", "x = 1; y =\n2\ny\n", "2\n")
check("an incomplete last input", "for i = 1, 2 do\n",
  "input 1:1: 'end' expected near <eof>\n", 1)
check("a value that cannot be printed",
  "setmetatable({}, {__tostring = function() error('broken', 0) end})\n", "broken\n", 1)
check("an input like a layout that is none", "(4,8):(8\n",
  "layout: expected ')' at column 8 of '(4,8):(8'\n", 1)
check("a layout with names", "(M=4,(a=2,3)):(1,(4,8))\nans:names()\n",
  '(M=4,(a=2,3)):(1,(4,8))\n{"M", false}\n')
check("a swizzled layout", "Sw<2,0,3> o 0 o (4,8):(8,1)\nans.swizzle\n",
  "Sw<2,0,3> o 0 o (4,8):(8,1)\nSw<2,0,3>\n")
check("a swizzle", "Sw<2,0,3>\nans(9)\n", "Sw<2,0,3>\n8\n")
check("an input like a swizzle that is none", "Sw<2,0,x>\n",
  "swizzle: expected a number at column 7 of 'Sw<2,0,x>'\n", 1)
check("a comparison like a swizzle", "Sw = 1\nSw<2,0,3\n", "true\t0\t3\n")
check("an input like a layout with names that is none", "(M=4,K=8:(8,1)\n",
  "layout: expected ')' at column 8 of '(M=4,K=8:(8,1)'\n", 1)
check("calls of what is in parentheses", "x = 2\n(x or 3)\n('a'):rep(x)\n", "2\naa\n")
check("kernels from inputs", "x = zeros(f32, 4)\n" ..
  "k = kernel('k', function(x) x[threadIdx.x] = 2.0 * threadIdx.x end)\n" ..
  "k{grid = 1, block = 4}(x)\nx[3]\n", "6.0\n")
check("an error of a kernel names its input once", "x = zeros(f32, 6)\n" ..
  "kernel('o', function(x) if x[0] then x[0] = 1.0 end end){grid = 1, block = 32}(x)\n",
  "input 2:1: 'if' tests a run-time float, which Lua counts as true even when it is 0; " ..
  "write 'x ~= 0', or 'x ~= nil' to ask whether it was passed\n",
  1)
tap.done()
