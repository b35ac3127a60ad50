-- Text that is C++ or Python: the message says what Lua has for it.
local function try(text) print((select(2, load(text, "=t")):gsub("^t:1: .*near [^;]*", ""))) end
try "x += 1"            -- expect: ; Lua has no += and no ++: write x = x + 1
try "if a != b then end" -- expect: ; Lua writes ~= for != and not for !
try "if a && b then end" -- expect: ; Lua writes and for &&
try "// what it does"   -- expect: ; a comment begins with --
try "k<<<1, 32>>>(x)"   -- expect: ; a kernel is launched with k{grid = ..., block = ...}(...)
try "k[1, 32](x)"       -- expect: ; a kernel is launched with k{grid = 1, block = 32}(...); coordinates are one table, t[{i, j}]
try "return 0.5f"       -- expect: ; numbers have no suffix: 0.5, or f32(0.5)
try "t(i, j) = 1"       -- expect: ; an element is assigned by t[i] = v or t[{i, j}] = v
try "x <<= 2"           -- expect: ; Lua has no <<=: write x = x << y
try "x %= 2"            -- expect: ; Lua has no %=: write x = x % y
try "x = t[1,2]"        -- expect: ; coordinates are one table: write t[{1,2}]
try "x = t[1, 2] + y[3, 4]" -- expect: ; coordinates are one table: write t[{1, 2}]
try "x = t(0, :)"       -- expect: ; '_' keeps a mode: write t(_, j)
try "for i = 1..4 do end" -- expect: ; Lua writes for i = 1, 4 do
try "x = t[:, 0]"       -- expect: ; '_' keeps a mode: write t(_, j)
try "size<0>(A)"        -- expect: ; Lua has no templates: write size(A, 0)
try "x = cute::size(A)" -- expect: ; Lua has no namespaces: write size
try "float v = x[0]"    -- expect: ; a local has no type: write local v = ...
try "const int n = 3;"  -- expect: ; a local has no type: write local x = ...
try "__shared__ float s[32]" -- expect: ; write local s = shared(f32, 32)
try "x = (float) y z = 3" -- expect: ; Lua has no casts: write f32(x), cast(x, i32)
try "for (int i = 0; i < n; ++i) {" -- expect: ; Lua writes for i = 0, n - 1 do ... end
try "if (i < 4) { y[0] = 1 }" -- expect: ; Lua writes if c then ... end
try "x = y ** 2"        -- expect: ; Lua writes x ^ y for x ** y
try "x = [1, 2]"        -- expect: ; a list is a table: write {1, 2}
try "def f(x):"         -- expect: ; write local function f(x) ... end
try "f = lambda x: x + 1" -- expect: ; Lua writes function(x) return ... end
try "for i in range(4):\n y = 1" -- expect: t:2: function arguments expected near '='; Lua writes for i = 0, n - 1 do ... end
try "import numpy as np" -- expect: ; there is nothing to import: names of the language are globals
try "if i = 0 then end"  -- expect: ; Lua compares by ==
try "if (i < 10) y[i] = 1" -- expect: ; Lua writes if c then ... end
try "atomicAdd(&y[0], 1)" -- expect: ; there are no addresses: write atomic_add(t, i, v)
try "local a[4]"         -- expect: ; write local a = fragment(f32, 8)
try "s = shared[f32, 32]" -- expect: ; a call has (): write shared(f32, 32)
try "layout((4,8),(8,1))" -- expect: ; a tuple is a table: write {4, 8}
try "pid = program_id(axis=0)" -- expect: ; arguments have no names: write f(0), or a table, f{axis = 0}
try "for i = 0, 3 do if i == 2 then continue end end" -- expect: ; Lua has no continue: invert the condition
try "if x > 3: print(i)" -- expect: ; Lua writes if c then ... end
try "x = 1; x + 1"       -- expect: ; a value alone is not a statement: assign it, or print it
try "x == 1"             -- expect: ; a value alone is not a statement: assign it, or print it
try "t.x\ny = 3"         -- expect: t:2: syntax error near 'y'; a value alone is not a statement: assign it, or print it
try "if x then x end"    -- expect: ; a value alone is not a statement: assign it, or print it
try "{1, 2}"             -- expect: ; a value alone is not a statement: assign it, or print it
try "x = 1\nnot x"       -- expect: t:2: unexpected symbol near 'not'; a value alone is not a statement: assign it, or print it
print((select(2, load("x = 1; x", "=t")))) -- expect: t:1: syntax error near <eof>
try "f(function()\n if a then b()\n else if c then d() end\nend)" -- expect: t:4: unexpected symbol near ')'; perhaps 'else if' lacks an 'end': Lua writes elseif
try "for i = 1 to 3 do end" -- expect: ; Lua writes for i = 1, 3 do
try "local x: int = 3"   -- expect: ; a local has no type: write local x = ...
try "x := 3"             -- expect: ; Lua assigns by =: write x = ...
try "k{grid = {1, 2} block = 2}(x)" -- expect: ; values of a table are separated by commas: write , before block
try "x = 0b101"          -- expect: ; Lua has no binary numbers: write 0x5
try "x = 1_000"          -- expect: ; digits have no _ between them
try "?size"              -- expect: ; write help(size)
print((select(2, load("x = )", "=t"))))  -- expect: t:1: unexpected symbol near ')'
local bare = kernel("k", function(x) x[0] = threadIdx end)
print((select(2, pcall(bare{grid = 1, block = 1}, zeros(f32, 1)))))
-- expect: tests/lua/language/syntax_habits.lua:57: store to x: f32 expected, got an index; write threadIdx.x
-- A file, too.
local path = os.tmpname()
local file = assert(io.open(path, "w"))
file:write "local t = zeros(f32, {4, 4})\nprint(t[1,2])\n"
file:close()
print((select(2, loadfile(path)):gsub("^.*; ", "")))  -- expect: coordinates are one table: write t[{1,2}]
local pipe = assert(io.popen(("'%s' -e 'dofile \"%s\"' 2>&1"):format(arg[-1], path)))
print((pipe:read("l"):gsub("^.*; ", "")))  -- expect: coordinates are one table: write t[{1,2}]
pipe:close()
os.remove(path)
-- At the end of a file, of the standard input and of -e nothing can follow a value alone.
local of_value <const> = ": syntax error near <eof>; a value alone is not a statement: "
  .. "assign it, or print it"
local function ends(command)
  local out <close> = io.popen(command:format(arg[-1], path) .. " 2>&1")
  print(out:read "l":find(of_value, 1, true) ~= nil)
end
file = assert(io.open(path, "w"))
file:write "x = 1; x\n"
file:close()
ends "'%s' %s"                  -- expect: true
ends "'%s' - < %s"              -- expect: true
ends "'%s' -e 'dofile \"%s\"'"  -- expect: true
ends "'%s' -e 'x = 1; x'"       -- expect: true
os.remove(path)
