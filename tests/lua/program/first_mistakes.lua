-- What those who begin type at the prompt, and what it answers: it understands what can mean
-- nothing else, and says the right form of most other inputs. Rows of `mistakes`: the input after
-- "> ", or "- " where no one form can be said; below it the first line of the answer, "... " before
-- the end of a longer one.
local cuttle = arg[-1]
local tap = dofile "tests/support/tap.lua"

local setup = "A = layout({4, 8}, {1, 4})\nx = arange(f32, {4, 8})\n"

local mistakes = [==[
> B = (4,8):(1,4) print(B)
    (4,8):(1,4)
> print((4,8):(1,4))
    (4,8):(1,4)
> (4,8);(8,1)
    ')' expected near ','; a layout has a colon: write L"(4,8):(8,1)"
> A == (4,8):(1,4)
    true
> composition((4,8):(1,4), 4:2)
    4:2
> (4,8):(−1,4)
    (4,8):(-1,4)
> L"(4,8):(−1,4)"
    (4,8):(-1,4)
> layout(“(4,8):(1,4)”)
    (4,8):(1,4)
> L‘(4,8)’
    (4,8):(1,4)
> S<3,4,3> o 0 o (8,8):(8,1)
    Sw<3,4,3> o 0 o (8,8):(8,1)
> S<3,4,3>
    Sw<3,4,3>
> {4 8}
    '}' expected near '8'; values of a table are separated by commas: write {4, 8}
> layout{4 8}
    '}' expected near '8'; values of a table are separated by commas: write {4, 8}
> 4,8:1,4
    layout: '4,8:1,4' has no parentheses; write (4,8):(1,4)
> layout((4,8))
    ')' expected near ','; a tuple is a table: write {4, 8}
> layout((4,8),(1,4))
    ')' expected near ','; a tuple is a table: write {4, 8}
> layout[4,8]
    ']' expected near ','; a call has (): write layout(4,8)
> make_layout({4,8})
    ... make_layout is layout or L or concat here
> make_layout(make_shape(4,8))
    ... a tuple is a table, {4, {2, 3}}, or a text, "(4,(2,3))"
> L(4,8)
    ... a string like "(4,8):(8,1)" was expected; layout{4, 8} takes numbers
> device():sync()
    ... write synchronize() on the host, sync_threads() in a kernel
> sync()
    ... write sync_threads() in a kernel, synchronize() on the host
- A(nil)
    ... an integer, a table of them, a string like "(4,(2,3))" or _ was expected
- A()
    call of a layout: a coordinate is missing; write an integer or table for each mode
> A(1,2,3)
    ... write an integer, or a tuple nested like the shape
- A:foo()
    a layout has no field 'foo'; help"Layout" lists what it has
> A:colesce()
    a layout has no field 'colesce'; did you mean 'coalesce'?
> inverse(A)
    attempt to call a nil value (global 'inverse'); write left_inverse(A) or right_inverse(A)
> compose(A, A)
    attempt to call a nil value (global 'compose'); compose is composition here
> A @ A
    syntax error near '@'; write composition(A, A) of layouts, matmul(A, A) of tensors
> A + 1
    ... indices are numbers, as in A(i) + 1; layouts have functions, as in composition(A, B)
> help store
    Accumulator:store(t)
> help map
    Accumulator:map(f)
- help retile_A
    TiledMMA.retile_A     Views sums as operand A of the next product, in the same registers.
> help size
    size(x[, mode])
> ?size
    unexpected symbol near '?'; write help(size)
> print x
    syntax error near 'x'; a call has (): write print(x)
> size A
    syntax error near 'A'; a call has (): write size(A)
> coalesce A
    syntax error near 'A'; a call has (): write coalesce(A)
> x[4,8]
    ']' expected near ','; coordinates are one table: write x[{4,8}]
> x[1:4]
    ']' expected near ':'; '_' keeps a mode: write t(_, j)
> x[:, 0]
    unexpected symbol near ':'; '_' keeps a mode: write t(_, j)
- x[32]
    x[32]: coordinate 32 is outside the shape (4,8); counting starts at 0
- x[{4,0}]
    x[{4,0}]: coordinate (4,0) is outside the shape (4,8); counting starts at 0
- x(0,8)
    x(0,8): coordinate (0,8) is outside the shape (4,8); counting starts at 0
> x[1][2]
    ... coordinates are one table: write t[{i, j}]
> x(1, 2)[0] = 5
    attempt to index a number value; x(1, 2) is the element itself: write x[{1, 2}]
> x(1, 2) = 5
    syntax error near '='; an element is assigned by t[i] = v or t[{i, j}] = v
> x + x
    ... elements are computed one by one: x[i] in a kernel, transform(x, y, f) on the host
> x:sum()
    ... write reduce(x, "add"); in a kernel block_reduce(v, "add") adds over the threads
> x:max()
    a tensor has no field 'max'; write reduce(x, "max")
> x.sum()
    ... write reduce(x, "add"); in a kernel block_reduce(v, "add") adds over the threads
> len(x)
    attempt to call a nil value (global 'len'); write size(t), of a Lua table #t
> #x
    '#' of a tensor; size(t) is the number of its elements
> for _, v in ipairs{1,2} do fill(x(_, 0), 1) end
    ... '_' is a variable here and hides the slice _: rename it, as in for i, x in
> for v in x do print(v) end
    ... no tensor is an iterator: write for i = 0, size(t) - 1 do
> tensor(4,8)
    tensor: argument 1 is a number; the element type comes first: tensor(f32, {4, 8})
> tensor({4,8})
    tensor: argument 1 is a table; the element type comes first: tensor(f32, {4, 8})
> tensor(f32, 4, 8)
    ... tensor(f32, {4, 8}), with strides tensor(f32, layout({4, 8}, {8, 1}))
> zeros((4,8))
    ')' expected near ','; a tuple is a table: write {4, 8}
> torch.zeros(4)
    ... zeros is a name of its own: write zeros, not torch.zeros
> np.array({1})
    attempt to index a nil value (global 'np'); write from_table(f32, t)
> int y = 5
    syntax error near 'y'; a local has no type: write local y = ...
> y += 1
    syntax error near '+'; Lua has no += and no ++: write x = x + 1
> let y = 5
    syntax error near 'y'; a local has no type: write local y = ...
> const y = 5
    syntax error near 'y'; a local has no type: write local y = ...
> for (int i = 0; i < 4; i++) {}
    <name> expected near '('; Lua writes for i = 0, n - 1 do ... end
> def f(x): return x
    syntax error near 'f'; write local function f(x) ... end
> f = lambda v: v + 1
    function arguments expected near '+'; Lua writes function(v) return ... end
> import cuttle
    syntax error near 'cuttle'; there is nothing to import: names of the language are globals
> A != A
    syntax error near '!'; Lua writes ~= for != and not for !
> A && A
    syntax error near '&'; Lua writes and for &&
> !A
    unexpected symbol near '!'; Lua writes ~= for != and not for !
> // comment
    unexpected symbol near '//'; a comment begins with --
> # comment
    attempt to get length of a nil value (global 'comment')
> "abc" + 1
    attempt to add a 'string' with a 'number'; Lua joins texts by ..
> 0.5f
    malformed number near '0.5f'; numbers have no suffix: 0.5, or f32(0.5)
> for i in range(4) do print(i) end
    ... write 'for i = first, last do' or 'for _, i in ipairs(range(...)) do'
> k<<<1, 32>>>(x)
    syntax error near '<<'; a kernel is launched with k{grid = ..., block = ...}(...)
> softmax(x)
    ... write rows.softmax, with local rows = require "cuttle.rows"
> rows.softmax(x)
    attempt to index a nil value (global 'rows'); write local rows = require "cuttle.rows"
> scan(x)
    ... write selections.scan, with local selections = require "cuttle.selections"
> gelu(x)
    ... write 0.5 * x * (1.0 + erf(x * 0.70710678))
> help"softmax"
    rows.softmax(x)                                                                             rows
> help"cuttle.rows"
    rows: norms, softmax, losses and gates of rows; require "cuttle.rows"
> zipped_devide(A, {2,4})
    attempt to call a nil value (global 'zipped_devide'); did you mean 'zipped_divide'?
]==]

-- The answers to inputs, each its first line, by one session.
local function answers_of(inputs)
  local path = os.tmpname()
  local file <close> = assert(io.open(path, "w"))
  file:write(setup)
  for i, input in ipairs(inputs) do file:write(input, "\nprint'", "=", i, "'\n") end
  file:close()
  local pipe = assert(io.popen(("%s < %s 2>&1"):format(cuttle, path)))
  local answers, at = {}, 1
  for line in pipe:lines() do
    local done = line:match "^=(%d+)$"
    at = done and tonumber(done) + 1 or at
    if not done and not answers[at] then answers[at] = line:gsub("^input %d+:1: ", "") end
  end
  pipe:close()
  os.remove(path)
  return answers
end

local inputs, wanted, n_forms = {}, {}, 0
for mark, input, answer in mistakes:gmatch "([>-]) ([^\n]*)\n    ([^\n]*)\n" do
  inputs[#inputs + 1], wanted[#wanted + 1] = input, answer
  n_forms = n_forms + (mark == ">" and 1 or 0)
end
local answers = answers_of(inputs)
for i, input in ipairs(inputs) do
  local want, got = wanted[i], answers[i] or ""
  local tail = want:match "^%.%.%. (.*)$"
  local is_right = got == want or got:gsub("  .*", "") == want
    or tail ~= nil and got:sub(-#tail) == tail
  tap.ok(is_right, input, ("got: %s\nexpected: %s"):format(got, want))
end
tap.ok(#inputs >= 60 and n_forms >= 55, "60 mistakes, of which 55 are told the right form",
  ("%d, %d"):format(#inputs, n_forms))

-- A nil is explained where a person sees it.
local typed = require "cuttle.typed"
local values = { A = layout { 4, 8 }, x = zeros(f32, { 4, 8 }) }
local function value_of(name) return values[name] end
for _, row in ipairs {
  { "True", "'True' has no value; Lua writes true for True" },
  { "A.stides", "a layout has no field 'stides'; did you mean 'stride'?" },
  { "A.shap", "a layout has no field 'shap'; did you mean 'shape'?" },
  { "x.T", "a tensor has no field 'T'; write select(x, {1, 0})" },
  { "x.something", "a tensor has no field 'something'; help(x) lists what it has" },
  { "x.shape[0]", "tables count from 1: the first is x.shape[1]" },
  { "nil", nil }, { "f(x)", nil }, { "y.z", nil },
} do
  local got = typed.nil_note(row[1], value_of)
  tap.ok(got == row[2], row[1], ("got: %s"):format(got))
end

-- What is understood is only what is no Lua, and only in code.
for _, row in ipairs {
  { 'f"(4,8):(1,4)" (4,8):(1,4)', nil }, { "t[1:4]", nil }, { "{1: 2}", nil }, { "4,8:1,4", nil },
  { "f(4,8):(1,4)", nil }, { "x = [[ (4,8):(1,4) ]] + ", nil }, { "-- (4,8):(1,4)", nil },
  { "return (2,2):(2,1) -- 4:1", 'return L"(2,2):(2,1)" -- 4:1' },
  { 'f("\u{2019}", 4:1)', 'f("\u{2019}", L"4:1")' },
  { "a = Sw<2,0,3> o 0 o (8,8):(8,1)", 'a = L"Sw<2,0,3> o 0 o (8,8):(8,1)"' },
  { "a = (M=4,K=8):(8,1)", 'a = L"(M=4,K=8):(8,1)"' },
} do
  local got = typed.meaning(row[1])
  tap.ok(got == row[2], "meaning of " .. row[1], ("got: %s"):format(got))
end
tap.done()
