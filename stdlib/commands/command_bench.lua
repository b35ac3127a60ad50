-- command_bench.lua: `cuttle bench [options] script.lua [arguments]`: runs the script and says how
-- long its kernels take; `cuttle bench matmul ...` is bench_matmul.lua, and `cuttle bench mesh ...`
-- bench_mesh.lua.
--
-- Launches are timed where the script makes them: nothing is launched again, so nothing changes
-- that the script computes. What the script gives to `bench` is timed by that, back to back, as
-- always. The operator matmul is compared with cuBLAS, once for each kind of product, on a C of its
-- own.
--|bench script.lua      run it and print how long its kernels take; bench matmul: beside cuBLAS
local internal = ...
local json = require "cuttle.json"
local matmul = require "cuttle.bench_matmul"
local lists = require "cuttle.lists"
local operator = require "cuttle.matmul"
local run_script = require "cuttle.run_script"
local script_command = require "cuttle.script_command"
local values = require "cuttle.option_values"

local USAGE <const> = "usage: cuttle bench [options] script.lua [arguments]\n"
  .. "       cuttle bench matmul [options] [word ...]     see cuttle bench matmul --help\n"
  .. "       cuttle bench mesh [options] [word ...]       see cuttle bench mesh --help\n"
  .. "\n"
  .. "Runs the script on its device and prints how long its kernels take: a line for each\n"
  .. "specialisation and grid, with the median, the fastest and the slowest launch. On a GPU each\n"
  .. "launch is timed with two events, which adds a few us if the GPU was idle. To time short\n"
  .. "kernels, call bench(launch) in the script: it times launches back to back and prints a\n"
  .. "line of its own. Products of the operator matmul are compared with cuBLAS, if it supports\n"
  .. "them.\n"
  .. "\n"
  .. "  --json[=FILE]         write JSON instead of the table, to FILE or standard output\n"
  .. "\n"
  .. "The exit code is the script's, or 1 if it launches nothing."

local fail = script_command.failing "bench"

-- {====== What is measured ======

-- The numbers of a row of the session.
local function finish(row)
  local ms, total = {}, 0
  for i, sample in ipairs(row.samples) do
    ms[i] = sample.ms / sample.n
    total = total + sample.ms
  end
  table.sort(ms)
  row.median_ms, row.total_ms = lists.median(ms), total
  row.fastest_ms, row.slowest_ms = ms[1], ms[#ms]
  row.samples = nil
  return row
end

-- Where the script calls, however many functions of modules are between: "script.lua", 12.
local function place(level)
  local info = debug.getinfo(level + 1, "Sl")
  while info and (info.what == "C" or info.source:find "^=") do
    level = level + 1
    info = debug.getinfo(level + 1, "Sl")
  end
  if not info then return "?", 0 end
  return info.short_src, info.currentline
end

-- The names of the kernels that were launched between two lists of rows.
local function launched_between(before, after)
  local names, known = {}, {}
  for i, row in ipairs(after) do
    local n = before[i] and before[i].launches or 0
    if row.launches > n and not known[row.name] then
      known[row.name] = true
      names[#names + 1] = row.name
    end
  end
  return names
end

-- What takes the calls of bench: what they launch is counted, not timed one by one.
local function recording(session, calls)
  return function(...)
    local was = session:mode "count"
    if was == "off" then
      session:mode(was)
      return internal.launch.bench_measure(...)
    end
    local file, line = place(2)
    local before = session:rows()
    local results = table.pack(pcall(internal.launch.bench_measure, ...))
    session:mode(was)
    if not results[1] then error(results[2], 0) end
    calls[#calls + 1] = { file = file, line = line, median_ms = results[2], fastest_ms = results[3],
                          slowest_ms = results[4],
                          kernels = launched_between(before, session:rows()) }
    return table.unpack(results, 2, results.n)
  end
end

-- What makes a product another one than those that were compared.
local function key_of(A, B, C, options)
  local parts = { tostring(A.dtype), tostring(C.dtype), tostring(A.layout), tostring(B.layout),
                  tostring(C.layout) }
  for _, name in ipairs { "config", "split", "epilogue" } do
    local value = options[name]
    parts[#parts + 1] = tostring(type(value) == "table" and value.name or value)
  end
  parts[#parts + 1] = tostring(options.bias ~= nil)
  return table.concat(parts, " ")
end

-- Compares a product with cuBLAS; nil: cuBLAS has none such.
local function compare(A, B, C, options)
  if options.groups or rank(A) > 2 or rank(B) > 2
    or reference.library(A, B) ~= "cuBLAS" then
    return nil
  end
  local out = tensor(C.dtype, C.layout)
  local ours, config = operator.prepare(A, B, out, options)
  local result = reference.matmul(A, B)
  local ms, cublas_ms, ratio = matmul.compare(ours,
    function() reference.matmul(A, B, result) end)
  out:close()
  local m, n, k = size(A, 0), size(B, 0), size(A, 1)
  return { m = m, n = n, k = k, type = A.dtype.name, config = config, ms = ms,
           tflops = 2 * m * n * k / ms * 1e-9, cublas_ms = cublas_ms, ratio = ratio }
end

local function comparing(session, products)
  local known = {}
  return function(A, B, C, options)
    local key = key_of(A, B, C, options)
    if known[key] then return end
    known[key] = true
    local was = session:mode "off"
    local ok, result = pcall(compare, A, B, C, options)
    session:mode(was)
    if ok then products[#products + 1] = result end
  end
end

-- {====== The report ======

local function ms_text(ms) return ms and ("%10.4f"):format(ms) or ("%10s"):format "-" end

local function times_text(r)
  return ms_text(r.median_ms) .. ms_text(r.fastest_ms) .. ms_text(r.slowest_ms)
end

local function extents(t)
  local n = t[3] > 1 and 3 or t[2] > 1 and 2 or 1
  return table.concat(t, "x", 1, n)
end

local function print_table(report)
  print(("%-40s %14s %12s %9s%10s%10s%10s%10s"):format("on " .. report.device, "grid", "block",
    "launches", "median ms", "fastest", "slowest", "in all"))
  for _, r in ipairs(report.kernels) do
    print(("%-40s %14s %12s %9d%s%s"):format(("%s (%s:%d)"):format(r.name, r.file, r.line),
      extents(r.grid), extents(r.block), r.launches, times_text(r),
      r.median_ms and ms_text(r.total_ms) or ms_text(nil)))
  end
  for _, c in ipairs(report.calls) do
    print(("%-40s %37s%s"):format(("bench (%s:%d)"):format(c.file, c.line),
      table.concat(c.kernels, ", "), times_text(c)))
  end
  for _, p in ipairs(report.products) do
    print(("matmul %dx%dx%d %s, %s: %.4f ms, %.1f TFLOP/s; cuBLAS %.4f ms, ratio %.3f"):format(
      p.m, p.n, p.k, p.type, p.config, p.ms, p.tflops, p.cublas_ms, p.ratio))
  end
end

-- {====== The command ======

local function run(script, options)
  local report = { device = device().name, kernels = {}, calls = {}, products = {} }
  local session <close> = internal.launch.time_launches()
  internal.launch.bench_by(recording(session, report.calls))
  operator.on_product = comparing(session, report.products)
  local ok, what = run_script.call(script, table.unpack(options.rest))
  for i, row in ipairs(session:finish()) do report.kernels[i] = finish(row) end
  return report, #report.kernels + #report.calls, ok, what
end

local function deliver(report, options)
  if options.json then
    script_command.write(fail, options.json, json.encode(report) .. "\n")
  else
    print_table(report)
  end
end

local times = script_command.new {
  name = "bench", usage = USAGE, on_device = true,
  options = {
    json = values.json_aside,
  },
  run = run, deliver = deliver,
  say_missing = function(_, options) fail("%s launched no kernel", options.script) end,
}

local words <const> = { matmul = "cuttle.bench_matmul", mesh = "cuttle.bench_mesh" }

-- Such a word may stand after its options.
return function(...)
  local args, at = { ... }, 1
  while args[at] and args[at]:find "^%-." do at = at + 1 end
  local module = words[args[at]]
  if not module then return times(...) end
  table.remove(args, at)
  return require(module).run(table.unpack(args))
end
