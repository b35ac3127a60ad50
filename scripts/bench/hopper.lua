-- hopper.lua: `main.lua hopper [option ...] [word ...]`: products on tensor cores beside
-- cuBLAS, sustained and in bursts (regimes.lua says how both are timed), all candidates of a
-- row in one run, on random normal data:
--   default   cublasGemmEx's default algorithm; of f8e4m3 TN cuBLASLt's first
--   Lt        cuBLASLt's top 8 with 64 MiB of workspace; those that a screening finds fastest
--   *         matmul with the configuration that it picks; with --all or --config others as well
-- Every result is written over poison and compared in full with the default's, before the times are
-- taken and again after. A row is run if each word begins one of its name: "bf16", "4096x"; the
-- word "attention" runs the rows of attention.lua instead, which without words come last. The word
-- "majors" runs rows of all types and majornesses instead.
local ct = require "cuttle"
local configs = require "configs"
local data = require "data"
local libraries = require "libraries"
local operator = require "cuttle.matmul"
local regimes = require "regimes"
local tables = require "tables"
local tools = require "tools"
local attention = require "attention"
local M = {}

local WORKSPACE <const>, ALGORITHMS <const> = 64 << 20, 8

-- {====== Rows ======

-- C's elements, where they are not A's.
local wide <const> = { tf32 = "f32", i8 = "i32", u8 = "i32", f8e4m3 = "bf16", f8e5m2 = "bf16" }

-- C (M,N) row-major = A (M,K) * B (N,K)', K contiguous in both.
-- bars: the least ratio to the default and to the best of Lt, in both regimes.
local function row(dtype, m, n, k, to_default, to_lt)
  return { dtype = dtype, m = m, n = n, k = k, bars = { default = to_default, lt = to_lt },
           result = wide[dtype] or dtype,
           name = ("%s %dx%dx%d"):format(dtype, m, n, k) }
end

M.rows = {
  row("bf16", 8192, 8192, 8192, 1.03, 1.0),
  row("bf16", 4096, 4096, 4096, 1.01, 1.01),
  row("bf16", 2048, 2048, 2048, 1.0, 1.0),
  row("bf16", 4096, 4096, 16384, 1.01, 1.01),
  row("bf16", 8192, 8192, 1024, 1.07, 0.98),
  row("f16", 8192, 8192, 8192, 1.0, nil),
  row("f8e4m3", 8192, 8192, 8192, nil, 0.95),
}

-- What is contiguous in C' = B * A' as BLAS says it, of B first: has A, has B rows of K?
local majors_of <const> = { TN = { true, true }, NN = { true, false }, TT = { false, true },
                            NT = { false, false } }
-- Rows of every majorness; on 16 bits the bar is higher. No library multiplies u8, f8e5m2, or
-- f8e4m3 that is not TN: the peers of these are the rows of i8 and of f8e4m3 TN in the same run.
local function major_rows()
  local list, sizes = {}, ct.device().sm and { 2048, 4096, 8192 } or { 64 }
  for _, dtype in ipairs { "tf32", "f16", "bf16", "i8", "u8", "f8e4m3", "f8e5m2" } do
    for _, majors in ipairs { "TN", "NN", "TT", "NT" } do
      for _, n in ipairs(sizes) do
        local p = row(dtype, n, n, n, n > 2048 and ct[dtype].bits == 16 and 1.02 or 1.0)
        p.majors = majors
        p.name = ("%s %s %dx%dx%d"):format(dtype, majors, n, n, n)
        list[#list + 1] = p
      end
    end
  end
  return list
end

-- What the CPU engine can do: no library is beside it.
local cpu_rows <const> = { row("bf16", 64, 64, 64), row("f16", 128, 64, 32) }

local function rows_of(options)
  if #options.own > 0 then return options.own end
  if options.majors then return major_rows() end
  return ct.device().sm and M.rows or cpu_rows
end

local function has_words(p, words)
  for _, word in ipairs(words) do
    if not (" " .. p.name):find(" " .. word, 1, true) then return false end
  end
  return true
end

-- {====== Options ======

local help <const> = [[
main.lua hopper [option ...] [word ...]: products on tensor cores beside cuBLAS and cuBLASLt
  --quick          short batches and one or two rounds: a look, no result
  --regime=NAME    only sus (sustained) or bur (burst); also eq (alternately), one (single launches)
  --config=NAME    this configuration of matmul beside the one that matmul picks
  --all            every configuration that is for the problem
  --lt=N           time N of cuBLASLt's algorithms, the fastest of a screening; 4 without
  --rounds=N       rounds of each regime
  word             rows with a word that begins so: bf16, 4096x, 8192x8192x1024
  bf16:MxNxK       this product, in place of the rows
  majors           only rows of all types and majornesses: tf32, NN, 4096x
  attention        only attention, beside PyTorch's scaled_dot_product_attention where python3
                   has it; words: full, causal, d128, d64
]]

local function count(value, word)
  local n = math.tointeger(tonumber(value))
  if n == nil or n < 1 then
    error(("bench hopper: '%s' has no number; expected one from 1"):format(word), 0)
  end
  return n
end

local readers <const> = {
  quick = function(o) o.quick = true end,
  all = function(o) o.all = true end,
  help = function(o) o.help = true end,
  peer = function(o, value) o.peer = value end, -- for tests
  config = function(o, value) o.configs[#o.configs + 1] = value end,
  lt = function(o, value, word) o.lt = count(value, word) end,
  rounds = function(o, value, word) o.rounds = count(value, word) end,
  regime = function(o, value)
    if not regimes.regimes[value] then
      error(("bench hopper: there is no regime '%s'; there are sus, bur and eq, and of attention "
        .. "one"):format(value), 0)
    end
    o.regimes[#o.regimes + 1] = value
  end,
}

local function read_options(...)
  local options, words = { configs = {}, regimes = {}, lt = 4, own = {} }, {}
  for _, word in ipairs { ... } do
    local key, value = word:match "^%-%-(%w+)=?(.*)$"
    local dtype, m, n, k = word:match "^(%w+):(%d+)x(%d+)x(%d+)$"
    if key and readers[key] then
      readers[key](options, value, word)
    elseif word:find "^%-" then
      error(("bench hopper: there is no option '%s'; there are --quick, --all, --config=NAME, "
        .. "--regime=NAME, --lt=N, --rounds=N and --help"):format(word), 0)
    elseif dtype then
      table.insert(options.own, row(dtype, tonumber(m), tonumber(n), tonumber(k)))
    elseif word == "attention" then
      options.attention = true
    elseif word == "majors" then
      options.majors = true
    else
      words[#words + 1] = word
    end
  end
  options.has_regimes = #options.regimes > 0
  if not options.has_regimes then options.regimes = { "sus", "bur" } end
  options.numbers = {}
  for name, r in pairs(options.quick and regimes.quick or regimes.regimes) do
    options.numbers[name] = setmetatable({ rounds = options.rounds }, { __index = r })
  end
  return options, words
end

-- {====== Operands ======

-- One buffer of random elements for each type, size and operand, which rows share.
local function buffer(buffers, dtype, n, seed)
  local key = ("%s %d %d"):format(dtype, n, seed)
  if buffers[key] == nil then buffers[key] = data.normal(ct[dtype], n, seed) end
  return buffers[key]
end

local function operands(p, buffers)
  local function matrix(t, rows, columns, is_column_major)
    return ct.view(t, (is_column_major and ct.layout or ct.row_major) { rows, columns })
  end
  local by_k = majors_of[p.majors or "TN"]
  local c = ct.tensor(ct[p.result], p.m * p.n)
  return { A = matrix(buffer(buffers, p.dtype, p.m * p.k, 1), p.m, p.k, not by_k[1]),
           B = matrix(buffer(buffers, p.dtype, p.n * p.k, 2), p.n, p.k, not by_k[2]),
           C = matrix(c, p.m, p.n), out = c }
end

-- The same product as a library takes it, which writes column-major: C' = B * A'.
local function as_library(p, set) return set.B, set.A, ct.view(set.out, ct.layout { p.n, p.m }) end

-- {====== Candidates ======

local function candidate(list, kind, name, launch, queue)
  local c = regimes.candidate(name, launch, queue)
  c.kind, c.launch = kind, queue and libraries.alone(launch) or launch
  list[#list + 1] = c
  return c
end

local function library(list, kind, name, launch)
  return candidate(list, kind, name, launch, libraries.queue())
end

local function add_lt(list, p, set, options, fast_sums)
  local B, A, C = as_library(p, set)
  local launches, why = libraries.cublas_lt(B, A, C,
    { algorithms = ALGORITHMS, workspace = WORKSPACE, fast_sums = fast_sums })
  if not launches then
    print("  cuBLASLt: " .. why)
    return
  end
  local all = {}
  for i, launch in ipairs(launches) do
    library(all, "lt", ("cublasLt %d of %d"):format(i, #launches), launch)
  end
  local first = all[1]
  local kept = regimes.fastest(all, options.lt, options.numbers)
  if list[1] == nil then -- no cublasGemmEx: the first stands for it
    first.name = first.name .. ", default"
    first.is_default = true
    table.insert(list, first)
  end
  for _, c in ipairs(kept) do
    if c ~= first or not first.is_default then list[#list + 1] = c end
  end
end

-- Of fp8, whose sums the tensor cores keep in fewer bits than f32 has: what cuBLASLt does without
-- leave to keep to that. Not what ratios are to.
local function add_promoted(list, p, set)
  local B, A, C = as_library(p, set)
  local launches = libraries.cublas_lt(B, A, C, { algorithms = 1, workspace = WORKSPACE })
  if launches then library(list, "promoted", "cublasLt, promoted sums", launches[1]) end
end

local function peers_of(p, set, options)
  local list = {}
  if not ct.device().sm then return list end
  local B, A, C = as_library(p, set)
  local default, is_fp8 = libraries.cublas(B, A, C), p.dtype == "f8e4m3"
  if default then library(list, "default", "cublasGemmEx default", default).is_default = true end
  add_lt(list, p, set, options, is_fp8)
  if is_fp8 then add_promoted(list, p, set) end
  return list
end

-- The names of the configurations to measure, the chosen one first.
local function choices(set, options, chosen)
  local names = { chosen }
  local function add(name) if name ~= chosen then names[#names + 1] = name end end
  for _, name in ipairs(options.configs) do add(name) end
  if options.all then
    for _, r in ipairs(configs.of(operator.problem(set.A, set.B, set.C))) do add(r.name) end
  end
  return names
end

-- A candidate of ours that was launched once; without it where it fails, which is said.
local function try(list, set, name, mark)
  local ok, launch, text = pcall(operator.prepare, set.A, set.B, set.C,
    { config = configs.by_name(name) })
  local why = launch
  if ok then
    ok, why = pcall(function()
      launch()
      ct.synchronize()
    end)
  end
  if ok then return candidate(list, "ours", mark .. text, launch) end
  print(("  %s: %s"):format(name or "matmul", why))
end

local function ours(list, set, options)
  local mine = try(list, set, nil, "* ")
  if mine then mine.is_chosen = true end
  local chosen = configs.choose(operator.problem(set.A, set.B, set.C)).name
  for i, name in ipairs(choices(set, options, chosen)) do
    if i > 1 then try(list, set, name, "  ") end
  end
end

-- {====== Results ======

-- Launches over poison; how the result differs from the reference's, and from one in f64.
local function check(c, set, reference)
  data.poison(set.out)
  c.launch()
  local result = data.compare(set.out, reference)
  result.error = data.product_error(set.A, set.B, set.C)
  return result
end

-- The default's result, in a tensor of its own; without one that of the host or, on a device, ours.
local function reference_of(list, p, set)
  local reference = ct.tensor(ct[p.result], p.m * p.n)
  if not ct.device().sm then
    if p.dtype:find "^f8" then -- of these the host's C would be f8, too
      local function wide_of(t) return ct.reference.cast(t, ct.f32) end
      local sums = ct.reference.matmul(wide_of(set.B), wide_of(set.A))
      ct.copy(ct.view(ct.reference.cast(sums, reference.dtype), p.m * p.n), reference)
      return reference
    end
    ct.reference.matmul(set.B, set.A, ct.view(reference, ct.layout { p.n, p.m }))
    return reference
  end
  data.poison(set.out)
  list[1].launch()
  ct.copy(set.out, reference)
  return reference
end

local function verdict(c, before, after)
  local is_worse = after.unequal > before.unequal or after.relative ~= after.relative
  local worst = is_worse and after or before
  local text = ("%.3g to f64"):format(worst.error)
  if worst.unequal > 0 then
    local percent = 100 * worst.unequal / worst.n
    text = ("%.2g %% differ by %.2g, %s"):format(percent, worst.relative, text)
  elseif not c.is_default then
    text = "equal"
  end
  return text .. (c.is_wrong and " WRONG" or "")
end

-- The most that rounding of the result and sums in f32 can be, of normal data, with half as much to
-- spare; fp8 sums have fewer bits.
local limits <const> = { bf16 = 2.5e-3, f16 = 3.2e-4, f8e4m3 = 5e-3, f8e5m2 = 5e-3 }

local function is_good(p, result) return result.error <= (limits[p.dtype] or 1e-3) end

-- {====== Lines ======

-- What ratios are to, by regime.
local function default_of(list)
  return function(regime)
    return tables.best(list, regime, function(c) return c.is_default end)
  end
end

local function lt_of(list)
  return function(regime)
    return tables.best(list, regime, function(c) return c.kind == "lt" end)
  end
end

local function print_row(p, list, options)
  print(p.name)
  tables.print(list, { flops = 2 * p.m * p.n * p.k, regimes = options.regimes,
                       peers = { { "default", default_of(list) }, { "Lt", lt_of(list) } },
                       title = "bits, error" })
end

-- The bars of the row for the configuration that matmul picks.
local function print_bars(p, list, options, score)
  local parts = {}
  for _, regime in ipairs(options.regimes) do
    local mine = tables.best(list, regime, function(c) return c.is_chosen end)
    local default, lt = default_of(list)(regime), lt_of(list)(regime)
    if regime == "sus" or regime == "bur" then
      tables.bar(score, parts, "default " .. regime:upper(), default, mine, p.bars.default)
      tables.bar(score, parts, "Lt " .. regime:upper(), lt, mine, p.bars.lt)
    end
  end
  tables.print_bars(parts)
end

-- {====== Running ======

local function check_all(list, p, set, reference)
  local results = {}
  for _, c in ipairs(list) do
    results[c] = check(c, set, reference)
    if c.kind == "ours" and not is_good(p, results[c]) then c.is_wrong = true end
  end
  return results
end

local function measure(p, options, buffers, score)
  local set = operands(p, buffers)
  local list = peers_of(p, set, options)
  ours(list, set, options)
  if #list == 0 then return end
  local reference = reference_of(list, p, set)
  local before = check_all(list, p, set, reference)
  for _, regime in ipairs(options.regimes) do regimes.time(list, regime, options.numbers) end
  local after = check_all(list, p, set, reference)
  for _, c in ipairs(list) do
    c.verdict = verdict(c, before[c], after[c])
    if c.is_wrong then score.wrong = score.wrong + 1 end
  end
  print_row(p, list, options)
  print_bars(p, list, options, score)
  reference:close()
  set.out:close()
end

local function run_rows(options, is_wanted, score)
  local buffers, n = {}, 0
  for _, p in ipairs(rows_of(options)) do
    if is_wanted(p) then
      measure(p, options, buffers, score)
      n = n + 1
      collectgarbage()
    end
  end
  for _, t in pairs(buffers) do t:close() end
  return n
end

-- Attention is timed by single launches, too.
local function run_attention(options, is_wanted, score, peer, why)
  local more = setmetatable({}, { __index = options })
  if not options.has_regimes then more.regimes = { "sus", "bur", "one" } end
  return attention.run(more, is_wanted, score, peer, why)
end

--- The arguments are those of the command.
function M.run(...)
  local options, words = read_options(...)
  if options.help then
    io.write(help)
    return
  end
  local began, score, n = tools.now(), tables.new_score(), 0
  local function is_wanted(p) return has_words(p, words) end
  local with_attention = options.attention
    or #words == 0 and not options.majors and #options.own == 0
  local peer, why
  if with_attention then peer, why = attention.start_peer(options.peer) end
  print(("%s; random normal data; sustained and burst as medians of rounds%s"):format(
    ct.device().name, options.quick and " (quick: a look, no result)" or ""))
  if not options.attention then n = run_rows(options, is_wanted, score) end
  if with_attention then n = n + run_attention(options, is_wanted, score, peer, why) end
  if n == 0 then print("hopper: no row has all of these words: " .. table.concat(words, " ")) end
  print(("%d of %d bars met, %d wrong, %.0f s"):format(score.met, score.all, score.wrong,
    (tools.now() - began) * 1e-3))
end

return M
