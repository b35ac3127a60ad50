-- judge.lua: judge(candidate, reference[, options]): is a kernel right, clean and fast?
-- docs/judge.md describes candidates, references and the report, which is a table that json.lua can
-- write.
--   M.judge(candidate, reference, options)   the report
--   M.prepare(reference, options)            a reference with its cases drawn, for many candidates
local models = require "cuttle.profile_device"
local option_names = require "cuttle.option_names"
local drawn = require "cuttle.judge_task"
local errors = require "cuttle.fail"
local fits = require "cuttle.judge_fits"
local run = require "cuttle.judge_run"
local truth = require "cuttle.judge_truth"
local type_name = require "cuttle.type_name"
local M = {}

local CASES <const>, ORDERS <const>, SECONDS <const>, MIB <const> = 6, 4, 10, 256
local MOST_FINDINGS <const> = 20
local MOST_CHECKED <const> = 1 << 18 -- elements of a case

local function fail(format, ...) errors.fail("judge", format, ...) end

-- {====== Arguments ======

local function device_name(v) return models.find(v) ~= nil, "one of " .. models.names() end
local function seconds(v) return type(v) == "number" and v > 0, "a number of seconds" end

local readers <const> = { cases = option_names.whole(1), seed = option_names.whole(0),
  orders = option_names.whole(0), seconds = seconds, mib = option_names.whole(1),
  device = device_name, compile = option_names.flag, predict = option_names.flag,
  time = option_names.text, name = option_names.text }

local function read_options(given)
  local o = { cases = CASES, seed = os and os.time() or 1, orders = ORDERS, seconds = SECONDS,
              mib = MIB, device = "H100", compile = true, predict = true }
  given = option_names.check("judge", given, readers, "{cases = 10}")
  for name, value in pairs(given) do o[name] = value end
  o.device = models.find(o.device)
  return o
end

-- {====== Cases ======

--- Draws the cases of a reference, and runs it: what M.judge takes in place of the reference, so
--- that this is done once for many candidates.
function M.prepare(reference, given)
  local options = read_options(given)
  local task = drawn.read(reference)
  local cases = drawn.cases(task, options.cases, options.seed)
  for i, case in ipairs(cases) do
    local seed = options.seed + 1000 * i
    local first = truth.of(task, case, seed)
    local is_drawn = i < #cases or not task.time
    case.data = { first, is_drawn and truth.of(task, case, seed + 1) or first }
  end
  return { task = task, cases = cases, options = options, is_prepared = true }
end

local function read_candidate(candidate, options)
  if type(candidate) == "function" then
    if device().sm then
      fail('a function is judged on the CPU engine; call device("cpu") first')
    end
    return { f = candidate }
  end
  if type(candidate) ~= "string" then
    fail("the candidate is a %s; expected a function, or the text of a file that returns one",
      type_name(candidate))
  end
  return { text = candidate, name = "=" .. (options.name or "candidate.lua") }
end

-- {====== Parts of the report ======

local function score(n, of) return of > 0 and n / of or 0.0 end

-- "case 3 (M=1 N=7): ..."
local function of_case(cases, i, text)
  return ("case %d (%s): %s"):format(i, drawn.sizes_text(cases[i].sizes), text)
end

local function first_of(results, cases, field)
  for i, result in ipairs(results) do
    local what = result[field]
    if what then
      return of_case(cases, i, type(what) == "table" and what.message or tostring(what)), what
    end
  end
end

local function correct_of(results, cases, trouble)
  local n = 0
  for _, result in ipairs(results) do
    if result.n_wrong == 0 and not result.trouble then n = n + 1 end
  end
  local message = trouble and trouble.message or first_of(results, cases, "trouble")
    or first_of(results, cases, "wrong")
  return { ok = n == #cases, score = score(n, #cases), right = n, cases = #cases,
           message = message }
end

local outside <const> = { out_of_bounds = true, coordinate = true, offset_overflow = true,
  misaligned = true }

local function plain_finding(f)
  return { kind = f.kind, id = f.id, kernel = f.kernel, file = f.chunk, line = f.line,
           other_line = f.other_line, buffer = f.buffer, count = f.count, message = f.message,
           schedule = f.schedule }
end

-- Findings of one sort, each place once, and the scores that they make. nil: nothing was checked.
local function findings_of(findings, is_of)
  if not findings then return { findings = {}, message = "nothing ran" } end
  local list, seen, n = {}, {}, 0
  for _, f in ipairs(findings) do
    local key = ("%s %s %s %s"):format(f.kind, f.chunk, f.line, f.other_line)
    if is_of(f) and not seen[key] then
      seen[key], n = true, n + 1
      if n <= MOST_FINDINGS then list[n] = plain_finding(f) end
    end
  end
  return { ok = n == 0, score = 1 / (1 + n), findings = list,
           message = list[1] and ("line %d: %s"):format(list[1].line, list[1].message) }
end

local function in_bounds_of(findings, results, cases)
  local part = findings_of(findings, function(f) return outside[f.kind] end)
  local message = first_of(results, cases, "outside")
  if message then part.ok, part.score, part.message = false, 0.0, part.message or message end
  return part
end

local function deterministic_of(findings, results, cases)
  local part = findings_of(findings, function(f) return f.kind == "order" end)
  local i
  for k, result in ipairs(results) do
    if result.differs then i = i or k end
  end
  if i then
    part.ok, part.score = false, 0.0
    part.message = part.message
      or of_case(cases, i, "the same inputs gave other bits when it ran again in the same memory")
  end
  return part
end

local function clean_of(findings, is_partial)
  local part = findings_of(findings, function(f)
    return not outside[f.kind] and f.kind ~= "order" and f.kind ~= "cooperative_grid"
  end)
  part.is_partial = is_partial or nil
  return part
end

-- Those cases that check looks at: it is much slower than a plain run.
local function small_ones(cases)
  local list = {}
  for _, case in ipairs(cases) do
    local n = 0
    for _, row in ipairs(case.rows) do n = n + (row.size or 0) end
    if n <= MOST_CHECKED or #list == 0 then list[#list + 1] = case end
  end
  return list
end

-- {====== The verdict ======

-- The first row that holds is the verdict.
local verdicts <const> = {
  { "invalid", function(_, s) return s.refused end },
  { "time", function(_, s) return s.stopped and s.stopped.kind == "time" and s.stopped.message
      and "it ran longer than a call may" end },
  { "memory", function(_, s) return s.stopped and s.stopped.kind == "memory"
      and "it wants more memory than it may have" end },
  { "out_of_bounds", function(r) return r.in_bounds.ok == false and r.in_bounds.message end },
  { "unclean", function(r) return r.clean.ok == false and r.clean.message end },
  { "wrong", function(r) return not r.correct.ok and (r.correct.message or "a case failed") end },
  { "nondeterministic", function(r, s)
    return s.task.deterministic and r.deterministic.ok == false and r.deterministic.message
  end },
  { "does_not_fit", function(r) return r.fits.ok == false and r.fits.message end },
}

local function settle(report, state)
  for _, row in ipairs(verdicts) do
    local why = row[2](report, state)
    if why then
      report.verdict, report.ok, report.message = row[1], false, why
      return report
    end
  end
  report.verdict, report.ok = "pass", true
  return report
end

-- What stopped the candidate, or kept it from being run at all.
local function troubles_of(results, cases, trouble, own)
  local refused, stopped = trouble and trouble.message, nil
  for _, result in ipairs(results) do
    if result.trouble and result.trouble.kind ~= "error" then stopped = result.trouble end
  end
  if trouble and trouble.kind ~= "error" then refused, stopped = nil, trouble end
  if own and own.kind ~= "error" then stopped = stopped or own end
  local first = results[1]
  for i, result in ipairs(results) do
    if result.is_refused and result.trouble.kind == "error" then
      refused = refused or of_case(cases, i, result.trouble.message)
    end
  end
  return { refused = refused, stopped = stopped, first = first }
end

-- {====== All of it ======

local function measured_of(prepared, candidate, options, case, is_right)
  local where = options.time or device().sm and "cuda"
  if not where then return { message = "no GPU is in use" } end
  if not is_right then return { message = "only what is right is timed" } end
  if where ~= "cpu" then
    local results, trouble = run.plain(prepared.task, candidate, prepared.cases, options, where)
    local part = correct_of(results, prepared.cases, trouble)
    if not part.ok then return { ok = false, device = where, message = part.message } end
  end
  local ms, trouble = run.time(prepared.task, candidate, case, options, where)
  if not ms then return { ok = false, device = where, message = trouble.message } end
  return { ok = true, device = where, ms = ms, sizes = case.sizes }
end

--- Judges a candidate: docs/judge.md.
function M.judge(candidate, reference, given)
  local is_prepared = type(reference) == "table" and reference.is_prepared
  local prepared = is_prepared and reference or M.prepare(reference, given)
  local options = prepared.options
  local task, cases = prepared.task, prepared.cases
  candidate = read_candidate(candidate, is_prepared and given or options)
  local results, trouble = run.plain(task, candidate, cases, options)
  local report = { task = task.name, seed = options.seed }
  local findings, own, launches, cooperative, is_partial = {}, nil, 0, {}, nil
  if not trouble and not (results[#results].trouble and
    results[#results].trouble.kind ~= "error") then
    findings, own, launches, cooperative, is_partial = run.check(task, candidate,
      small_ones(cases), options)
  end
  local state = troubles_of(results, cases, trouble, own)
  if launches == 0 then findings = nil end
  state.task = task
  report.launches = launches
  report.correct = correct_of(results, cases, trouble)
  report.in_bounds = in_bounds_of(findings, results, cases)
  report.clean = clean_of(findings, is_partial)
  report.deterministic = deterministic_of(findings, results, cases)
  local is_right = report.correct.ok and report.in_bounds.ok
  local timed = cases[#cases]
  report.fits, report.predicted = fits.of(task, candidate, timed, options, cooperative, is_right)
  report.measured = measured_of(prepared, candidate, options, timed, is_right)
  return settle(report, state)
end

return M
