-- fuzz_c.lua: random kernels of explicit types (8 to 64 bits, f16 to f64): mixed, cast, folded; with loops up to
-- the ends of their types, divergent flow, barriers, shared memory, shuffles, votes, atomics, reductions and scans.
-- Each program is written twice, as a kernel and as C. The system's compiler makes the reference from the C of many
-- programs at a time. All results must have the same bits; any NaN equals any other.
--   cuttle scripts/fuzz_c.lua [PROGRAMS [SEED [JOBS]]]      prints TAP; a difference with its program
--   cuttle scripts/fuzz_c.lua show NUMBER [SEED]            prints a program and its reference
-- JOBS processes share the programs. CUTTLE_DEVICE names the device, CUTTLE_ISA the instructions of the CPU engine,
-- CC the compiler: clang compiles the references in half the time that gcc takes.
local tap = dofile "tests/support/tap.lua"
local ct = require "cuttle"
local folder = debug.getinfo(1, "S").source:match "^@(.*/)" or ""
local function part(name, ...) return assert(loadfile(folder .. "fuzz_c/" .. name .. ".lua"))(...) end
local types = part "types"
local numbers = part "numbers"
local expressions = part("expressions", types, numbers)
local program = part("program", types, numbers, expressions)
local reference = part "reference"

local BATCH <const> = 100       -- programs that are compiled together
local shows = arg[1] == "show"
local n_programs = tonumber(shows and arg[2] or arg[1] or 300)
local seed = tonumber(shows and arg[3] or arg[2] or 1)
local n_jobs = tonumber(not shows and arg[3] or 1)
local job = tonumber(not shows and arg[4] or 0)      -- of a process that another started: its number

local function generate(number)
  math.randomseed(seed, number)
  return program.generate()
end

-- {====== Data ======

-- The elements that kernels read, the same for all programs: for each type a tensor, and C that fills an array.
local function make_data()
  local tensors, lines = {}, {}
  math.randomseed(7, 7)
  for _, t in ipairs(types.list) do
    local list = {}
    lines[#lines + 1] = ("static %s x_%s[%d];\n"):format(t.c, t.name, program.LOADS)
    lines[#lines + 1] = ("__attribute__((constructor)) static void fill_%s(void) {\n"):format(t.name)
    for i = 1, program.LOADS do
      list[i] = numbers.of(t)
      lines[#lines + 1] = ("x_%s[%d] = %s;\n"):format(t.name, i - 1, expressions.as({ n = list[i] }, t))
    end
    lines[#lines + 1] = "}\n"
    tensors[t] = ct.from_table(ct[t.name], list)
  end
  return tensors, table.concat(lines)
end

-- {====== Kernels ======

local where_to <const> = ct.device().sm and "cuda" or "cpu"

-- The tensors that the kernel writes, in the order in which the reference writes its own.
local function run_kernel(p, inputs)
  local f = assert(load(p.lua, "=program"))()
  local outputs, arguments = {}, {}
  for i, a in ipairs(p.arguments) do
    arguments[i] = ct[a.t.name](a.n)
  end
  for _, t in ipairs(p.types) do
    local out = ct.zeros(ct[t.name], p.block * p.grid * program.SLOTS)
    outputs[#outputs + 1] = { tensor = out, t = t }
    arguments[#arguments + 1] = inputs[t]
    arguments[#arguments + 1] = out
  end
  for _, t in ipairs(p.atomic_types) do
    local words = ct.zeros(ct[t.name], program.WORDS)
    outputs[#outputs + 1] = { tensor = words, t = t, is_atomic = true }
    arguments[#arguments + 1] = words
  end
  local k = ct.kernel("program", f, { contract = false })
  k { grid = p.grid, block = p.block }(table.unpack(arguments))
  return outputs
end

local function same(a, b)
  return a == b and (a ~= 0 or math.type(a) == "integer" or 1 / a == 1 / b) or (a ~= a and b ~= b)
end

-- How messages call the element i of an output.
local function place(out, i)
  if out.is_atomic then return ("a_%s[%d]"):format(out.t.name, i) end
  return ("g_%s[%d], thread %d, slot %d"):format(out.t.name, i, i // program.SLOTS, i % program.SLOTS)
end

-- What of the outputs differs from the reference's bytes at `at`, or nil; and where these end.
local function difference(outputs, bytes, at)
  local found
  for _, out in ipairs(outputs) do
    local got, letter = out.tensor:totable(), out.t.float and "d" or "i8"
    for i = 1, #got do
      local want = string.unpack(letter, bytes, at)
      at = at + 8
      if not found and not same(got[i], want) then
        found = ("%s: want %s, got %s"):format(place(out, i - 1), want, got[i])
      end
    end
  end
  return found, at
end

local function size_of(p)
  return 8 * (#p.types * p.block * p.grid * program.SLOTS + #p.atomic_types * program.WORDS)
end

-- {====== Batches ======

-- What a kernel cannot hold, by words of its message.
local refusals <const> = { "operations by here", "nest less deep", "unrolled", "max_unroll" }
local n_compared, n_refused, n_wrong, shown = 0, 0, 0, 0

local function report(p, message)
  n_wrong = n_wrong + 1
  print(("# program %d of seed %d: %s"):format(p.number, seed, message))
  shown = shown + 1
  if shown <= 2 then print("# " .. p.lua:gsub("\n", "\n# ")) end
end

local function is_refusal(message)
  for _, words in ipairs(refusals) do
    if message:find(words, 1, true) then return true end
  end
  return false
end

local function check(p, inputs, bytes, at)
  local ran, outputs = pcall(run_kernel, p, inputs)
  if ran then
    local wrong = difference(outputs, bytes, at)
    n_compared = n_compared + 1
    if wrong then report(p, wrong) end
  elseif is_refusal(outputs) then
    n_refused = n_refused + 1
  else
    report(p, outputs)
  end
  return at + size_of(p)
end

local function begin_batch(data, first, last)
  local programs, texts = {}, {}
  for number = first, last do
    local p = generate(number)
    p.number = number
    programs[#programs + 1], texts[#texts + 1] = p, p.c
  end
  return { programs = programs, wait = reference.start(data, texts) }
end

local function finish_batch(batch, inputs)
  local bytes, path = batch.wait()
  if not bytes then error(("the reference %s does not compile or run"):format(path), 0) end
  local at = 1
  for _, p in ipairs(batch.programs) do
    at = check(p, inputs, bytes, at)
  end
  if at ~= #bytes + 1 then error("the reference wrote something else than expected", 0) end
end

-- The next batch is compiled while one runs.
local function run(first, last)
  local tensors, data = make_data()
  for t, x in pairs(tensors) do tensors[t] = x:to(where_to) end
  local running
  for from = first, last, BATCH do
    local batch = begin_batch(data, from, math.min(from + BATCH - 1, last))
    if running then finish_batch(running, tensors) end
    running = batch
  end
  if running then finish_batch(running, tensors) end
end

-- {====== Processes ======

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- Starts this script once for each job, then adds up what they say.
local function run_jobs()
  local pipes = {}
  for i = 1, n_jobs do
    pipes[i] = assert(io.popen(("%s %s %d %d %d %d 2>&1"):format(quote(arg[-1]), quote(arg[0]),
      n_programs, seed, n_jobs, i)))
  end
  for i, pipe in ipairs(pipes) do
    local text = pipe:read "a"
    local compared, refused, wrong = text:match "compared (%d+) refused (%d+) wrong (%d+)\n$"
    if not compared then
      print("# job " .. i .. " ended early: " .. text:gsub("\n", "\n# "))
      compared, refused, wrong = 0, 0, 1
    else
      io.write((text:gsub("[^\n]*\n$", "")))
    end
    pipe:close()
    n_compared, n_refused, n_wrong = n_compared + compared, n_refused + refused, n_wrong + wrong
  end
end

if not reference.is_there() then
  tap.skip_all "no C compiler"
end
if shows then
  local p = generate(n_programs)
  print(p.lua)
  print(p.c)
  return
end
if job > 0 then
  run((job - 1) * n_programs // n_jobs + 1, job * n_programs // n_jobs)
  print(("compared %d refused %d wrong %d"):format(n_compared, n_refused, n_wrong))
  return
end
if n_jobs > 1 then
  run_jobs()
else
  run(1, n_programs)
end
tap.ok(n_compared > 0.9 * n_programs, ("%d random kernels of seed %d: %d compared, %d refused"):format(
  n_programs, seed, n_compared, n_refused))
tap.ok(n_wrong == 0, ("each gives what its C gives: %d differences"):format(n_wrong))
tap.done()
