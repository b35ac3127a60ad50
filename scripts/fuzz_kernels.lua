-- fuzz_kernels.lua: random kernels against plain Lua. Each program is a function over tensors and numbers,
-- made by a grammar from every kind of control flow, with operations of lanes under conditions. It runs as a
-- kernel on the current device, and as it is, by plain Lua, once for each thread. Integers stay small and floats
-- are multiples of 1/64 below 2^18, so that both compute exactly.
--   cuttle scripts/fuzz_kernels.lua [PROGRAMS [SEED]]      prints TAP; a difference with its program
io.stdout:setvbuf "line"
local tap = dofile "tests/support/tap.lua"
local folder = debug.getinfo(1, "S").source:match "^@(.*/)" or ""
local function part(name, ...) return assert(loadfile(folder .. "fuzz_kernels/" .. name .. ".lua"))(...) end
local n_programs = tonumber(arg[1] or 300)
local seed = tonumber(arg[2] or 1)
local GRID <const>, BLOCK <const> = 2, 4
local THREADS <const> = GRID * BLOCK
local SLOTS <const> = 4 -- elements of `ints` and `floats` that belong to a thread

local writer = part "writer"
local expressions = part("expressions", writer)
local simple = part("simple", writer, expressions)
local records = part("records", writer, expressions, simple)
local callbacks = part("callbacks", writer, expressions, simple)
local statements = part("statements", writer, expressions, simple, records, callbacks)
local lanes_together = part("lanes", writer, expressions, simple)
local program = part("program", writer, records, statements, lanes_together)
local plain = part("plain", GRID, BLOCK)
local assigned = part "assigned"

-- What a kernel cannot express, by words of its message.
local refusals = {
  "change with it in the next iteration", "which may be this one", "made by the kernel", "the kernel did not make",
  "has no value on some path", "right side of 'and'", "locals without a first value",
  "unrolled", "no exit", "nest less deep", "to be traced", "is changed under a run-time condition",
  "is indexed by a run-time value", "changes Lua state", "a coroutine is resumed under",
  "coroutine.yield inside a run-time", "jumps back under a run-time condition",
  "assigned by an inner function", "is read in this loop before an inner function",
  "operations by here", "has found one more table",
}

local function refusal(message)
  for _, words in ipairs(refusals) do
    if message:find(words, 1, true) then
      return words
    end
  end
end

local int_data <const>, real_data <const> = { 0, 3, 5, 1, 2, -4, 7, 96 }, { 0.5, -1.25, 2, 7.75, 0, 3, -8, 31.5 }
local matrix_data <const> = { 1, 2, -1, 4, 2, 3, 0, 50 }
local x, y, m = from_table(i32, int_data), from_table(f32, real_data), from_table(i32, matrix_data, layout({ 4, 2 }))
local where_to = device().sm and "cuda" or "cpu"
x, y, m = x:to(where_to), y:to(where_to), m:to(where_to)

local function zeros_table()
  local t = {}
  for i = 1, THREADS * SLOTS do t[i] = 0 end
  return t
end

local n_compared, n_refused, n_wrong, n_invalid, reasons = 0, 0, 0, 0, {}

local function report(text, number, message)
  n_wrong = n_wrong + 1
  if n_wrong <= 5 then
    print(("# program %d of seed %d: %s"):format(number, seed, message))
    print("# " .. text:gsub("\n", "\n# "))
  end
end

local function compare(text, number, want, got)
  for i = 1, THREADS * SLOTS do
    if want[i] ~= got[i] then
      report(text, number, ("thread %d, element %d: want %s, got %s"):format((i - 1) // SLOTS, (i - 1) % SLOTS,
        want[i], got[i]))
      return false
    end
  end
  return true
end

local function check(text, number)
  local f, syntax = load(text, "=program")
  if not f then
    n_invalid = n_invalid + 1
    if not syntax:find("jumps into the scope", 1, true) then report(text, number, syntax) end
    return
  end
  local want_ints, want_floats = zeros_table(), zeros_table()
  local good, why = pcall(plain.run, text, int_data, real_data, matrix_data, want_ints, want_floats, 5)
  if not good then return report(text, number, "plain Lua: " .. why) end
  local ints, floats = zeros(i32, THREADS * SLOTS), zeros(f32, THREADS * SLOTS)
  local k = kernel("program", f())
  local passed, message = pcall(function() k { grid = GRID, block = BLOCK }(x, y, m, ints, floats, 5) end)
  if not passed then
    local reason = refusal(message)
    if not reason then return report(text, number, message) end
    n_refused = n_refused + 1
    reasons[reason] = (reasons[reason] or 0) + 1
    return
  end
  n_compared = n_compared + 1
  local unset = assigned.unassigned(k { grid = GRID, block = BLOCK }:ir(x, y, m, ints, floats, 5))
  if unset then return report(text, number, "a variable without a value on some path: " .. unset) end
  if compare(text, number, want_ints, ints:totable()) then
    compare(text, number, want_floats, floats:totable())
  end
end

for i = 1, n_programs do
  math.randomseed(seed, i)
  check(program.generate(), i)
end

for reason, n in pairs(reasons) do
  print(("# refused: %d, %s"):format(n, reason))
end
tap.ok(n_compared > 0.7 * n_programs,
  ("%d random kernels of seed %d: %d compared, %d refused, %d no Lua"):format(n_programs, seed, n_compared, n_refused,
    n_invalid))
tap.ok(n_wrong == 0, ("each gives what plain Lua gives: %d differences"):format(n_wrong))
tap.done()
