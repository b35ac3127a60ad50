-- Random programs over run-time integers: a rewritten function, run for one lane of a kernel
-- (lane_runtime.lua), gives what Lua gives for that lane's numbers. This tests the promotion sets,
-- the dead code, and the renaming of hidden locals.
local static = dofile("tests/rewrite/static_runtime.lua")
local lane = dofile("tests/rewrite/lane_runtime.lua")
local n_programs = tonumber(os.getenv("N_PROGRAMS") or 1500 // rw.part)
local seed = tonumber(os.getenv("SEED") or 1)

-- {====== The generator: locals a to e are numbers, always ======

local random = math.random
local buffer, depth, in_loop, n_labels, open_labels, functions

local function put(...)
  for _, s in ipairs { ... } do buffer[#buffer + 1] = s end
end
local function pick(list) return list[random(#list)] end
local function chance(percent) return random(100) <= percent end
local function name() return pick { "a", "b", "c", "d", "e" } end

local number, condition, block

function number(n)
  local k = n <= 0 and random(3) or random(9)
  if k <= 2 then return name() end
  if k == 3 then return tostring(random(0, 4)) end
  if k == 4 then return "(" .. number(n - 1) .. " + " .. number(n - 1) .. ")" end
  if k == 5 then return "(" .. number(n - 1) .. " - " .. number(n - 1) .. ")" end
  if k == 6 then return number(n - 1) .. " % " .. random(2, 5) end
  if k == 7 then return "(" .. condition(n - 1) .. " and " .. number(n - 1) .. " or " .. number(n - 1) .. ")" end
  if k == 8 then return "-" .. number(0) end
  return number(n - 1) .. " * 2"
end

function condition(n)
  local k = n <= 0 and 1 or random(6)
  if k == 4 then return "not (" .. condition(n - 1) .. ")" end
  if k == 5 then return "(" .. condition(n - 1) .. " and " .. condition(n - 1) .. ")" end
  if k == 6 then return "(" .. condition(n - 1) .. " or " .. condition(n - 1) .. ")" end
  return number(n - 1) .. pick { " < ", " <= ", " > ", " >= ", " == ", " ~= " } .. number(n - 1)
end

local function assign() put(name(), "=", number(2)) end
-- Only here: Lua reads the local in `a + f()` before or after f changes it, as it likes.
local function call()
  if #functions == 0 then return assign() end
  put(chance(30) and "local " or "", name(), "= (" .. pick(functions) .. "(" .. number(1) .. ", " .. number(1) .. "))")
end
local function declare() put("local", name(), "=", number(2)) end

local statements = {
  assign, assign, assign, declare, declare, call, call,
  function() put("local", name() .. ", " .. name(), "=", number(1) .. ", " .. number(2)) end,
  function() put(name() .. ", " .. name(), "=", number(1) .. ", " .. number(2)) end,
  function() put("out(" .. number(2) .. ")") end,
  function() put("do") block(random(3)) put("end") end,
  function()
    put("if", condition(2), "then")
    block(random(3))
    for _ = 1, random(0, 2) do put("elseif", condition(1), "then") block(random(2)) end
    if chance(60) then put("else") block(random(2)) end
    put("end")
  end,
  function() put("if", condition(2), "then") block(random(2)) put("end") end,
  function() put("while", condition(2), "do tick()") block(random(3), "loop") put("end") end,
  function() put("while true do tick()") block(random(3), "loop") put("if", condition(1), "then break end end") end,
  function() put("repeat tick()") block(random(3), "loop") put("until", condition(1)) end,
  function()
    put("for", name(), "= 1, " .. pick { "2", "3", "3", number(1) .. " % 4" }, chance(20) and ", 2" or "", "do tick()")
    block(random(4), "loop")
    put("end")
  end,
  function() if in_loop > 0 then put("if", condition(1), "then break end") else assign() end end,
  function() if in_loop > 0 then put("if", condition(1), "then") block(random(2)) put("break end") else assign() end end,
  function() if in_loop > 0 and chance(40) then put("break") else assign() end end,
  function() put("if", condition(1), "then return", number(1), "end") end,
  function() if chance(20) then put("do return", number(1), "end") else assign() end end,
  function()
    n_labels = n_labels + 1
    local label = "l" .. n_labels
    put("do")
    open_labels[#open_labels + 1] = label
    block(random(2))
    put("if", condition(1), "then")
    block(random(0, 1))
    put("goto", label, "end")
    block(random(3))
    open_labels[#open_labels] = nil
    if chance(50) then
      put("::" .. label .. ":: end")
    else -- no locals on the way
      local text = table.concat(buffer, " ")
      put("end ::" .. label .. "::")
      if not load(text .. " end ::" .. label .. ":: end end end end end end end end end end end end") then
        put("")
      end
      assign()
    end
  end,
  function() if #open_labels > 0 then put("if", condition(1), "then goto", pick(open_labels), "end") else assign() end end,
  function() if #open_labels > 0 and chance(50) then put("goto", pick(open_labels)) else assign() end end,
  function()
    if depth > 3 then return assign() end
    local loop, open, known = in_loop, open_labels, functions
    local f = "f" .. #functions
    functions = { table.unpack(known) }
    in_loop, open_labels = 0, {}
    depth = depth + 1
    put("local function", f, "(" .. name() .. ", " .. name() .. ")")
    block(random(3))
    put("return", number(1), "end")
    depth = depth - 1
    in_loop, open_labels, functions = loop, open, known
    functions[#functions + 1] = f
  end,
}

function block(n, kind)
  depth = depth + 1
  in_loop = in_loop + (kind == "loop" and 1 or 0)
  local known = functions
  functions = { table.unpack(known) }
  for _ = 1, n do
    if depth > 6 then assign() else statements[random(#statements)]() end
    put(" ")
  end
  functions = known
  in_loop = in_loop - (kind == "loop" and 1 or 0)
  depth = depth - 1
end

local function generate()
  buffer, depth, in_loop, n_labels, open_labels, functions = {}, 0, 0, 0, {}, {}
  put("return function(out, tick, a, b) local c, d, e = 2, a, 0\n")
  block(random(3, 8))
  put("\nout(a) out(b) out(c) out(d) out(e) return a end")
  return table.concat(buffer, " ")
end

-- {====== Running ======

local function run(f, log, args, active, value)
  local fuel = 60
  local function out(x)
    if active() then
      log[#log + 1] = tostring(value(x))
    end
  end
  local function tick()
    if active() then
      fuel = fuel - 1
      if fuel < 0 then error("out of fuel", 0) end
    end
  end
  debug.sethook(function() error("too many instructions", 0) end, "", 300000)
  local passed, x = pcall(f, out, tick, table.unpack(args))
  debug.sethook()
  log[#log + 1] = passed and "returned " .. tostring(x) or "failed " .. tostring(x)
  return passed, x
end

local function always() return true end
local function same(x) return x end

local n_valid, n_compared, n_refused, n_wrong = 0, 0, 0, 0

local function check(text, i)
  local f = load(text, "=random")
  if not f then return end
  n_valid = n_valid + 1
  f = f()
  for _, numbers in ipairs { { 0, 1 }, { 3, 2 }, { 5, -1 }, { 1, 4 } } do
    local want, got = {}, {}
    if not run(f, want, numbers, always, same) then return end
    local R, sym, active, stats, value = lane.new()
    local g, message, wrapper = static.convert(f, text, R, 1, false)
    if not g then
      if not (message:find("overflow") or message:find("too many")) then error(message) end
      return
    end
    local symbols = { sym(numbers[1]), sym(numbers[2]) }
    local passed, x = run(g, got, symbols, active, value)
    if not passed and (x:find("refused:", 1, true) or x:find("too many instructions", 1, true)) then
      n_refused = n_refused + 1
      return
    end
    if passed then got[#got] = "returned " .. tostring(value(x)) end
    n_compared = n_compared + 1
    local n, dead, gone = stats()
    local left = passed and (n > 0 or dead or gone) and "state left behind" or ""
    want, got = table.concat(want, " "), table.concat(got, " ")
    if want ~= got or left ~= "" then
      n_wrong = n_wrong + 1
      if n_wrong <= 3 then
        print((("# program %d of seed %d %s\nwant: %s\ngot: %s\n%s\n%s"):format(i, seed, left, want, got, text,
          wrapper):gsub("\n", "\n# ")))
      end
      return
    end
  end
end

for i = 1, n_programs do
  math.randomseed(seed, i)
  check(generate(), i)
end
ok(n_compared > n_programs / 3, ("%d programs, %d valid, %d refused"):format(n_programs, n_valid, n_refused))
ok(n_wrong == 0, ("the lane agrees with Lua in %d runs"):format(n_compared))
