-- Text that is C++: the message says what Lua has for it.
local function try(text) print((select(2, load(text, "=t")):gsub("^t:1: .*near [^;]*", ""))) end
try "x += 1"            -- expect: ; Lua has no += and no ++: write x = x + 1
try "if a != b then end" -- expect: ; Lua writes ~= for != and not for !
try "if a && b then end" -- expect: ; Lua writes and for &&
try "// what it does"   -- expect: ; a comment begins with --
try "k<<<1, 32>>>(x)"   -- expect: ; a kernel is launched by k{grid = ..., block = ...}(...)
try "return 0.5f"       -- expect: ; numbers have no suffix: 0.5, or f32(0.5)
try "t(i, j) = 1"       -- expect: ; an element is assigned by t[i] = v or t[{i, j}] = v
print((select(2, load("x = )", "=t"))))  -- expect: t:1: unexpected symbol near ')'
local bare = kernel("k", function(x) x[0] = threadIdx end)
print((select(2, pcall(bare{grid = 1, block = 1}, zeros(f32, 1)))))
-- expect: tests/lua/language/cpp_habits.lua:11: store to x: f32 expected, got an index; write threadIdx.x
