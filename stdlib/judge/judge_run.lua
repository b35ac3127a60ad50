-- judge_run.lua: runs a candidate on cases, each kind of run in a state of its own: plainly, with
-- new data in the same memory; under check; counted, for the model; on a device, for the time. The
-- candidate cannot tell these apart: each state is asked the same of it in the same order. A
-- candidate is {text =, name =}, which runs apart, or {f =}, which runs here and is trusted.
local lists = require "cuttle.lists"
local devices = require "cuttle.profile_device"
local truth = require "cuttle.judge_truth"
local drawn = require "cuttle.judge_task"
local internal = ...
local M = {}

local MIB <const> = 1 << 20

-- What a candidate does not have: what is not a kernel of its own, and what only looks at kernels.
local never <const> = { "require", "package", "cuda", "ptx", "graph", "bench", "device", "devices",
  "tune", "profile", "timeline", "trace", "sum_order", "same_order", "mesh", "shard", "reshard",
  "peer_tensor", "tensor_at", "explain", "help", "apropos", "import" }
-- {====== States ======

local function names_without(allowed)
  local may, out = lists.set(allowed), table.move(never, 1, #never, 1, {})
  for _, name in ipairs(drawn.operators) do
    if not may[name] then out[#out + 1] = name end
  end
  return table.concat(out, " ")
end

local Apart = {}
Apart.__index = Apart

function Apart:call(name, ...) return self.state:call(name, self.seconds, ...) end
function Apart:write(i, t) self.state:write(i, t) end
function Apart:read(i, t) self.state:read(i, t) end
function Apart:close() self.state:close() end
Apart.__close = Apart.close

-- The same of a function in this state.
local Here = {}
Here.__index = Here

function Here:call(name, ...)
  if name == "load" then return true, self.driver.use(self.f) end
  local results = table.pack(pcall(self.driver[name], ...))
  if results[1] then return table.unpack(results, 1, results.n) end
  return false, "error", tostring(results[2])
end
function Here:write(i, t) internal.judge.copy(t, self.driver.tensor(i)) end
function Here:read(i, t) internal.judge.copy(self.driver.tensor(i), t) end
function Here:close() self.driver.begin() end
Here.__close = Here.close

local function bytes_of(case)
  local sum = 0
  for _, row in ipairs(case.rows) do
    if row.dtype then sum = sum + cosize(layout(row.layout)) * row.dtype.bytes end
  end
  return sum
end

-- A state for a candidate. options: {seconds = of a call, mib = memory beside the tensors}
local function open(task, candidate, case_bytes, options, device)
  if candidate.f then
    return setmetatable({ driver = require "cuttle.judge_driver", f = candidate.f }, Here)
  end
  local bytes = 4 * case_bytes + options.mib * MIB
  return setmetatable({ seconds = options.seconds,
    state = internal.judge.open(bytes, device or "cpu", names_without(task.allow)) }, Apart)
end

local function most_bytes(cases)
  local most = 0
  for _, case in ipairs(cases) do most = math.max(most, bytes_of(case)) end
  return most
end

-- {====== Steps ======

local MOST_TEXT <const> = 1000 -- bytes of a message that the candidate may have written

local is_operator = lists.set(drawn.operators)

-- What the rules of judge add to an error of the candidate.
local function hint_of(message)
  local name = message:match "a nil value %(global '([%w_]+)'%)"
  if is_operator[name] then
    return ("; a candidate may call %s only if its reference has allow = {\"%s\"}"):format(name,
      name)
  elseif message:find("on the host while a graph is recorded", 1, true) then
    return "; the candidate's function sees no data: compute in the kernels that it launches"
  end
  return ""
end

-- An error that the candidate did not pass on may still be one of memory.
local function trouble_of(kind, message)
  message = message:sub(1, MOST_TEXT):gsub("%c", " ")
  local is_memory = kind == "error" and message:find("not enough memory", 1, true)
  return { kind = is_memory and "memory" or kind, message = message .. hint_of(message) }
end

-- Calls the driver's function; nil, or what went wrong: {kind =, message =}.
local function step(state, name, ...)
  local ok, what, message = state:call(name, ...)
  if not ok then return trouble_of(what, message) end
  return what and trouble_of("error", what)
end

local function load_candidate(state, candidate)
  return step(state, "load", candidate.text, candidate.name)
end

-- Gives the case's arguments to the state. are_blank: nobody has written the outputs.
local function set_up(state, case, are_blank)
  local trouble = step(state, "begin")
  for _, row in ipairs(case.rows) do
    if trouble then return trouble end
    if row.dtype then
      trouble = step(state, "add", row.dtype.name, row.layout, are_blank and row.is_output)
    else
      trouble = step(state, "number", row.number)
    end
  end
  return trouble
end

-- Tensors here to read a case's tensors into.
local function mirrors(case)
  local out = {}
  for i, row in ipairs(case.rows) do
    if row.dtype then out[i] = tensor(row.dtype, row.layout) end
  end
  return out
end

-- Writes inputs, and poison number n to outputs without values of their own. `here`: mirrors.
local function write(state, case, data, here, n)
  for i, row in ipairs(case.rows) do
    if data.inputs[i] then
      state:write(i, data.inputs[i])
    elseif row.dtype and n then
      internal.judge.fill(here[i], truth.poison(row.dtype, n))
      state:write(i, here[i])
    end
  end
end

-- {====== Plain runs ======

-- Compares what one run left behind; adds what is wrong to `result`.
local function look(case, data, here, n, result)
  for i, row in ipairs(case.rows) do
    if row.is_output then
      local poison = truth.poison(row.dtype, n)
      local ok, n_wrong, why = truth.compare(row, here[i], data.outputs[i],
        not row.values and poison)
      if not ok then
        result.n_wrong = result.n_wrong + n_wrong
        result.wrong = result.wrong or why
      end
      if not row.values and not truth.gaps_are_whole(row, here[i], poison) then
        result.outside = result.outside or row.name .. " was written between its elements"
      end
    elseif row.dtype and internal.judge.bytes(here[i]) ~= internal.judge.bytes(data.inputs[i]) then
      result.outside = result.outside or ("the input %s was written"):format(row.name)
    end
  end
end

-- The tensor without the gaps between its elements.
local function dense(row, t)
  if cosize(t.layout) == row.size then return t end
  local out = tensor(row.dtype, layout(size(t)))
  copy(t, view(out, layout(t.shape)))
  return out
end

local function bits_of(case, here)
  local out = {}
  for i, row in ipairs(case.rows) do
    if row.is_output then out[#out + 1] = internal.judge.bytes(dense(row, here[i])) end
  end
  return table.concat(out)
end

-- Runs what was recorded with data number 1, 2 and 1 again, in the same memory.
local function play_case(state, case, result)
  local here, bits = mirrors(case), {}
  for n = 1, 3 do
    local data = case.data[(n - 1) % 2 + 1]
    write(state, case, data, here, n)
    local trouble = step(state, "play")
    if trouble then return trouble end
    for i in pairs(here) do state:read(i, here[i]) end
    look(case, data, here, n, result)
    bits[n] = bits_of(case, here)
  end
  if bits[1] ~= bits[3] then result.differs = true end
end

--- Runs the candidate on all cases. Returns a list of {n_wrong =, wrong =, outside =, differs =,
--- trouble =}, and what went wrong before any case, or nil.
function M.plain(task, candidate, cases, options, device)
  local state <close> = open(task, candidate, most_bytes(cases), options, device)
  local results, trouble = {}, load_candidate(state, candidate)
  if trouble then return results, trouble end
  for i, case in ipairs(cases) do
    local result = { n_wrong = 0 }
    result.trouble = set_up(state, case)
    if not result.trouble then
      result.trouble = step(state, "record")
      result.is_refused = result.trouble ~= nil
    end
    result.trouble = result.trouble or play_case(state, case, result)
    results[i] = result
    if result.trouble and result.trouble.kind ~= "error" then break end
  end
  return results
end

-- {====== Under check ======

-- Runs a case as a graph, as in M.plain, and then once more without one: a graph's memory counts as
-- written.
local function check_case(state, case)
  local here = mirrors(case)
  local trouble = set_up(state, case) or step(state, "record")
  if trouble then return trouble end
  write(state, case, case.data[1], here, 1)
  trouble = step(state, "play") or set_up(state, case, true)
  if trouble then return trouble end
  write(state, case, case.data[1], here)
  return step(state, "call")
end

--- What check finds: the findings, what went wrong, how many launches, the cooperative ones, and
--- whether there may be more.
function M.check(task, candidate, cases, options)
  local state <close> = open(task, candidate, most_bytes(cases), options)
  local trouble = step(state, "check_begin", { orders = options.orders, seed = options.seed,
    sm = options.device.sm })
  trouble = trouble or load_candidate(state, candidate)
  for _, case in ipairs(cases) do
    if trouble and trouble.kind ~= "error" then break end
    local own = check_case(state, case)
    trouble = trouble or own
  end
  local ok, findings, launches, cooperative, is_partial = state:call("check_end")
  if not ok then return {}, trouble or trouble_of(findings, launches), 0, {}, true end
  return findings, trouble, launches, cooperative, is_partial
end

-- {====== Counts ======

--- What profile counts of the launches of one case; nil and what went wrong.
function M.count(task, candidate, case, options)
  local state <close> = open(task, candidate, bytes_of(case), options)
  local trouble = step(state, "profile_begin", options.device.sm)
  trouble = trouble or load_candidate(state, candidate) or set_up(state, case)
    or step(state, "record")
  if trouble then return nil, trouble end
  write(state, case, { inputs = drawn.inputs(task, case, options.seed) }, mirrors(case), 1)
  trouble = step(state, "play")
  if trouble then return nil, trouble end
  local ok, programs, message = state:call("profile_end")
  if not ok then return nil, trouble_of(programs, message) end
  return programs
end

-- {====== Times ======

local TIMES <const> = 5
local COLD_CACHES <const> = 2 -- so many times the device's L2

local function cold_bytes(device)
  return device == "cpu" and 1 or COLD_CACHES * math.tointeger(devices.find(nil, 90).l2_mb) * MIB
end

-- Milliseconds of one run on new data, with new poison and a cold cache; nil and what went wrong.
local function time_once(state, task, case, here, n, device, seed)
  write(state, case, { inputs = drawn.inputs(task, case, seed + n) }, here, n)
  local trouble = step(state, "cool", cold_bytes(device))
  if trouble then return nil, trouble end
  local ok, ms, message = state:call "time"
  if not ok then return nil, trouble_of(ms, message) end
  return ms
end

-- Does it leave the same outputs, whatever they held before? It runs on the same data with other
-- poison. nil and what went wrong.
local function writes_outputs(state, task, case, here, seed)
  local bits = {}
  for n = 1, 2 do
    write(state, case, { inputs = drawn.inputs(task, case, seed) }, here, n)
    local trouble = step(state, "play")
    if trouble then return nil, trouble end
    for i in pairs(here) do state:read(i, here[i]) end
    bits[n] = bits_of(case, here)
  end
  return bits[1] == bits[2]
end

--- The median of the milliseconds of a case on a device, each run with new data; or nil and what
--- went wrong.
function M.time(task, candidate, case, options, device)
  local state <close> = open(task, candidate, bytes_of(case), options, device)
  local trouble = load_candidate(state, candidate) or set_up(state, case) or step(state, "record")
  if trouble then return nil, trouble end
  local here, times = mirrors(case), {}
  local writes, why = writes_outputs(state, task, case, here, options.seed)
  if not writes then
    return nil, why or { kind = "error", message = "what it leaves depends on what was there" }
  end
  for n = 1, TIMES do
    times[n], trouble = time_once(state, task, case, here, n, device, options.seed)
    if trouble then return nil, trouble end
  end
  table.sort(times)
  return times[(TIMES + 1) // 2]
end

return M
