-- Finding the source of functions and converting them, under the static runtime.
local runtime = dofile("tests/rewrite/static_runtime.lua")
src.set_runtime((runtime.new {}))

local function is(got, want, name)
  ok(got == want, name)
  if got ~= want then
    print(("#      got: %s\n# expected: %s"):format(got, want))
  end
end

local function has(message, part, name)
  ok(type(message) == "string" and message:find(part, 1, true), name)
  if not (type(message) == "string" and message:find(part, 1, true)) then
    print(("#            got: %s\n# should contain: %s"):format(message, part))
  end
end

local function convert(f, is_kernel)
  local g, message = src.convert(f, is_kernel)
  assert(g, message)
  return g
end

local function write_file(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

-- A text that is its own name; the same upvalues.
do
  local f, set = load "local n = 1 return function(x) if x > n then n = n + 1 end return n end, function(v) n = v end" ()
  local g = convert(f)
  ok(g ~= f and src.is_converted(g) and not src.is_converted(f), "a converted function is another")
  is(g(5), 2, "it runs")
  is(f(5), 3, "it shares its upvalues")
  set(10)
  is(g(5), 10, "also with other functions")
  is(convert(f), g, "a conversion is cached")
  is(convert(g), g, "a converted function is its own conversion")
  ok(convert(f, true) ~= g, "a kernel and a helper are different conversions")
  is(convert(print), print, "a C function is left alone")
end

-- A function that converted code made is converted.
do
  local f = load "return function(x) return function() return x end end" ()
  ok(src.is_converted(convert(f)(1)), "a function made by a converted one is converted")
  is(convert(f)(7)(), 7, "and works")
end

-- Functions of a loop share a prototype, not their upvalues.
do
  local fs = load "local t = {} for i = 1, 3 do local n = i * 10 t[i] = function() n = n + i return n end end return t" ()
  local got = {}
  for i = 1, 3 do got[i] = convert(fs[i])() end
  is(table.concat(got, " "), "11 22 33", "closures of a loop keep their own variables")
  is(fs[2](), 24, "and the originals see them")
end

-- Several functions on one line.
do
  local fs = load [[local a, b = 1, 2 return {
  function() return a end, function() return b end, function(x) return x + 1 end,
  function() return a end, function(x) return x + 2 end, function() return a + b end } ]] ()
  local got = {}
  for i, f in ipairs(fs) do got[i] = convert(f)(100) end
  is(table.concat(got, " "), "1 2 101 1 102 3", "functions of one line are told apart")
  local one = load "local t = {} for k = 1, 2 do local a, b = k, k * 10 t[k] = { function() return a end, function() return b end } end return t" ()
  is(convert(one[1][1])() .. " " .. convert(one[2][2])() .. " " .. convert(one[1][2])(), "1 20 10",
    "also with equal code and other upvalues")
end

-- Chunk names.
do
  local f = src.load("return function() return 'remembered' end", "=chunk")()
  is(convert(f)(), "remembered", "a remembered text")
  local g = src.load("local x = 1 return function() return x end", "=chunk")()
  is(convert(g)(), 1, "a second text of the same name")
  local h = src.load("return function() return 'remembered' end", "=chunk")()
  is(convert(h)(), "remembered", "the first text again")
  local pieces = { "return function", "(x) return x end" }
  local p = load(function() return table.remove(pieces, 1) end)
  is(convert(p())(3), 3, "a text from a reader function")
  local named = load("return function() return 'named' end", "@no such file")
  is(convert(named())(), "named", "a named text")
  local env = load("return function() return value end", "=env", "t", { value = 5 })
  is(convert(env())(), 5, "an environment")
  local m, message = load(function() error("reader") end)
  ok(m == nil and message:find("reader", 1, true), "an error of a reader function")
  is(select("#", load("x")), 2, "a text that does not compile")
end

-- Files.
local path = os.tmpname()
do
  write_file(path, "#!/usr/bin/env cuttle\nreturn function(x)\n  if x then return 'file' end\nend\n")
  local f = src.load_file(path)()
  is(convert(f)(true), "file", "a file with a #! line")
  is(debug.getinfo(convert(f), "S").linedefined, 2, "on its line")
  is(debug.getinfo(convert(f), "S").short_src, debug.getinfo(f, "S").short_src, "under its name")
  f = dofile(path)
  write_file(path, "return function(x)\n  if x then return 'other' end\nend\n")
  is(convert(f)(true), "file", "the text that was loaded, not what the file is now")
  local g = assert(loadfile(path))()
  is(convert(g)(true), "other", "the new text")
  package.path = path .. ";" .. package.path
  local r = require("module")
  write_file(path, "return nil")
  is(convert(r)(true), "other", "a required module")
  -- behind the back of the loaders
  local plain = src.load_file(path) -- a chunk whose function comes from elsewhere
  ok(plain, "a file without functions")
end

-- What cannot be found.
do
  local stripped = load(string.dump(load "return function() return 1 end", true))()
  local _, message = src.convert(stripped)
  has(message, "cannot find the source of the function at ?", "stripped bytecode")
  has(message, "load it from a file or with load(text)", "and what to do")
  local bytes = load((string.dump(load("return function() return 1 end", "=here")):gsub("=here", "=gone")))()
  _, message = src.convert(bytes)
  has(message, "cannot find the source of the function at gone:1", "bytecode of an unknown chunk")
  write_file(path, "return function() return 1 end")
  local old = load(string.dump(assert(loadfile(path))))()
  src.load("return function() return 2 end", "@" .. path)
  write_file(path, "return function() return 3 end")
  ok(src.convert(old), "one of the remembered texts")
  local moved = load(string.dump(load("return function() return 4 end", "@" .. path)))
  write_file(path, "\nreturn function() return 4 end")
  ok(src.convert(moved()), "a text remembered by load")
  os.remove(path)
end
do
  local other = os.tmpname()
  write_file(other, "return function() return 5 end")
  local f = load(string.dump(load("return function() return 6 end", "@" .. other .. "x")))
  f = load((string.dump(f)))()
  local name = other .. "y"
  write_file(name, "\nreturn function() return 6 end")
  local g = load((string.dump(assert(load("return function() return 7 end", "=z")))))
  ok(g and f, "loaded")
  local cut = load(string.dump(assert(loadfile(name))))
  ok(src.convert(cut()), "bytecode of a file that is as it was")
  os.remove(other)
  os.remove(name)
end

-- Bytecode loaded from a file that has changed since, unknown to the loaders.
do
  local name = os.tmpname()
  write_file(name, "return function() return 1 end\n")
  local f = load(string.dump(assert(load("\nreturn function() return 1 end", "=a"))))
  ok(f, "loaded")
  local dump = string.dump(assert(load("return function() return 8 end", "@" .. name)))
  local g = load(dump)()
  -- push the text out of what is remembered under this name
  for i = 1, 20 do load("return " .. i, "@" .. name) end
  local _, message = src.convert(g)
  has(message, "has changed since it was loaded", "a changed file")
  os.remove(name)
end

-- Too deep for Lua once rewritten; messages of the rewriter.
do
  local deep = ("if x then "):rep(60) .. "y = 1" .. (" end"):rep(60)
  local f = load("return function(x) local y " .. deep .. " return y end", "=deep")()
  is(f(true), 1, "sixty nested ifs are Lua")
  local g, message = src.convert(f)
  ok(g == nil, "but too deep to be traced")
  has(message, "deep:1: this function is nested too deeply", "with a message at its line")
  local w = load("\nreturn function(t)\n  for _, v in pairs(t) do\n    t(_, v)\n  end\nend", "=wild")()
  _, message = src.convert(w)
  has(message, "wild:4: kernel: '_' is the variable of a loop here", "a hidden wildcard")
end

-- Many upvalues: the runtime functions come in a table.
do
  local names, text = {}
  for i = 1, 190 do names[i] = "v" .. i end
  text = "local " .. table.concat(names, ", ") .. " = 1 v190 = 5 v2 = 1 return function(x)\n" ..
    "if x then v2 = x end local s = v190 + v2 do local t = { " .. table.concat(names, ", ") .. " } end return s, v1 end"
  local f = load(text, "=many")()
  local g = convert(f)
  is(table.concat({ g() }, " "), "6 1", "a function with 190 upvalues")
  is(g(7), 12, "assigns them")
  is(f(), 12, "and shares them")
  ok(src.is_converted(g), "is known as converted")
end

-- Nothing is kept alive by the caches.
do
  local weak = setmetatable({}, { __mode = "k" })
  for i = 1, 50 do
    local f = load("local t = {} return function() return t, " .. i .. " end")()
    weak[f] = true
    weak[convert(f)] = true
  end
  collectgarbage()
  collectgarbage()
  ok(next(weak) == nil, "converted functions are collected")
end
