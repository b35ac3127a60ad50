-- mcp_answer.lua: answers one request of `cuttle mcp`, in a process of its own and in a sandbox:
-- the state has no files. The module is a function of the request, as JSON, that gives the answer,
-- as JSON. A request is {tool =, arguments =}; mcp_tools.lua describes both. An answer is
--   text       what is shown
--   data       the same as data, for programs
--   files      {{name =, type =, text =}}: what is too long to be shown, such as a picture
--   is_error   the tool could not do what it was asked
local ct = require "cuttle"
local internal = ...
local json = require "cuttle.json"
local lists = require "cuttle.lists"
local library = require "cuttle.lua_library"
local restore_library <const> = library.restore -- a script may change that, too
local script_error = require "cuttle.script_error"

local tools = {}

-- {====== Scripts ======

-- An error that is an answer.
local function refuse(format, ...) error({ refusal = format:format(...) }, 0) end

local function name_of(a) return a.name or "script.lua" end

local function chunk_of(a)
  library.guard(a.script)
  local chunk, why = load(a.script, "@" .. name_of(a), "t")
  if not chunk then return nil, why end
  return chunk
end

-- pcall, whose errors read as those of the program.
local function call(f, ...)
  local function ended(_, ...)
    restore_library()
    return ...
  end
  return ended(internal.host.call_script(f, ...))
end

-- Adds how a script ended, if that was with an error.
local function add_outcome(a, answer, ok, what)
  if ok then return answer end
  local text = script_error.text(what)
  answer.data = answer.data or {}
  answer.data.error, answer.is_error = script_error.of(text, a.script), true
  answer.text = (answer.text or "") .. (answer.text and "\n" or "") .. text
  return answer
end

-- Runs the request's script as work(chunk, arguments) does, which gives an answer and the outcome.
local function with_script(a, work)
  local chunk, why = chunk_of(a)
  if not chunk then return add_outcome(a, {}, false, why) end
  rawset(_G, "arg", table.move(a.arguments or {}, 1, #(a.arguments or {}), 1, { [0] = name_of(a) }))
  internal.launch.bench_by(internal.launch.bench_once)
  return add_outcome(a, work(chunk, table.unpack(a.arguments or {})))
end

local function line_of(a, number)
  local n = 0
  for line in (a.script .. "\n"):gmatch "(.-)\r?\n" do
    n = n + 1
    if n == number then return line:match "^%s*(.-)%s*$" end
  end
end

-- {====== Tools ======

-- What it prints reaches the server in another way. Under emit that is CUDA C.
function tools.run(a)
  return with_script(a, function(chunk, ...) return {}, call(chunk, ...) end)
end

tools.emit = tools.run

-- The fields of a finding that say something to who mends it.
local finding_fields <const> = { "id", "kind", "message", "kernel", "line", "other_line", "buffer",
                                 "count", "thread", "block", "rank", "schedule" }

local function plain_finding(a, f)
  local row, plain = require("cuttle.findings").of[f.kind], {}
  for _, name in ipairs(finding_fields) do plain[name] = f[name] end
  plain.file, plain.source = f.chunk, line_of(a, f.line)
  plain.rule, plain.remedy = row and row.rule, row and row.remedy
  plain.edit = script_error.finding_edit(f, a.script)
  return plain
end

local function read_gates(a)
  local gates = {}
  require("cuttle.gates").parse(a.gate, refuse, gates)
  return gates
end

-- The findings of the gates, of a second run of the script.
local function judge_gates(a, gates, findings, ...)
  local chunk = chunk_of(a)
  local profiled = require("cuttle.profile").run(chunk, { device = a.device, sm = a.sm,
    call = call }, ...)
  local found = require("cuttle.gates").judge(gates, profiled)
  table.move(found, 1, #found, #findings + 1, findings)
end

function tools.check(a)
  local check = require "cuttle.check"
  local gates = a.gate and read_gates(a)
  return with_script(a, function(chunk, ...)
    local findings, launches, ok, what = check.run(chunk, {
      nan = a.nan, overflow = a.overflow, global = a.global, device = a.device,
      orders = a.schedules, preemptions = a.preemptions, needless = a.needless,
      call = call }, ...)
    if gates and ok then judge_gates(a, gates, findings, ...) end
    local list = lists.map(findings, function(f) return plain_finding(a, f) end)
    local data = { findings = list, launches = launches, is_partial = findings.is_partial }
    local is_known = ok or launches > 0 or #findings > 0 -- else the script's error says all
    return { text = is_known and check.report(findings, launches) or nil, data = data }, ok, what
  end)
end

function tools.profile(a)
  local profile = require "cuttle.profile"
  return with_script(a, function(chunk, ...)
    local result, ok, what = profile.run(chunk, { sm = a.sm, device = a.device, sass = a.hot_loops,
      call = call }, ...)
    local is_empty = #result.kernels == 0
    return { text = is_empty and "the script launched no kernel" or tostring(result),
             data = { kernels = #result.kernels },
             files = not is_empty and { { name = "profile.json", type = "application/json",
                                          text = result:json() } } or nil }, ok, what
  end)
end

function tools.timeline(a)
  local timeline = require "cuttle.timeline"
  return with_script(a, function(chunk, ...)
    local timelines, launches, ok, what = timeline.run(chunk, { kernel = a.kernel,
      launch = a.launch, block = a.block, call = call }, ...)
    local texts, files = {}, {}
    for i, t in ipairs(timelines) do
      texts[i] = tostring(t)
      files[i] = { name = ("timeline-%d.svg"):format(i), type = "image/svg+xml", text = t:svg() }
    end
    return { text = texts[1] and table.concat(texts, "\n") or "no such launch",
             data = { timelines = #timelines, launches = #launches }, files = files }, ok, what
  end)
end

-- {====== One element ======

local function has(list, value)
  for _, other in ipairs(list) do
    if other == value then return true end
  end
end

-- The last launch with a parameter of the name, with its arguments as they were before it.
local function last_with(chunk, a, name, ...)
  local found
  local _ <close> = internal.launch.launches(function(l)
    if has(l.names, name) and (not a.kernel or tostring(l.kernel):find(a.kernel, 1, true)) then
      found = { kernel = l.kernel, launch = l.launch, n = l.args.n,
                args = table.pack(internal.launch.copies(table.unpack(l.args, 1, l.args.n))) }
    end
  end)
  local ok, what = call(chunk, ...)
  return found, ok, what
end

function tools.trace(a)
  local name, element = require("cuttle.trace").read_element(a.element)
  if not name then refuse("%s", element) end
  return with_script(a, function(chunk, ...)
    local found, ok, what = last_with(chunk, a, name, ...)
    if not found then
      return { text = ("no launch has a parameter '%s'"):format(name), is_error = true }, ok, what
    end
    local t = ct.trace(found.kernel(found.launch), { [name] = element },
      table.unpack(found.args, 1, found.n))
    return { text = tostring(t), data = { rows = #t.rows } }, ok, what
  end)
end

-- {====== Tuning by the model ======

local function tried_row(c)
  return { config = c.text, predicted_ms = c.predicted_ms, refused = c.why }
end

function tools.tune(a)
  local tune = require "cuttle.tune"
  local rows, tried = {}, {}
  local function note(tuned, row)
    rows[#rows + 1] = row
    for _, c in ipairs(tuned.tried) do tried[#tried + 1] = tried_row(c) end
  end
  return with_script(a, function(chunk, ...)
    tune.session = { device = a.device, on_result = note }
    local ok, what = call(chunk, ...)
    tune.session = nil
    local text = #rows > 0 and require("cuttle.store").table(rows)
      or "the script called no function made by tune"
    return { text = text, data = { results = #rows, tried = tried } }, ok, what
  end)
end

-- {====== A kernel beside its reference ======

-- The value that the reference's text returns.
local function reference_of(a)
  local chunk, why = load(a.reference, "@reference.lua", "t")
  if not chunk then refuse("%s", why) end
  local ok, what = call(chunk)
  if not ok then refuse("%s", script_error.text(what)) end
  return what
end

function tools.judge(a)
  local ok, result = pcall(require("cuttle.judge").judge, a.script, reference_of(a), {
    name = name_of(a), seed = a.seed, cases = a.cases, orders = a.schedules, device = a.device })
  if not ok then refuse("%s", script_error.text(result)) end
  return { text = require("cuttle.judge_report").text(result),
           data = { ok = result.ok, verdict = result.verdict, message = result.message },
           files = { { name = "judge.json", type = "application/json",
                       text = json.encode(result) } } }
end

-- {====== Layouts ======

-- Layouts as the algebra writes them, (8,4):(1,8), are no Lua.
local function is_layout(text) return text:find "^[%s%d%(%),_]*:[%s%d%(%),_]*$" ~= nil end

-- The value of an expression, or the one that statements return.
local function values_of(a)
  if is_layout(a.expression) then return call(ct.layout, a.expression) end
  local chunk = load("return " .. a.expression, "=expression", "t")
  local why
  if not chunk then
    chunk, why = load(a.expression, "=expression", "t")
    if not chunk then return false, why end
  end
  return call(chunk)
end

local function shown(value) return require("cuttle.pretty").text(value, 80) end

local layout_actions = {
  evaluate = function(value) return { text = shown(value) } end,
  explain = function(value) return { text = ct.explain(value, { text = true }) } end,
  draw = function(value)
    return { text = shown(value),
             files = { { name = "layout.svg", type = "image/svg+xml", text = ct.svg(value) } } }
  end,
}

function tools.layout(a)
  local ok, value = values_of(a)
  if not ok then return add_outcome({}, {}, ok, value) end
  return layout_actions[a.action or "evaluate"](value)
end

-- {====== Names ======

function tools.help(a)
  if a.word then
    ct.apropos(a.word)
  elseif a.name then
    ct.help(a.name)
  else
    ct.help()
  end
  return {}
end

-- {====== Answering ======

local function answer(request)
  local ok, what = pcall(tools[request.tool], request.arguments)
  if ok then return what end
  if type(what) == "table" and what.refusal then return { text = what.refusal, is_error = true } end
  return add_outcome({}, {}, false, what)
end

return function(text)
  local request = assert(json.decode(text))
  return json.encode(answer(request))
end
