-- bench_matmul.lua: the operator matmul beside cuBLAS in the same run:
-- `cuttle bench matmul [--all] [--config=NAME] [--split=N] [--cold=no] [word ...]`. A problem is
-- measured if each word is in its line: "f32", "NT", "4096". --all: every configuration that is for
-- it, "*" before the chosen one. On the CPU engine sizes are small and nothing is beside it.
--
-- The times are those of batches of back-to-back launches between two events, ours and cuBLAS's
-- in turns; the ratio is the median of the batches' ratios, cuBLAS's time over ours. Cold: the
-- launches go round as many sets of operands as no L2 cache holds. Elements are random in [-1,1),
-- integers from -4 to 4.
local ct = require "cuttle"
local internal = ...
local configs = require "cuttle.matmul_configs"
local operator = require "cuttle.matmul"
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

local function problem(dtype, major, m, n, k)
  return { dtype = dtype, major = major, m = m, n = n, k = k,
           name = ("%-4s %s %dx%dx%d"):format(dtype, major, m, n, k) }
end

local small_k <const> = { { 5120, 5120, 256 }, { 2048, 2048, 256 } }
local few_tiles <const> = { { 1024, 1024, 1024 }, { 512, 512, 8192 } }

local function gpu_problems()
  local list = {}
  for _, major in ipairs { "NT", "TN" } do
    for _, n in ipairs { 4096, 8192 } do list[#list + 1] = problem("f32", major, n, n, n) end
    for _, s in ipairs(small_k) do list[#list + 1] = problem("f32", major, table.unpack(s)) end
    for _, s in ipairs(few_tiles) do list[#list + 1] = problem("f32", major, table.unpack(s)) end
  end
  list[#list + 1] = problem("f32", "row-major", 5120, 5120, 256)
  for _, dtype in ipairs { "tf32", "f16", "bf16", "i8" } do
    for _, major in ipairs { "NT", "TN", "NN", "TT" } do
      for _, n in ipairs { 4096, 8192 } do list[#list + 1] = problem(dtype, major, n, n, n) end
    end
  end
  return list
end

local function cpu_problems()
  local list = {}
  for _, dtype in ipairs { "f32", "f64", "i32", "f16" } do
    for _, major in ipairs { "NT", "TN" } do
      list[#list + 1] = problem(dtype, major, 256, 256, 256)
    end
  end
  list[#list + 1] = problem("f32", "NT", 1024, 1024, 256)
  list[#list + 1] = problem("f32", "row-major", 250, 250, 250)
  return list
end

local function has_words(p, words)
  for _, word in ipairs(words) do
    if not (" " .. p.name .. " "):find(word, 1, true) then return false end
  end
  return true
end

-- {====== Operands ======

-- One buffer of random elements for each type and size, which operands of all majors look at.
local function random_buffer(buffers, dtype, n)
  local key = dtype.name .. n
  if buffers[key] == nil then
    local _, is_float = internal.compute_type(dtype)
    local lo, hi = is_float and -1 or -4, is_float and 1 or 5
    buffers[key] = ct.rand(dtype, n, lo, hi)
  end
  return buffers[key]
end

local function matrix(buffer, rows, columns, is_row_major)
  return ct.view(buffer, is_row_major and ct.row_major { rows, columns }
    or ct.layout { rows, columns })
end

local function copy_of(buffer)
  local new = ct.tensor(buffer.dtype, buffer.layout)
  ct.copy(buffer, new)
  return new
end

-- {A =, B =, C =, R =}: R is C's place for cuBLAS, which writes column-major: C, or C' of B * A'.
local function operands(p, buffers, is_copy)
  local dtype, out = ct[p.dtype], ct[results[p.dtype] or p.dtype]
  local major = majors[p.major]
  local a, b = random_buffer(buffers, dtype, p.m * p.k), random_buffer(buffers, dtype, p.n * p.k)
  if is_copy then a, b = copy_of(a), copy_of(b) end
  local c = ct.tensor(out, p.m * p.n)
  return { A = matrix(a, p.m, p.k, major[1] == "k"), B = matrix(b, p.n, p.k, major[2] == "k"),
           C = matrix(c, p.m, p.n, major[3]), is_row_major = major[3], result = c }
end

local function bytes_of(p)
  local in_bytes, out_bytes = ct[p.dtype].bytes, ct[results[p.dtype] or p.dtype].bytes
  return (p.m + p.n) * p.k * in_bytes + p.m * p.n * out_bytes
end

-- {====== cuBLAS ======

-- A function that launches cuBLAS on these operands, and where its results are; nil: it cannot.
local function cublas_of(p, set, result)
  local A, B, m, n = set.A, set.B, p.m, p.n
  if set.is_row_major then A, B, m, n = B, A, n, m end
  if p.dtype == "tf32" then result = ct.recast(result, ct.tf32) end
  local R = ct.view(result, ct.layout { m, n })
  if ct.reference.library(A, B, R) ~= "cuBLAS" then return nil end
  local multiply = ct.reference.matmul
  return function() multiply(A, B, R) end
end

-- {====== Times ======

local function median(t)
  table.sort(t)
  local n = #t
  return n % 2 == 1 and t[n // 2 + 1] or 0.5 * (t[n // 2] + t[n // 2 + 1])
end

-- One after the other, again from the first after the last.
local function in_turn(list)
  local i = 0
  return function()
    i = i % #list + 1
    return list[i]()
  end
end

-- Milliseconds of ours, of theirs, and the ratio; theirs may be nil.
local function compare(ours, theirs)
  local once = math.max(ct.bench(ours, { batches = 1, reps = 1 }), 1e-4)
  local reps = math.max(1, math.min(10000, math.ceil(BATCH_MS / once)))
  local times, other, ratios = {}, {}, {}
  for i = 1, BATCHES do
    times[i] = ct.bench(ours, { batches = 1, reps = reps })
    if theirs then
      other[i] = ct.bench(theirs, { batches = 1, reps = reps })
      ratios[i] = other[i] / times[i]
    end
  end
  return median(times), theirs and median(other), theirs and median(ratios)
end

local function is_right(p, C, R)
  local out = results[p.dtype] or p.dtype
  local tolerance = out == "i32" and { rtol = 0, atol = 0 }
    or { rtol = rtol[p.dtype], atol = p.k * 2 ^ -22 * (p.dtype == "f64" and 2 ^ -29 or 1) }
  return ct.allclose(C, R, tolerance)
end

-- {====== Lines ======

local function rate(p, ms)
  local flops = 2 * p.m * p.n * p.k / ms * 1e-9
  return flops >= 1 and ("%7.1f T"):format(flops) or ("%7.1f G"):format(flops * 1e3)
end

local function report(p, label, ms, blas_ms, ratio, cold_ratio, verdict)
  local text = ("%-26s %-28s %9.4f ms %s%s"):format(p.name, label, ms, rate(p, ms),
    p.dtype:find "^i" and "OP/s" or "FLOP/s")
  if ratio then
    text = text .. ("  cuBLAS %9.4f ms, ratio %.3f"):format(blas_ms, ratio)
    if cold_ratio then text = text .. (", cold %.3f"):format(cold_ratio) end
  end
  print(text .. "  " .. verdict)
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
  local _, _, ratio = compare(in_turn(ours), in_turn(blas))
  return ratio
end

local function measure(p, config, mark, options, buffers)
  local how = { config = config, split = options.split }
  local set = operands(p, buffers)
  local ours, name = operator.prepare(set.A, set.B, set.C, how)
  local result = ct.tensor(set.result.dtype, p.m * p.n)
  local theirs = cublas_of(p, set, result)
  ours()
  if theirs then
    theirs()
  else
    local want = ct.reference.matmul(set.A, set.B, nil)
    result = ct.view(want, ct.layout { p.m, p.n })
  end
  local C = set.C
  local R = theirs and matrix(result, p.m, p.n, set.is_row_major) or result
  local verdict = is_right(p, C, R) and "correct" or "WRONG"
  local ms, blas_ms, ratio = compare(ours, theirs)
  local cold = theirs and options.cold and cold_ratio_of(p, buffers, how, ours, theirs)
  report(p, mark .. name, ms, blas_ms, ratio, cold, verdict)
  collectgarbage()
end

-- The names of the configurations to measure, the chosen one first.
local function choices(p, options, buffers)
  local set = operands(p, buffers)
  local _, chosen = operator.prepare(set.A, set.B, set.C, { config = options.config, split = 1 })
  local names = { chosen }
  if options.all then
    for _, row in ipairs(configs.of(operator.problem(set.A, set.B, set.C))) do
      if row.name ~= chosen then names[#names + 1] = row.name end
    end
  end
  return names
end

local function read_options(...)
  local options, words = { cold = true }, {}
  for _, word in ipairs { ... } do
    local key, value = word:match "^%-%-(%w+)=?(.*)$"
    if key == "all" then
      options.all = true
    elseif key == "config" then
      options.config = value
    elseif key == "split" then
      options.split = math.tointeger(tonumber(value))
    elseif key == "cold" then
      options.cold = value ~= "no"
    elseif key then
      error(("bench matmul: there is no option '%s'; there are --all, --config=NAME, --split=N "
        .. "and --cold=no, and words such as f32, NT and 4096"):format(word), 0)
    else
      words[#words + 1] = word
    end
  end
  return options, words
end

function M.run(...)
  local options, words = read_options(...)
  local buffers, n_run = {}, 0
  for _, p in ipairs(ct.device().sm and gpu_problems() or cpu_problems()) do
    if has_words(p, words) then
      n_run = n_run + 1
      for i, name in ipairs(choices(p, options, buffers)) do
        measure(p, name, options.all and (i == 1 and "*" or " ") or "", options, buffers)
      end
    end
  end
  if n_run == 0 then
    print("matmul: no problem has all of these words: " .. table.concat(words, " "))
  end
end

return M
