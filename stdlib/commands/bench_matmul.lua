-- bench_matmul.lua: `cuttle bench matmul [option ...] [word ...]`: the operator matmul beside
-- cuBLAS in the same run. Words are element types, majornesses and sizes; each product of all that
-- are named is measured. On the CPU engine nothing is beside it.
--
-- The times are those of batches of back-to-back launches between two events, ours and cuBLAS's
-- alternately; the ratio is the median of the batches' ratios, cuBLAS's time over ours. Cold: the
-- launches go round as many sets of operands as no L2 cache holds. Elements are random in [-1,1),
-- integers from -4 to 4.
local language = require "cuttle"
local lists = require "cuttle.lists"
local configs = require "cuttle.matmul_choice"
local json = require "cuttle.json"
local operator = require "cuttle.matmul"
local script_command = require "cuttle.script_command"
local values = require "cuttle.option_values"
local M = {}

local BATCHES <const>, BATCH_MS <const> = 9, 20
local COLD_BYTES <const>, MOST_SETS <const> = 1 << 28, 64

-- {====== Problems ======

-- What is contiguous in A, B: its rows ("mn") or k; and in C, if it is row-major.
local majors <const> = {
  NT = { "mn", "mn" }, TN = { "k", "k" }, NN = { "mn", "k" }, TT = { "k", "mn" },
  ["row-major"] = { "k", "mn", true },
}

-- What C's elements are, where they are not A's, and how far results of types may be apart.
local results <const> = { tf32 = "f32", i8 = "i32" }
local rtol <const> = { f32 = 1e-5, tf32 = 1e-3, f16 = 2e-3, bf16 = 1.6e-2, f64 = 1e-12 }

--- A problem: C (m,n) = A (m,k) * B (n,k)' of a type and a majorness by their names.
function M.problem(dtype, major, m, n, k)
  return { dtype = dtype, major = major, m = m, n = n, k = k,
           name = ("%-4s %s %dx%dx%d"):format(dtype, major, m, n, k) }
end

-- {====== Operands ======

-- One buffer of random elements for each type and size, which operands of all majors look at.
local function random_buffer(buffers, dtype, n)
  local key = dtype.name .. n
  if buffers[key] == nil then
    local lo, hi = dtype.is_float and -1 or -4, dtype.is_float and 1 or 5
    buffers[key] = rand(dtype, n, lo, hi)
  end
  return buffers[key]
end

local function matrix(buffer, rows, columns, is_row_major)
  return view(buffer, is_row_major and row_major { rows, columns }
    or layout { rows, columns })
end

local function copy_of(buffer)
  local new = tensor(buffer.dtype, buffer.layout)
  copy(buffer, new)
  return new
end

-- {A =, B =, C =, R =}: R is C's place for cuBLAS, which writes column-major: C, or C' of B * A'.
local function operands(p, buffers, is_copy)
  local dtype, out = language[p.dtype], language[results[p.dtype] or p.dtype]
  local major = majors[p.major]
  local a, b = random_buffer(buffers, dtype, p.m * p.k), random_buffer(buffers, dtype, p.n * p.k)
  if is_copy then a, b = copy_of(a), copy_of(b) end
  local c = tensor(out, p.m * p.n)
  return { A = matrix(a, p.m, p.k, major[1] == "k"), B = matrix(b, p.n, p.k, major[2] == "k"),
           C = matrix(c, p.m, p.n, major[3]), is_row_major = major[3], result = c }
end

local function bytes_of(p)
  local in_bytes, out_bytes = language[p.dtype].bytes, language[results[p.dtype] or p.dtype].bytes
  return (p.m + p.n) * p.k * in_bytes + p.m * p.n * out_bytes
end

-- {====== cuBLAS ======

-- A function that launches cuBLAS on these operands, and where its results are; nil: it cannot.
local function cublas_of(p, set, result)
  local A, B, m, n = set.A, set.B, p.m, p.n
  if set.is_row_major then A, B, m, n = B, A, n, m end
  if p.dtype == "tf32" then result = recast(result, tf32) end
  local R = view(result, layout { m, n })
  if reference.library(A, B, R) ~= "cuBLAS" then return nil end
  local multiply = reference.matmul
  return function() multiply(A, B, R) end
end

-- {====== Times ======

-- One after the other, again from the first after the last.
local function in_turn(list)
  local i = 0
  return function()
    i = i % #list + 1
    return list[i]()
  end
end

--- Milliseconds of ours, of theirs, and the ratio; theirs may be nil.
function M.compare(ours, theirs)
  local once = math.max(bench(ours, { batches = 1, reps = 1 }), 1e-4)
  local reps = math.max(1, math.min(10000, math.ceil(BATCH_MS / once)))
  local times, other, ratios = {}, {}, {}
  for i = 1, BATCHES do
    times[i] = bench(ours, { batches = 1, reps = reps })
    if theirs then
      other[i] = bench(theirs, { batches = 1, reps = reps })
      ratios[i] = other[i] / times[i]
    end
  end
  return lists.median(times), theirs and lists.median(other), theirs and lists.median(ratios)
end

local function is_right(p, C, R)
  local out = results[p.dtype] or p.dtype
  local tolerance = out == "i32" and { rtol = 0, atol = 0 }
    or { rtol = rtol[p.dtype], atol = p.k * 2 ^ -22 * (p.dtype == "f64" and 2 ^ -29 or 1) }
  return allclose(C, R, tolerance)
end

-- {====== Lines ======

local function rate(p, ms)
  local flops = 2 * p.m * p.n * p.k / ms * 1e-9
  return flops >= 1 and ("%7.1f T"):format(flops) or ("%7.1f G"):format(flops * 1e3)
end

--- Prints a result of M.measure.
function M.print(r)
  local p = r.of
  local text = ("%-26s %-28s %9.4f ms %s%s"):format(p.name, r.mark .. r.config, r.ms, rate(p, r.ms),
    p.dtype:find "^i" and "OP/s" or "FLOP/s")
  if r.ratio then
    text = text .. ("  cuBLAS %9.4f ms, ratio %.3f"):format(r.cublas_ms, r.ratio)
    if r.cold_ratio then text = text .. (", cold %.3f"):format(r.cold_ratio) end
  end
  print(text .. "  " .. (r.is_right and "correct" or "WRONG"))
end

-- The same launch on several sets of operands, so that none finds its operands in the cache.
local function cold_ratio_of(p, buffers, options, first, theirs)
  local n = math.max(2, math.min(MOST_SETS, math.ceil(COLD_BYTES / bytes_of(p)) + 1))
  local ours, blas = { first }, { theirs }
  for i = 2, n do
    local set = operands(p, buffers, true)
    ours[i] = operator.prepare(set.A, set.B, set.C, options)
    blas[i] = cublas_of(p, set, set.result)
  end
  local _, _, ratio = M.compare(in_turn(ours), in_turn(blas))
  return ratio
end

local function measure(p, config, options, buffers)
  local how = { config = config, split = options.split }
  local set = operands(p, buffers)
  local ours, name = operator.prepare(set.A, set.B, set.C, how)
  local result = tensor(set.result.dtype, p.m * p.n)
  local theirs = cublas_of(p, set, result)
  ours()
  if theirs then
    theirs()
  else
    local want = reference.matmul(set.A, set.B, nil)
    result = view(want, layout { p.m, p.n })
  end
  local C = set.C
  local R = theirs and matrix(result, p.m, p.n, set.is_row_major) or result
  local r = { of = p, config = name, is_right = is_right(p, C, R) }
  r.ms, r.cublas_ms, r.ratio = M.compare(ours, theirs)
  if theirs and options.cold then r.cold_ratio = cold_ratio_of(p, buffers, how, ours, theirs) end
  collectgarbage()
  return r
end

-- The configurations to measure; the first one, nil, is as the operator chooses.
local function choices(p, options, buffers)
  local list = { n = 1, options.config }
  if not options.all then return list end
  local set = operands(p, buffers)
  local _, _, steps = operator.prepare(set.A, set.B, set.C,
    { config = options.config, split = options.split })
  for _, row in ipairs((options.rows_of or configs.of)(operator.problem(set.A, set.B, set.C))) do
    if steps[1] == nil or row.name ~= steps[1].config.name then
      list.n = list.n + 1
      list[list.n] = row
    end
  end
  return list
end

--- Measures a problem: calls take(result) for each configuration. Options: config (one of
--- matmul's), all (every configuration that is for it, of those that rows_of(problem) lists),
--- split, cold. `buffers`: a table that problems share.
function M.measure(p, options, buffers, take)
  local configs_of_p = choices(p, options, buffers)
  for i = 1, configs_of_p.n do
    local r = measure(p, configs_of_p[i], options, buffers)
    r.mark = options.all and (i == 1 and "*" or " ") or ""
    take(r)
  end
end

-- {====== The command ======

local USAGE <const> = [[
usage: cuttle bench matmul [options] [word ...]

Times the operator matmul and, on a GPU, cuBLAS on the same operands alternately, and compares the
results. The words choose what to multiply; every combination of the chosen words is timed:
  f32 tf32 f16 bf16 f64 i8 ...   element types; else f32
  NT TN NN TT row-major          what is contiguous in A and B, in BLAS's terms; else NT and TN
  4096 512x512x8192              sizes, M x N x K; else 4096, on the CPU engine 256

  --all                 time every configuration that fits; * marks the chosen one
  --config=NAME         time this configuration
  --split=N             split K into N parts
  --cold=no             skip the timing with uncached operands
  --json[=FILE]         write JSON instead of the lines, to FILE or standard output
]]

local function fail(format, ...) error("bench matmul: " .. format:format(...), 0) end

local option_readers <const> = {
  all = function(o) o.all = true end,
  config = function(o, value) o.config = value end,
  split = function(o, value) o.split = math.tointeger(tonumber(value)) end,
  cold = function(o, value) o.cold = value ~= "no" end,
  json = values.json,
  help = function(o) o.help = true end,
}

-- M, N and K of "4096" or "512x512x8192"; nil: it is no size.
local function size_of(word)
  local n = word:match "^%d+$"
  if n then return { n, n, n } end
  local m, n_, k = word:match "^(%d+)x(%d+)x(%d+)$"
  return m and { m, n_, k }
end

local function read_word(o, word)
  local size = size_of(word)
  if size then
    for i = 1, 3 do size[i] = math.tointeger(tonumber(size[i])) end
    table.insert(o.sizes, size)
  elseif majors[word] then
    table.insert(o.majors, word)
  elseif rawget(language, word) and pcall(zeros, language[word], 1) then
    table.insert(o.types, word)
  else
    fail("'%s' is not an element type, majorness or size; see cuttle bench matmul --help", word)
  end
end

local function read_arguments(...)
  local o = values.read_words("bench matmul", { ... },
    { cold = true, types = {}, majors = {}, sizes = {} }, option_readers, read_word)
  local n = device().sm and 4096 or 256
  if #o.types == 0 then o.types = { "f32" } end
  if #o.majors == 0 then o.majors = { "NT", "TN" } end
  if #o.sizes == 0 then o.sizes = { { n, n, n } } end
  return o
end

local function problems_of(o)
  local list = {}
  for _, dtype in ipairs(o.types) do
    for _, size in ipairs(o.sizes) do
      for _, major in ipairs(o.majors) do
        list[#list + 1] = M.problem(dtype, major, table.unpack(size))
      end
    end
  end
  return list
end

local function plain(r)
  return { type = r.of.dtype, majors = r.of.major, m = r.of.m, n = r.of.n, k = r.of.k,
           config = r.config, ms = r.ms, cublas_ms = r.cublas_ms, ratio = r.ratio,
           cold_ratio = r.cold_ratio, is_right = r.is_right }
end

function M.run(...)
  local o, buffers, rows = read_arguments(...), {}, {}
  if o.help then
    io.write(USAGE)
    return
  end
  for _, p in ipairs(problems_of(o)) do
    M.measure(p, o, buffers, o.json and function(r) table.insert(rows, plain(r)) end or M.print)
  end
  if o.json then
    local report = { device = device().name, products = rows }
    script_command.write(fail, o.json, json.encode(report) .. "\n")
  end
end

return M
