-- The parser accepts what Lua accepts: texts for each rule of the language, and every Lua file of
-- this repository, as it is and with random damage.
local function check(text, name)
  local valid, message = load(text, "=test", "t")
  local accepted, ours = rw.accepts(text)
  local same = (valid ~= nil) == accepted
  ok(same, name or text:gsub("%s+", " "):gsub("#", "number sign"):sub(1, 70))
  if not same then
    print("# Lua: " .. tostring(message) .. "; parser: " .. ours)
  end
end

local valid = {
  "", ";;;", "return", "return;", "return 1, 2;", "x = 1", "x, y.z, t[1] = f()", "f()", "f{}", "f''", "a.b:c()",
  "do end", "while x do end", "repeat until x", "if a then elseif b then else end", "for i = 1, 2 do end",
  "for i = 1, 2, 3 do end", "for k in f do end", "for a, b, c in f, g, h, i, j do end", "local x", "local x, y = 1",
  "local x <const> = 1", "local x <close>, y <const> = 1", "local function f(...) return ... end",
  "function a.b.c:d(x, ...) end", "function f() end", "goto x ::x::", "::x:: goto x", "do goto x end ::x::",
  "for i = 1, 2 do goto c local x = 1 ::c:: end", "for i = 1, 2 do goto c local x = 1 ::c:: ; ; ::d:: end",
  "do ::x:: end ::x::", "do ::a:: end do ::a:: end", "::a:: local function f() ::a:: end",
  "while x do break end", "while x do break; x() end", "repeat local y break until y",
  "x = -1 ^ -2 .. not a == #b and ~c or d // 1 % 2 << 3 >> 4 & 5 | 6 ~ 7",
  "x = {1, 2; 3, a = 1, ['b'] = 2, f(), ...,}", "x = function(a, a) end", "x = (f)()[1].y:z'' {}",
  "x = 0x10 + 0xA.8p1 + 1e10 + 1E-3 + .5 + 5. + 0x.1 + 3", "x = 0xffffffffffffffffffff",
  [[x = '\a\b\f\n\r\t\v\\\'\"\z
     \x41\065\u{48}\u{7FFFFFFF}\
' ]], "x = [[\n]] .. [==[ ]] ]=] ]==]", "--[[ long ]] x = 1 --[==[ ]] ]==]", "-- short", "--[==x", "x = a --[[]] . b",
  "local _ENV = {} x = 1", "x = '\0'", "\r\n\n\r x = 1", "return function() return 1 end == nil or (...)",
  "local a <const> = 1 local function f() return a end", "x = a.and_b", "goto continue do ::continue:: end ::continue::",
  "local goto_ = 1", "x = 3 .. 4", "f 'x' 'y' {z}", "local a <const>", "a.b['c'].d = e", "for a = 1, 2 do local a end",
}
local invalid = {
  "x", "x =", "= 1", "x + 1", "(x)", "(x) = 1", "(f())", "f() = 1", "x, f() = 1", "x, 1 = 2", "1 = x", "f(", "f(,)", "f(1,)",
  "return 1 x = 2", "return return", "if x then", "if x end", "if then end", "else", "end", "until x", "while do end",
  "while x do", "repeat", "for", "for i", "for i = 1 do end", "for i = 1, 2, 3, 4 do end", "for i, j = 1, 2 do end",
  "for in x do end", "for 1 = 1, 2 do end", "for k in do end", "local", "local 1", "local x <", "local x <foo> = 1",
  "local x <close>, y <close> = 1", "local function f.x() end", "local function () end", "function f", "function f(", "function f(a,) end",
  "function f(..., a) end", "function f(1) end", "function a:b.c() end", "function a:b:c() end", "function () end", "x = function end",
  "break", "while x do function f() break end end", "goto x", "goto 1", "do ::x:: end goto x", "::x:: ::x::",
  "::x:: do ::x:: end", "goto x local y ::x:: print(y)", "repeat goto c local x ::c:: until x", "::", "::x", ":: 1 ::",
  "goto x do local y ::x:: end", "function f() goto x end ::x::", "local x <const> = 1 x = 2",
  "local x <const> = 1 function f() x = 2 end", "local x <close> = nil x, y = 1", "local f <const> = 1 function f() end", "function f() return ... end",
  "x = a.1", "x = a:b", "x = a.", "x = {", "x = {1", "x = {a = }", "x = {[1]}", "x = {[1 = 2}", "x = (1", "x = 1 +", "x = not", "x = 1 2",
  "x = 0x", "x = 0xg", "x = 1e", "x = 1e+", "x = 3x", "x = 1..2", "x = 1.2.3", "x = 0x1p", "x = 08a", "x = 1_000",
  "x = 'a", "x = 'a\n'", "x = '\\q'", "x = '\\300'", "x = '\\x4'", "x = '\\u{80000000}'", "x = '\\u{'", "x = '\\u41'", "x = [[a",
  "x = [=a", "x = [==", "--[[ a", "x = @", "x = $", "x = a ! b", "x = a != b", "x = a && b", "x = \1", "é = 1", "x = a ? b", "x = `a`",
  "and = 1", "x.end = 1", "local nil = 1", "goto end", "\27Lua", "x = }", ")", "do return end end", "a.b:c = 1", "a:b", "x = ...; function f() x = ... end",
  "#!/bin/x", "for a.b in c do end", "local a.b = 1", "x = 'a' 'b'", "x = {} {}",
}
for _, text in ipairs(valid) do
  assert(load(text), text)
  check(text)
end
for _, text in ipairs(invalid) do
  assert(not load(text, "=x", "t"), text)
  check(text)
end

-- Limits.
local function many(n, f)
  local t = {}
  for i = 1, n do t[i] = f(i) end
  return table.concat(t, " ")
end
for _, n in ipairs { 200, 201 } do
  check(many(n, function(i) return "local v" .. i end), n .. " locals")
  check("for i = 1, 2 do " .. many(n - 4, function(i) return "local v" .. i end) .. " end", n .. " locals with a loop's")
end
for _, n in ipairs { 255, 256 } do
  check(many(128, function(i) return "local v" .. i end) .. " local function f() " ..
    many(127, function(i) return "local w" .. i end) .. " return function() return x " ..
    many(n - 129, function(i) return "+ w" .. i end) .. many(128, function(i) return "+ v" .. i end) ..
    " end end", n .. " upvalues")
end
for _, n in ipairs { 100, 300 } do
  check(("("):rep(n) .. "f" .. (")"):rep(n) .. "()", n .. " nested parentheses")
  check(("do "):rep(n) .. ("end "):rep(n), n .. " nested blocks")
  check("x = " .. ("{"):rep(n) .. ("}"):rep(n), n .. " nested tables")
  check("x = " .. ("-"):rep(1) .. (" -"):rep(n) .. "1", n .. " unary operators")
  check("x = 1" .. (" .. 1"):rep(n), n .. " right associative operators")
end
check("x = 1" .. (" + 1"):rep(20000), "20000 left associative operators")
check("x = f" .. ("(1)"):rep(5000), "5000 calls in a row")
check("if a then " .. ("elseif a then "):rep(3000) .. "end", "3000 arms")

-- Files, and damage to them.
local words = {
  "and", "break", "do", "else", "end", "for", "function", "goto", "if", "in", "local", "nil", "not", "or", "repeat",
  "return", "then", "until", "while", "=", "(", ")", "{", "}", "[", "]", "::", ";", ":", ",", ".", "...", "x",
  "::continue::", "goto continue", "<const>", "<close>", "1", "'s'", "[[", "]]", "--", "--[[", "\n", "local x", "#", "~", "\\",
}
local function damage(text)
  for _ = 1, math.random(3) do
    local at = math.random(0, #text)
    local kind = math.random(3)
    if kind == 1 then
      text = text:sub(1, at) .. text:sub(at + 2)
    elseif kind == 2 then
      text = text:sub(1, at) .. " " .. words[math.random(#words)] .. " " .. text:sub(at + 1)
    else
      text = text:sub(1, at) .. text:sub(at + math.random(30))
    end
  end
  return text
end

math.randomseed(20)
local n_files, n_damaged, n_wrong = 0, 0, 0
local function compare(text, name)
  local accepted, ours = rw.accepts(text)
  local function_, message = load(text, "=test", "t")
  if accepted ~= (function_ ~= nil) and not (message and message:find("overflow", 1, true)) then
    n_wrong = n_wrong + 1
    print("# " .. name .. ": Lua: " .. tostring(message) .. "; parser: " .. ours)
  end
end
local list = assert(io.popen("find stdlib scripts examples tests -name '*.lua' | sort"))
for path in list:lines() do
  local file = assert(io.open(path, "rb"))
  local text = file:read("a"):gsub("^#[^\n]*", "")
  file:close()
  n_files = n_files + 1
  compare(text, path)
  for _ = 1, math.max(10 // rw.part, 1) do
    n_damaged = n_damaged + 1
    compare(damage(text), path)
  end
end
list:close()
ok(n_files > 10 and n_wrong == 0, ("%d files and %d damaged texts"):format(n_files, n_damaged))
