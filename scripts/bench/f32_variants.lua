-- f32_variants.lua: `cuttle scripts/bench/f32_variants.lua [--seconds=120] [word ...]`: products of
-- f32 on CUDA cores, by the shipped configuration and by candidates that differ in emission, tile,
-- slices and parts of K, beside cuBLAS. All of a problem take turns in one process: two short
-- rounds for all, then longer ones for the best and the shipped one. Words choose problems: "TN".
-- Without a GPU it compiles the candidates for the GPU of --sm, and prints what the assembler plans
-- for their loops (scripts/hot_loops.lua), the least cycles first.
package.path = "scripts/?.lua;" .. package.path
local ct = require "cuttle"
local configs = require "cuttle.matmul_choice"
local median = require "cuttle.lists".median
local operator = require "cuttle.matmul"
local loops = require "hot_loops"

local FINALISTS <const> = 4
local SHORT <const>, LONG <const> = { rounds = 2, ms = 4 }, { rounds = 9, ms = 15 }

-- {====== Candidates ======

local function row_of(name)
  for _, row in ipairs(configs.list) do
    if row.name == name then return row end
  end
end

local function text_of(fields)
  local words = {}
  for key, value in pairs(fields) do words[#words + 1] = key .. "=" .. tostring(value) end
  table.sort(words)
  return table.concat(words, " ")
end

-- A configuration like `from`, a row's name or a table of fields, with some fields changed. Equal
-- ones are one table, so that problems share their kernels.
local known = {}
local function like(from, changes, label)
  local words = text_of(changes.emission or {})
  local name = label .. (words ~= "" and "; " or "") .. words
  if known[name] then return known[name] end
  local row = { device = "cuda", template = "cuttle.gemm_simt", types = { f32 = true }, sm = 80 }
  for key, value in pairs(type(from) == "table" and from or row_of(from)) do row[key] = value end
  for key, value in pairs(changes) do row[key] = value end
  row.name = name
  known[name] = row
  return row
end

local function variants(from, label, list, split)
  local found = {}
  for i, emission in ipairs(list) do
    found[i] = { config = like(from, { emission = emission }, label), split = split or 1 }
  end
  return found
end

local function joined(...)
  local all = {}
  for _, list in ipairs{ ... } do table.move(list, 1, #list, #all + 1, all) end
  return all
end

-- A block of 128x64, or of 64x64, whose warps are in slices of K.
local function sliced(tile, warps, slices, more)
  local row = { tile = tile, lanes = { 8, 4 }, warps = warps, slices = slices, stages = 3,
                min_blocks = 1, order = "n2 ~m n", turn = "async" }
  for key, value in pairs(more or {}) do row[key] = value end
  return row
end

local two_turns <const> = {
  { unroll = 2 }, { unroll = 2, order = 2 }, { unroll = 2, order = 4 }, { unroll = 2, order = 6 },
  { unroll = 2, level = 1 }, { unroll = 2, level = 1, order = 2 },
  { unroll = 2, level = 1, order = 4 }, { unroll = 2, usage = 6 },
  { unroll = 2, registers = 248 }, { unroll = 2, registers = 196 },
}
local one_turn <const> = {
  {}, { level = 1 }, { registers = 200 }, { registers = 240 }, { order = 2 },
  { planned_registers = 224 },
}
local wide <const> = { tile = { 256, 128, 16 }, lanes = { 8, 4 }, warps = { 2, 4 }, stages = 4,
                       min_blocks = 1, order = "n ~m", turn = "async", lane_bits = { 4, 16 } }
local turned <const>, deep <const> = "simt 128x128x8 turned", { 128, 128, 16 }

local function turned_deep(list, split)
  local row = like(turned, { tile = deep }, "128x128x16")
  return variants(row, "128x128x16", list, split)
end

local function of_TN()
  return joined(variants(turned, "128x128x8", joined(one_turn, two_turns)),
    variants("simt 128x128x8 turned, small K", "128x128x8 bits 1 4", { {}, { unroll = 2 } }),
    turned_deep{ {}, { level = 1 }, { registers = 240 }, { order = 2 } },
    variants(wide, "256x128x16", { {}, { level = 1 } }))
end

local function of_NT()
  local list = {
    {}, { level = 1 }, { level = 1, order = 2 }, { level = 1, pin = true },
    { level = 1, registers = 248 }, { registers = 216 }, { registers = 208 },
    { planned_registers = 216, registers = 216 }, { pin = true }, { order = 2 }, { usage = 3 },
  }
  return joined(variants("simt 256x128x16", "256x128x16", list),
    variants(like("simt 256x128x16", { loads = "ba" }, "256x128x16 ba"), "256x128x16 ba",
      { {}, { level = 1 } }))
end

local function of_row_major()
  local list = {
    {}, { order = 2 }, { order = 2, unroll = 2 }, { unroll = 2 }, { unroll = 2, pin = true },
    { pin = true }, { pin = true, order = 2 }, { unroll = 4 }, { order = 2, usage = 6 },
    { level = 1, unroll = 4, order = 4, pin = true }, { level = 1, unroll = 2, usage = 6 },
    { level = 1, unroll = 4, order = 6, registers = 120 },
  }
  local name = "simt 128x64x16 turned"
  return joined(variants(name, "128x64x16", list),
    variants(like(name, { loads = "ba" }, "128x64x16 ba"), "128x64x16 ba",
      { {}, { order = 2 }, { pin = true }, { unroll = 2 }, { level = 1, unroll = 4, order = 4 } }))
end

-- 64 tiles of 128x128, 128 of 128x64: fewer than multiprocessors.
local function of_1024()
  local own = { {}, { unroll = 2 } }
  return joined(
    variants(sliced({ 128, 64, 16 }, { 2, 2 }, 2), "128x64x16, 2 slices",
      { {}, { unroll = 2 }, { level = 1 }, { order = 2 }, { unroll = 2, order = 2 } }),
    variants(sliced({ 128, 64, 32 }, { 2, 2 }, 2), "128x64x32, 2 slices", { {}, { level = 1 } }),
    variants(sliced({ 128, 64, 32 }, { 2, 2 }, 4), "128x64x32, 4 slices", own),
    variants(sliced({ 64, 64, 32 }, { 1, 2 }, 2, { min_blocks = 2 }), "64x64x32, 2 slices", own),
    variants(sliced({ 64, 64, 16 }, { 1, 2 }, 2, { min_blocks = 2 }), "64x64x16, 2 slices", own),
    variants(sliced({ 64, 64, 32 }, { 1, 2 }, 4, { min_blocks = 2 }), "64x64x32, 4 slices",
      { {} }),
    variants(sliced({ 128, 64, 16 }, { 2, 2 }, 1), "128x64x16, 4 warps", own),
    variants(sliced({ 64, 64, 16 }, { 1, 2 }, 1, { min_blocks = 4 }), "64x64x16, 2 warps", own),
    variants(turned, "128x128x8", { {}, { unroll = 2 } }, 2),
    variants(turned, "128x128x8", { {}, { unroll = 2 } }, 4),
    variants(sliced({ 128, 128, 16 }, { 2, 2 }, 2), "128x128x16, 2 slices", { {} }, 2))
end

local function of_deep_K()
  local found = {}
  for _, split in ipairs{ 8, 16 } do
    found = joined(found,
      variants(turned, "128x128x8", { {}, { unroll = 2 }, { unroll = 2, order = 4 },
                                      { unroll = 2, level = 1 } }, split),
      turned_deep({ {}, { level = 1 } }, split),
      variants(sliced({ 128, 128, 16 }, { 2, 2 }, 2), "128x128x16, 2 slices", { {} }, split))
  end
  return joined(found,
    variants(sliced({ 128, 64, 16 }, { 2, 2 }, 2), "128x64x16, 2 slices", { {}, { unroll = 2 } },
      4),
    variants(sliced({ 128, 64, 32 }, { 2, 2 }, 4), "128x64x32, 4 slices", { {} }, 4))
end

-- {====== Problems ======

local function problem(majors, m, n, k, bar, candidates)
  return { majors = majors, m = m, n = n, k = k, bar = bar, candidates = candidates,
           name = ("%s %dx%dx%d"):format(majors, m, n, k) }
end

local problems <const> = {
  problem("NT", 4096, 4096, 4096, 1.03, of_NT),
  problem("TN", 4096, 4096, 4096, 1.005, of_TN),
  problem("TN", 8192, 8192, 8192, 1.0, of_TN),
  problem("TN", 5120, 5120, 256, 1.19, of_TN),
  problem("row-major", 5120, 5120, 256, 1.2, of_row_major),
  problem("TN", 1024, 1024, 1024, 1.0, of_1024),
  problem("TN", 512, 512, 8192, 1.0, of_deep_K),
}

local N_RANDOM <const> = 1 << 20
local MOST <const> = ct.device().sm and 8192 * 8192 or N_RANDOM
local spread = ct.kernel("spread", function(x, from) -- in another order for each part of x
  local i = ct.blockIdx.x * ct.blockDim.x + ct.threadIdx.x
  x[i] = from[(i % N_RANDOM) ~ (i // N_RANDOM * 7919 % N_RANDOM)]
end)

local buffers = {}
local function random(number, n)
  if not buffers[number] then
    local from = ct.rand(ct.f32, N_RANDOM, -1, 1)
    buffers[number] = ct.tensor(ct.f32, MOST)
    spread{ grid = MOST // 256, block = 256 }(buffers[number], from)
  end
  return ct.view(buffers[number], ct.layout(n))
end

-- A, B, C, and R for cuBLAS: that of row-major problems writes R' = B * A'.
local function operands_of(p)
  local is_row_major = p.majors == "row-major"
  local function matrix(t, rows, columns, by_rows)
    return ct.view(t, by_rows and ct.row_major{ rows, columns } or ct.layout{ rows, columns })
  end
  local c, r = ct.tensor(ct.f32, p.m * p.n), ct.tensor(ct.f32, p.m * p.n)
  local A = matrix(random(1, p.m * p.k), p.m, p.k, is_row_major or p.majors:sub(1, 1) == "T")
  local B = matrix(random(2, p.n * p.k), p.n, p.k, p.majors:sub(2, 2) == "N")
  local set = { A = A, B = B, C = matrix(c, p.m, p.n, is_row_major),
                R = matrix(r, p.m, p.n, is_row_major) }
  local X, Y, m, n = A, B, p.m, p.n
  if is_row_major then X, Y, m, n = B, A, n, m end
  local out = ct.view(r, ct.layout{ m, n })
  function set.blas() ct.reference.matmul(X, Y, out) end
  return set
end

-- {====== Times ======

local function batch(f, ms_each, ms)
  return ct.bench(f, { batches = 1, reps = math.max(1, math.ceil(ms / ms_each)) })
end

-- Rounds in which cuBLAS and all candidates take a turn each; every second one backwards. A ratio
-- is to the mean of cuBLAS's times before and after.
local function race(set, list, how)
  for _, c in ipairs(list) do c.times, c.ratios = {}, {} end
  local before = batch(set.blas, set.blas_ms, how.ms)
  for round = 1, how.rounds do
    for i = 1, #list do
      local c = list[round % 2 == 1 and i or #list + 1 - i]
      local ms = batch(c.launch, c.ms, how.ms)
      local after = batch(set.blas, set.blas_ms, how.ms)
      table.insert(c.times, ms)
      table.insert(c.ratios, 0.5 * (before + after) / ms)
      before = after
    end
  end
  for _, c in ipairs(list) do c.ms, c.ratio = median(c.times), median(c.ratios) end
end

-- Is C what cuBLAS gives, in its first and last corner?
local function is_right(p, set)
  local rows, columns = math.min(p.m, 512), math.min(p.n, 512)
  for _, at in ipairs{ { 0, 0 }, { p.m // rows - 1, p.n // columns - 1 } } do
    local C, R = ct.tile(set.C, { rows, columns }, at), ct.tile(set.R, { rows, columns }, at)
    if not ct.allclose(C, R, { rtol = 1e-5, atol = p.k * 2 ^ -22 }) then return false end
  end
  return true
end

-- Adds launch and time; false if it cannot run, or is wrong, which it prints.
local function prepare(p, set, c)
  local ok, launch, name, steps = pcall(operator.prepare, set.A, set.B, set.C,
    { config = c.config, split = c.split })
  if not ok then
    print(("  %-50s %s"):format(c.config.name, launch))
    return false
  end
  c.launch, c.name = launch, name
  ct.fill(set.C, 0)
  ok, c.why = pcall(launch)
  if not ok or not is_right(p, set) then
    print(("  %-50s %s"):format(name, c.why or "WRONG"))
    return false
  end
  local step = steps[1]
  local known_info, info = pcall(function()
    return step.kernel(step.launch):info(table.unpack(step.args))
  end)
  c.registers = known_info and info.registers or 0
  c.ms = ct.bench(launch, { batches = 1, reps = 2 })
  return true
end

local function print_one(p, c, mark)
  local flops = 2 * p.m * p.n * p.k / c.ms * 1e-9
  print(("  %s %-46s split %2s %3d registers %9.4f ms %6.1f TFLOP/s  ratio %.3f (%.3f to %.3f)")
    :format(mark, c.name, c.split or "-", c.registers, c.ms, flops, c.ratio,
      math.min(table.unpack(c.ratios)), math.max(table.unpack(c.ratios))))
end

local function by_ratio(a, b) return a.ratio > b.ratio end

local function measure(p, deadline)
  local set, list = operands_of(p), {}
  set.blas()
  set.blas_ms = ct.bench(set.blas, { batches = 1, reps = 2 })
  local shipped = { is_shipped = true }
  for _, c in ipairs(joined({ shipped }, p.candidates())) do
    if os.time() < deadline and prepare(p, set, c) then list[#list + 1] = c end
  end
  race(set, list, SHORT)
  table.sort(list, by_ratio)
  print(("%s, bar %.3f: %d candidates, cuBLAS %.4f ms"):format(p.name, p.bar, #list, set.blas_ms))
  for _, c in ipairs(list) do print_one(p, c, c.is_shipped and "*" or " ") end
  local best = {}
  for i, c in ipairs(list) do
    if i <= FINALISTS or c.is_shipped then best[#best + 1] = c end
  end
  race(set, best, LONG)
  table.sort(best, by_ratio)
  print(("%s, the best in longer rounds (* is shipped, ! reaches %.3f)"):format(p.name, p.bar))
  for _, c in ipairs(best) do
    print_one(p, c, c.is_shipped and "*" or c.ratio >= p.bar and "!" or " ")
  end
end

-- {====== Without a GPU ======

local function plan_one(set, c)
  local steps = select(3, operator.prepare(set.A, set.B, set.C, { config = c.config, split = 1 }))
  local launch = steps[1].kernel(steps[1].launch)
  local cubin = launch:cubin(table.unpack(steps[1].args))
  local symbol = launch:source(table.unpack(steps[1].args))
    :match "__launch_bounds__%b()%s*([%w_]+)%("
  local kinds, n, cycles = loops.count(cubin, symbol)
  local registers, stack = loops.resources(cubin, symbol)
  return { cost = cycles / kinds.FFMA,
           text = ("%-50s %3d registers, %d bytes of stack, %.4f instructions, %.4f conflicts")
             :format(c.config.name, registers, stack, n / kinds.FFMA,
               loops.bank_conflicts(cubin, symbol) / kinds.FFMA) }
end

local function plan(p)
  local small = { majors = p.majors, m = 256, n = 256, k = 64 }
  local set, list = operands_of(small), {}
  for _, c in ipairs(p.candidates()) do list[#list + 1] = plan_one(set, c) end
  table.sort(list, function(a, b) return a.cost < b.cost end)
  print(p.name .. ": cycles that are planned for each multiply-add of a warp")
  for _, r in ipairs(list) do print(("  %.4f  %s"):format(r.cost, r.text)) end
end

-- {====== Running ======

local seconds, words = 120, {}
for _, word in ipairs(arg) do
  seconds = tonumber(word:match "^%-%-seconds=(%d+)$") or seconds
  if not word:find "^%-%-" then words[#words + 1] = word end
end

local began, has_gpu, left = os.time(), ct.device().sm ~= nil, {}
for _, p in ipairs(problems) do
  local is_wanted = true
  for _, word in ipairs(words) do is_wanted = is_wanted and p.name:find(word, 1, true) end
  if is_wanted then left[#left + 1] = p end
end
for i, p in ipairs(left) do
  if has_gpu then -- each may take its part of the time that is left, to prepare candidates
    measure(p, os.time() + (seconds - (os.time() - began)) // (#left - i + 1))
    collectgarbage()
  else
    plan(p)
  end
end
print(("%d s in all"):format(os.time() - began))
