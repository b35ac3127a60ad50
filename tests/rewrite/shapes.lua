-- What the rewriter writes: the whole wrapper of small functions, one for each construct, and what
-- it tells the caller. Changes here are changes of the contract in interp/text/rewrite.h.
local function is(got, want, name)
  ok(got == want, name)
  if got ~= want then
    print(("#      got: %s\n# expected: %s"):format(tostring(got):gsub("\n", "\n# "), want:gsub("\n", "\n# ")))
  end
end

-- The body of the rewritten `function(a, b) BODY end`, in which blanks count as one.
local function body_of(body, before)
  local text = (before or "") .. " return function(a, b) " .. body .. " end"
  local wrapper, message = rw.rewrite(text, 1, 1, 1, false)
  if not wrapper then
    return message
  end
  local out = wrapper:match("return function%(a, b%) local R_f <close> = R_func%(nil, false%)(.*) end$")
  return out and (out:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")) or wrapper
end

local function shape(name, body, want, before) is(body_of(body, before), want, name) end

shape("if", "if a then f() end", [[for R_k in R_if(1, false, a) do if R_k == 1 then R_fn(f, "global 'f'")() end end]])
shape("elseif, else", "if a then a = 1 elseif b then a = 2 else a = 3 end",
  [[for R_k, R_q in R_if(2, true, R_r(a)) do if R_q then a = R_p(R_q, a, "a", 1) end if R_k == 1 then a = R_a(a, 1) ]] ..
  [[elseif R_k == 2 then R_ei( b) elseif R_k == 3 then a = R_a(a, 2) else a = R_a(a, 3) end end]])
shape("while", "while a do a = b end",
  [[for R_q in R_while() do if R_q then a = R_p(R_q, a, "a", 1) end if R_wc( R_r(a)) then a = R_a(a, b) end end]])
shape("while true", "while true do if a then break end end",
  [[do for R_q in R_loop("while") do for R_k in R_if(1, false, a) do if R_k == 1 then ]] ..
  [[if R_brk() then goto R_b2 else goto R_e5 end ::R_e5:: end end ::R_e3:: end ::R_b2:: end]])
shape("repeat", "repeat local c = a until c", [[for R_q in R_loop("repeat") do do local c = a R_until( c) end end]])
shape("numeric for", "for i = 1, b do a = a + i end",
  [[for i, R_q in R_range("i", 1, b) do if R_q then a = R_p(R_q, a, "a", 1) end a = R_a(a, R_r(a) + i) end]])
shape("a bound that is a call", "for i = 1, a() do end", [[for i in R_range("i", 1, (R_fn(a, "local 'a'")())) do end]])
shape("generic for", "for k, v in a, b do end", [[for k, v in R_iter("k,v", a, b) do end]])
shape("return", "return a, b", "return a, b")
shape("return inside", "if a then return b end",
  [[do for R_k in R_if(1, false, a) do if R_k == 1 then if R_ret(R_f, b) then return R_retv(R_f) end ]] ..
  [[::R_e3:: end end ::R_e1:: end return R_leave(R_f)]])
shape("goto", "if a then goto l end a = b ::l:: f()",
  [[do local R_g6 <close> = R_mark("l") for R_k, R_q in R_if(1, false, R_r(a)) do if R_q then a = R_p(R_q, a, "a", 1) end ]] ..
  [[if R_k == 1 then if R_goto(R_g6) then goto l else goto R_e3 end ::R_e3:: end end if R_dead() then goto l end ]] ..
  [[a = R_a(a, b) end ::l:: if R_dead() then goto R_e1 end R_fn(f, "global 'f'")() ::R_e1::]])
shape("goto back", "::l:: if a then goto l end",
  [[local R_h1 = R_here() ::l:: for R_k in R_if(1, false, a) do if R_k == 1 then R_back(R_h1, "l") goto l end end]])
shape("logic", "a = a and b or not a",
  [[a = R_nm(R_ore(R_orb(R_ande(R_andb(a) and b)) or R_not( a)), "a")]])
shape("comparisons", "a(a < b, a >= b, a ~= f())",
  [[R_fn(a, "local 'a'")(R_lt(a , b), R_ge(a , b), R_ne(a , (R_fn(f, "global 'f'")())))]])
shape("indices", "a(b[1], b[a], b.x[a].y, b['k'])",
  [[R_fn(a, "local 'a'")(b[1], R_ix(b, a, "local 'b'"), R_ix(b.x, a, "field 'x'").y, b['k'])]])
shape("assignment to fields", "a.x = 1 a[b] = f() a.x.y = b",
  [[R_set("local 'a'", a, "x" , 1) R_set("local 'a'", a, b , R_fn(f, "global 'f'")()) R_set("field 'x'", a.x, "y" , b)]])
shape("several targets", "a, b.x, g, h = f()",
  [[a, g, h = R_an("ligu", b, "x", "local 'b'", "g", "h", R_fn(f, "global 'f'")())]], "local h")
shape("several locals", "a, b = b, a", "a, b = b, a")
shape("host names", "g = 1 h = 2", [[g = R_gl("g", 1) h = R_up("h", 2)]], "local h")
shape("methods", "a:m() b.x:m(1) a:m'x' a:m{b}",
  [[R_m(a, "m", "local 'a'")(R_self()) R_m(b.x, "m", "field 'x'")(R_self(), 1) ]] ..
  [[R_m(a, "m", "local 'a'")(R_self(), 'x') R_m(a, "m", "local 'a'")(R_self(), R_t({b}))]])
shape("tables", "local c = { a, x = { b } } a[{ 1, b }] = 1",
  [[local c = R_t({ a, x = R_t({ b }) }) R_set("local 'a'", a, { 1, b } , 1)]])
shape("names of values", "local c, d, e, f = a + b, a.x, a, 1 local g, h = a()",
  [[local c, d, e, f = R_nm(a + b, "c"), R_nm(a.x, "d"), a, 1 local g, h = R_fn(a, "local 'a'")()]])
shape("cells", "local c = a function f() c = b end",
  [[local c = a c = R_cell(c, "c") f = R_gl("f", function() local R_f <close> = R_func("f", false) c = R_a(c, b) end)]])
shape("the text of cuda on the same line", "cuda([[ a; ]])", 'R_fn(cuda, "global \'cuda\'")([[ a; ]])')
shape("to be closed", "local c <close> = a", [[local c <close> = a local R_c <close> = R_close(c, "c")]])
shape("a local that hides a promoted one", "for i = 1, 2 do do local a = 1 if b(a) then break end end a = i end",
  [[do for i, R_q in R_range("i", 1, 2) do if R_q then a = R_p(R_q, a, "a", 1) end do local aR_11 = 1 for R_k, R_q in ]] ..
  [[R_if(1, false, R_fn(b, "local 'b'")(aR_11)) do if R_q then a = R_p(R_q, a, "a", 1) end if R_k == 1 then if R_brk() ]] ..
  [[then goto R_b2 else goto R_e8 end ::R_e8:: end end ::R_e5:: end if R_dead() then goto R_e3 end a = R_a(a, i) ]] ..
  [[::R_e3:: end ::R_b2:: end]])
shape("constants of the host", "return W, V", "return W, V", "local W <const> = 2 local V <const> = W * 2")

-- Lines, prefix, constants, information.
do
  local text = "local W <const> = 'a\\\nb'\nlocal up\n\nlocal function f(x, ...)\n  up = W\n  R_1 = y\nend"
  local wrapper, info = rw.rewrite(text, 5, 8, 1, true)
  is(wrapper:match("^\n*"), "\n\n\n\n", "the function stays on its line")
  ok(wrapper:find('local W <const> = "\\097\\010\\098"', 1, true), "a constant is copied onto one line")
  ok(wrapper:find("R1_up", 1, true), "the prefix occurs nowhere in the text")
  ok(wrapper:find('R1_func("f", true)', 1, true), "the kernel's own function is told")
  is(table.concat(info.params, " "), "x", "parameters")
  ok(info.is_vararg and info.uses_env and not info.in_table, "kind")
  is(table.concat(info.upvalues, " "), "up", "upvalues without the constant")
  is(table.concat(info.fns, " "), "func up gl", "runtime functions in order")
  local _, method = rw.rewrite("function o:m(a) end", 1, 1)
  is(table.concat(method.params, " "), "self a", "a method has its self")
  is(table.concat(rw.upvalues("local a, b <const> = 1, 2 return function() return a, b, c end", 1, 1), " "), "_ENV a",
    "upvalues as Lua has them")
end

-- Reads that are noted: fields and lengths by runtime functions; which globals are read.
do
  local text = "return function(t) g = t.x[1] .. #t + #h.y for i = 1, n do h(function() return o end) end end"
  local wrapper, info = rw.rewrite(text, 1, 1, 1, false, true)
  ok(wrapper:find([[R_ix(R_ix(t, "x", "local 't'"), 1, "field 'x'")]], 1, true), "fields")
  ok(wrapper:find([[#R_len(t, "local 't'") + #R_len(R_ix(h, "y", "global 'h'"), "field 'y'")]], 1, true), "lengths")
  is(table.concat(info.globals, " "), "h n o", "globals that are read, each once")
end

-- The chunk itself.
do
  local wrapper = rw.rewrite("local a = ... return a -- end", 0, 0)
  local f = load(wrapper)
  ok(f, "a chunk that ends in a comment")
end

-- Refusals.
local function refuses(text, want, name)
  local _, message = rw.rewrite(text, 1, 1)
  is(message, want, name)
end
refuses("return function(t) for _ = 1, 2 do t(_, 1) end end",
  "test:1: kernel: '_' is the variable of a loop here and hides the wildcard '_'; give the loop variable another name",
  "a loop variable that hides the wildcard, in a call")
refuses("return function(t) for _ in t do t[{_, 1}] = 1 end end",
  "test:1: kernel: '_' is the variable of a loop here and hides the wildcard '_'; give the loop variable another name",
  "in a coordinate")
refuses("return function(t) local _, k = t() t(_, k) end",
  "test:1: kernel: '_' is a local here and hides the wildcard '_'; give the local another name",
  "a local that does")
refuses("return function(t, _) return t(_, 1) end",
  "test:1: kernel: '_' is a parameter here and hides the wildcard '_'; give the parameter another name",
  "a parameter that does")
refuses("return function(t) local _ENV = t if t then _ENV = t.x end end",
  "test:1: kernel: '_ENV' is assigned inside an if, a loop or an inner function; give each _ENV a local of its own",
  "an _ENV that would be promoted")
