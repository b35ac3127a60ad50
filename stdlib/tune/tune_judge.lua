-- tune_judge.lua: what is found out about candidates: whether they run, compute what the others do
-- and spill registers, how long they take on a GPU, and what the model says of them without one.
-- A candidate has `config` and `text`, and gets
--   run     what f(config) returned
--   why     why it was refused, or nil
--   registers, local_bytes, shared_bytes   of its largest kernel, where a GPU told
--   ms      of one call
local compare = require "cuttle.compare"
local lists = require "cuttle.lists"
local machine_code = require "cuttle.cubin"
local model = require "cuttle.predict"
local race = require "cuttle.race"
local tiles = require "cuttle.tiles"
local internal = ...
local M = {}

local SPILL_BYTES <const> = 128 -- of a thread, more than the candidate with the least
local GRAPH_MS <const>, GRAPH_LAUNCHES <const> = 0.2, 50
local MOST_REPS <const> = 5000

-- The message of an error without the place, which is the same for all.
local function brief(message)
  return (tostring(message):gsub("^[^\n]-:%d+: ", ""):match "^[^\n]*")
end
M.brief = brief

-- {====== Making ======

local function is_callable(x)
  if type(x) == "function" or tiles.type_name(x) == "launch configuration" then return true end
  local meta = type(x) == "table" and getmetatable(x)
  return type(meta) == "table" and meta.__call ~= nil
end

--- What f makes of the candidate's configuration, once; nil and why.
function M.make(candidate, f)
  if candidate.run then return candidate.run end
  local ok, run = pcall(f, candidate.config)
  if not ok then return nil, brief(run) end
  if not is_callable(run) then
    return nil, ("f(config) returned a %s; a function of the arguments or k{grid = ..., "
      .. "block = ...} was expected"):format(tiles.type_name(run))
  end
  candidate.run = run
  return run
end

-- {====== Comparing ======

local same -- (a, b, tolerance): true; or false and what differs

local function same_tables(a, b, tolerance)
  for key, value in pairs(a) do
    local ok, why = same(value, b[key], tolerance)
    if not ok then return false, why end
  end
  return true
end

-- The words of a tensor on a device whose elements lie together; nil: they do not.
local function words_of(t)
  local n = size(t) * t.dtype.bytes
  if t.device == "cpu" or size(t) ~= cosize(t.layout) or n % 4 ~= 0 or n >= 1 << 32 then
    return nil
  end
  return recast(view(t, layout(size(t))), u32)
end

local differ = kernel("tune_differ", function(a, b, found)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(a) then
    if a[i] ~= b[i] then found[0] = 1 end
  end
end)

-- Have they the same bits? Found out on the device, where that can be; false: they may.
local function has_same_bits(a, b)
  local x, y = words_of(a), words_of(b)
  if not x or not y then return false end
  local found = zeros(i32, 1)
  differ { grid = (size(x) + 255) // 256, block = 256 }(x, y, found)
  return found[0] == 0
end

function same(a, b, tolerance)
  if tiles.type_name(a) == "tensor" then
    if has_same_bits(a, b) then return true end
    return allclose(b, a, tolerance)
  end
  if type(a) == "table" then return same_tables(a, b, tolerance) end
  return true
end

-- Does allclose compare integers of this type as they are?
local function is_exact(dtype, tolerance)
  local t = tolerance or {}
  return not dtype.is_float and (t.rtol or 0) == 0 and (t.atol or 0) == 0
end

-- Where texts are collected: adds those that comparing such tensors takes. b: a copy of a.
local function collect_comparison(a, b, tolerance)
  if tiles.type_name(a) == "tensor" and a.device ~= "cpu" then
    has_same_bits(a, b)
    compare.collect(a, b, is_exact(a.dtype, tolerance))
  elseif type(a) == "table" then
    for key, value in pairs(a) do collect_comparison(value, b[key], tolerance) end
  end
end

-- {====== Compiling ======

-- Launches add the texts of their kernels, and nothing runs. So what f reads of results is what was
-- there before.
local function collect(judge, list)
  local args = judge.args
  local work = table.pack(clone(table.unpack(args, 1, args.n)))
  for _, candidate in ipairs(list) do
    local run = M.make(candidate, judge.f)
    if run then pcall(run, table.unpack(work, 1, work.n)) end
  end
  pcall(collect_comparison, args, work, judge.tolerance)
end

-- A function of how many of n are done, which takes a step for each: may it go on?
local function done_of(n, step)
  local stepped, may_go_on = 0, true
  return function(n_done)
    while may_go_on and stepped < math.min(n_done, n) do
      may_go_on, stepped = step(), stepped + 1
    end
    return may_go_on
  end
end

--- Compiles the kernels of all candidates at once, in processes, into the disk cache. What does not
--- compile says so when it is run. False: it was stopped.
function M.compile_all(judge, list, step)
  local texts <close> = internal.launch.collect()
  collect(judge, list)
  local on_done = done_of(#list, step)
  texts:compile(on_done)
  collectgarbage()
  return on_done(#list)
end

-- {====== Results ======

local function has_closed(value)
  if tiles.type_name(value) == "tensor" then return value.device == nil end
  for _, x in pairs(type(value) == "table" and value or {}) do
    if has_closed(x) then return true end
  end
  return false
end

-- Runs a candidate on copies of the arguments: these afterwards, with what was written; nil and
-- why.
local function run_on_copies(run, args, copy)
  local work = table.pack(copy(table.unpack(args, 1, args.n)))
  local ok, why = pcall(run, table.unpack(work, 1, work.n))
  if ok then ok, why = pcall(synchronize) end
  if not ok then return nil, brief(why) end
  if has_closed(work) then return nil, "it closes a tensor of the arguments" end
  return work
end

-- The first one that runs says what is right, unless a reference does.
local function is_right(judge, work)
  if not judge.want then
    judge.want = work
    return true
  end
  return same(judge.want, work, judge.tolerance)
end

-- Runs a candidate: the arguments afterwards; nil and why.
local function play(judge, candidate, copy)
  local run, why = M.make(candidate, judge.f)
  if not run then return nil, why end
  return run_on_copies(run, judge.args, copy)
end

-- Is it right? From what `play` returned.
local function settle(judge, candidate, work, why)
  if work then
    local ok, what = is_right(judge, work)
    why = not ok and "other results: " .. what or nil
  end
  candidate.why = why
  return why == nil
end

--- What this candidate computes is right, to the bit, if it is what the reference computes. false
--- and why: it does not run, or is not.
function M.set_right(judge, candidate, copy)
  local run, why = M.make(candidate, judge.f)
  local work
  if run then work, why = run_on_copies(run, judge.args, copy) end
  if not work then return false, why end
  local ok, what = is_right(judge, work)
  if not ok then return false, "other results than the reference: " .. what end
  judge.want, judge.tolerance = work, { rtol = 0, atol = 0 }
  return true
end

--- How candidates are to be judged: {f =, args =, tolerance =, reference =}.
function M.new(judge)
  if judge.reference then
    local work, why = run_on_copies(judge.reference, judge.args, clone)
    if not work then tiles.fail("tune", "the reference fails: %s", why) end
    judge.want = work
  end
  judge.runs = 0
  return judge
end

-- {====== Facts ======

local function take_facts(candidate, rows)
  for _, row in ipairs(rows) do
    for _, name in ipairs { "registers", "local_bytes", "shared_bytes" } do
      candidate[name] = math.max(candidate[name] or 0, row[name] or 0)
    end
  end
end

-- Runs f() and lists its launches: no list where somebody else times them. Then its results.
local function with_launches(f)
  local ok, session = pcall(internal.launch.time_launches)
  if not ok then return {}, f() end
  local result, why = f()
  local rows = session:finish()
  session:close()
  return rows, result, why
end

-- Refuses those that spill while others do not.
local function drop_spilling(list)
  local least, left = math.huge, {}
  for _, candidate in ipairs(list) do least = math.min(least, candidate.local_bytes or 0) end
  for _, candidate in ipairs(list) do
    local bytes = candidate.local_bytes or 0
    if bytes > least + SPILL_BYTES then
      candidate.why = ("%d registers are not enough: %d bytes of each thread are in local memory")
        :format(candidate.registers, bytes)
    else
      left[#left + 1] = candidate
    end
  end
  return left
end

-- {====== Times ======

-- One function that launches the candidate n times, by a graph if what it does can be recorded.
local function launcher_of(run, work, once)
  local function launch() run(table.unpack(work, 1, work.n)) end
  local n = math.max(1, math.min(GRAPH_LAUNCHES, GRAPH_MS // once))
  local ok, graph = pcall(graph, function()
    for _ = 1, n do launch() end
  end)
  if ok then return graph, n end
  return launch, 1
end

local function start(judge, candidate, work)
  local run = candidate.run
  local function launch() run(table.unpack(work, 1, work.n)) end
  local once = math.max(internal.launch.bench_measure(launch, { batches = 1, reps = 1 }), 1e-4)
  judge.runs = judge.runs + 3
  candidate.launch, candidate.n_launches = launcher_of(run, work, once)
  candidate.once = once
end

-- Milliseconds of one call, from a batch that takes about so long.
local function time(judge, candidate, work, batch_ms)
  if not candidate.launch then start(judge, candidate, work) end
  local n = candidate.n_launches
  local reps = math.max(1, math.min(MOST_REPS, batch_ms // (candidate.once * n)))
  local options = { batches = 1, reps = math.tointeger(reps) }
  local ms = internal.launch.bench_measure(candidate.launch, options) / n
  judge.runs = judge.runs + (math.tointeger(reps) + 2) * n
  candidate.once = math.max(ms, 1e-4)
  return ms
end

local function finish(list)
  for _, candidate in ipairs(list) do
    local launch = candidate.launch
    if type(launch) == "userdata" then launch:close() end
    candidate.launch, candidate.n_launches, candidate.once = nil, nil, nil
  end
end

--- Those of the list that run and are right, checked on the GPU; false at the end if it was
--- stopped.
function M.check_all(judge, list, step)
  local left, may_go_on = {}, true
  for _, candidate in ipairs(list) do
    candidate.why, candidate.registers, candidate.local_bytes = nil, nil, nil
    local rows, work, why = with_launches(function()
      return play(judge, candidate, clone)
    end)
    judge.runs = judge.runs + 1
    take_facts(candidate, rows)
    if settle(judge, candidate, work, why) then left[#left + 1] = candidate end
    work = nil -- luacheck: ignore 311 -- what it holds is garbage now
    collectgarbage() -- copies on the device
    may_go_on = step()
    if not may_go_on then break end
  end
  return drop_spilling(left), may_go_on
end

--- The fastest of a list that was checked, and whether the race was run to its end.
function M.race(judge, list, step)
  local args = judge.args
  local work = table.pack(clone(table.unpack(args, 1, args.n)))
  local best, is_done = race.run(list, function(candidate, batch_ms)
    return time(judge, candidate, work, batch_ms)
  end, step)
  finish(list)
  collectgarbage()
  return best, is_done
end

-- {====== The model ======

-- Is there a compiler that tells of registers? A machine without one, and a sandbox, predict
-- without.
local can_compile

local function has_compiler()
  if can_compile == nil then
    local empty = 'extern "C" __global__ void empty() {}'
    can_compile = machine_code.resources_of(empty, 90, "empty", {}) ~= nil
  end
  return can_compile
end

-- What the model needs of a candidate's run; nil and why.
local function count_work(judge, candidate, copies)
  local run, why = M.make(candidate, judge.f)
  if not run then return nil, why end
  local ok, played, trouble = pcall(model.play, function()
    run(table.unpack(copies, 1, copies.n))
  end, judge.device)
  if not ok then return nil, brief(played) end
  return played, trouble and brief(trouble)
end

-- The same of all candidates, by candidate; and whether they were all run.
local function count_all(judge, list, step)
  local args, played = judge.args, {}
  local copies = table.pack(internal.launch.copies(table.unpack(args, 1, args.n)))
  for i, candidate in ipairs(list) do
    candidate.predicted_ms = nil
    played[candidate], candidate.why = count_work(judge, candidate, copies)
    if not step() and i < #list then return played, false end
  end
  return played, true
end

-- Compiles what they launch. False: it was stopped.
local function compile_played(list, played, step)
  local all, on_done = {}, done_of(#list, step)
  for _, candidate in ipairs(list) do all[#all + 1] = played[candidate] end
  model.compile(all, on_done)
  return on_done(#list)
end

-- Sets the time by the model, or why there is none.
local function predict(candidate, played, options)
  local ok, result, why = pcall(model.of, played, options)
  if ok and result then
    candidate.predicted_ms = result.ms
  else
    candidate.why = brief(ok and why or result)
  end
end

-- Those with a prediction, the fastest first.
local function ranked(list)
  local out = lists.filter(list, function(candidate) return candidate.predicted_ms end)
  table.sort(out, lists.by("predicted_ms", "text"))
  return out
end

--- The candidates that the model knows a time for, the fastest first; and whether it has seen them
--- all. Where it was stopped, it does without registers. Tensors lie on the host meanwhile, and the
--- CPU engine is the device.
function M.predict_all(judge, list, step)
  local played, is_done = count_all(judge, list, step)
  local may_compile = is_done and has_compiler()
  if may_compile then is_done = compile_played(list, played, step) end
  for _, candidate in ipairs(list) do
    if played[candidate] then
      predict(candidate, played[candidate], { compile = may_compile and is_done })
    end
  end
  return ranked(list), is_done
end

--- How many steps that takes.
function M.predict_steps(n) return 2 * n end

--- The first of a ranked list that computes what the first of the space does.
function M.first_right(judge, list, first)
  if not judge.want then
    local why = first.why -- of the model: the CPU engine may still run it
    settle(judge, first, play(judge, first, internal.launch.copies))
    first.why = why or first.why
  end
  for _, candidate in ipairs(list) do
    local work, why = play(judge, candidate, internal.launch.copies)
    if settle(judge, candidate, work, why) then return candidate end
  end
end

return M
