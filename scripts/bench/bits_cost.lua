-- bits_cost.lua: what the contract bits = "batch_invariant" costs matmul: the ratio of its time to
-- that of the free choice, medians of alternating rounds in one process:
--   cuttle scripts/bench/bits_cost.lua [--rows] [--turns=15] [word ...]
-- Words choose problems: f16, f32, 8192, "16x4096x4096", columns. --rows times configurations of
-- the contract beside them, and some that are not shipped, for few rows of A. Without a GPU sizes
-- are tiny. C is row-major unless the line says "columns"; A and B are contiguous along K.
local ct = require "cuttle"
local configs, operator = require "cuttle.matmul_choice", require "cuttle.matmul"
local median = require "cuttle.lists".median
local on_gpu = ct.device().sm ~= nil
local BATCH_MS <const> = on_gpu and 15 or 1

local sizes <const> = {
  { "f16", 8192, 8192, 8192 }, { "f16", 16, 4096, 4096 }, { "f16", 16, 4096, 4096, "columns" },
  { "bf16", 1, 4096, 4096 }, { "f16", 32, 4096, 4096 }, { "f16", 64, 4096, 4096 },
  { "f16", 64, 4096, 4096, "columns" }, { "f16", 16, 14336, 4096 }, { "f32", 16, 4096, 4096 },
  { "f32", 16, 4096, 4096, "columns" }, { "f32", 32, 4096, 4096 }, { "f32", 64, 4096, 4096 },
  { "f32", 64, 4096, 4096, "columns" }, { "f32", 1, 4096, 4096 }, { "f32", 128, 4096, 4096 },
  { "f32", 256, 4096, 4096 }, { "f32", 16, 14336, 4096 }, { "f32", 4096, 4096, 4096 },
  { "f16", 256, 4096, 4096 }, { "bf16", 8, 4096, 11008 }, { "f16", 16, 1024, 4096 },
  { "f16", 1024, 4096, 4096 },
}

-- {====== Configurations that are not shipped ======

local function two_each(n) return 2 * n end

local function hopper(bM, bN, stages, rows, min_blocks)
  return { name = ("hopper %dx%dx64, %d stages%s"):format(bM, bN, stages,
             rows and (", %d rows"):format(rows) or ""),
           template = "cuttle.gemm_hopper", tile = { bM, bN, 64 }, stages = stages, rows = rows,
           min_blocks = min_blocks, schedule = "cooperative", groups = 1, store = { 1, 1 },
           order = "columns", blocks = two_each, pdl = true }
end

local function dots(bM, bN, bK, warps, stages)
  return { name = ("dots %dx%dx%d, %dx%d, %d"):format(bM, bN, bK, warps[1], warps[2], stages),
           template = "cuttle.gemm_dots", tile = { bM, bN, bK }, warps = warps, stages = stages,
           order = "serpentine" }
end

local halves <const> = {
  hopper(32, 64, 17, 32), hopper(32, 64, 8, 32, 2), hopper(128, 64, 8, 32), hopper(32, 64, 17),
  hopper(64, 64, 12), hopper(16, 64, 20), hopper(16, 64, 10, nil, 2),
}
local singles <const> = {
  dots(32, 16, 64, { 2, 2 }, 5), dots(16, 32, 64, { 2, 2 }, 6), dots(32, 32, 64, { 2, 2 }, 4),
  dots(64, 32, 32, { 4, 2 }, 5), dots(32, 64, 32, { 2, 4 }, 5), dots(64, 64, 32, { 2, 2 }, 4),
  dots(128, 64, 16, { 4, 2 }, 4), dots(64, 128, 16, { 2, 4 }, 4),
}
local others <const> = { f16 = halves, bf16 = halves, f32 = singles }

-- {====== Measuring ======

local function numbers(dtype, rows, columns, by_columns)
  local x = ct.tensor(ct[dtype], (by_columns and ct.layout or ct.row_major){ rows, columns })
  local fill = ct.kernel("fill", function(t)
    local i = ct.blockIdx.x * 256 + ct.threadIdx.x
    if i < ct.size(t) then t[i] = ct.cast(ct.cast(i % 8191, ct.f32) / 8191.0 - 0.5, t.dtype) end
  end)
  fill { grid = ct.cdiv(rows * columns, 256), block = 256 }(ct.view(x, ct.layout(rows * columns)))
  ct.synchronize()
  return x
end

-- Adds a candidate, if it keeps the contract and compiles.
local function add(list, label, A, B, C, options)
  local ok, launch, name = pcall(operator.prepare, A, B, C, options)
  local why = launch
  if ok then ok, why = pcall(function() launch() ct.synchronize() end) end
  if not ok then
    local text = tostring(why):gsub("^%S+: ", "")
    local is_refused = text:find("breaks bits", 1, true)
    if not is_refused then print("  " .. label .. ": " .. text:sub(1, 90)) end
    return
  end
  local once = math.max(ct.bench(launch, { batches = 1, reps = 3 }), 1e-3)
  list[#list + 1] = { label = label, name = name, launch = launch, times = {},
                      reps = math.max(3, math.ceil(BATCH_MS / once)) }
end

-- Of the shipped rows those that leave few multiprocessors idle.
local function add_rows(list, dtype, m, A, B, C)
  local p = operator.problem(A, B, C)
  for _, row in ipairs(configs.of(p)) do
    local area = row.tile[1] * row.tile[2]
    if m > 64 and area >= 4096 or area <= 8192 then
      add(list, row.name, A, B, C, { bits = "batch_invariant", config = row.name })
    end
  end
  for _, row in ipairs(on_gpu and others[dtype] or {}) do
    if configs.can_compute(row, p) then
      add(list, row.name, A, B, C, { bits = "batch_invariant", config = row })
    end
  end
end

local function show(list, title, most)
  for _, c in ipairs(list) do c.ms = median(c.times) end
  local free, contract = table.unpack(list)
  print(("%s: free %.5f ms (%s); contract %.5f ms, ratio %.3f (%s)"):format(title, free.ms,
    free.name, contract.ms, contract.ms / free.ms, contract.name:match "^[^:]*"))
  local rest = table.move(list, 3, #list, 1, {})
  table.sort(rest, function(a, b) return a.ms < b.ms end)
  for i = 1, math.min(most, #rest) do
    print(("  %.5f ms  ratio %.3f  %s"):format(rest[i].ms, rest[i].ms / free.ms, rest[i].label))
  end
end

local function measure(options, dtype, m, n, k, columns)
  local title = ("%s %dx%dx%d%s"):format(dtype, m, n, k, columns and " columns" or "")
  if not on_gpu then m, n, k = math.min(m, 64), n // 64, k // 64 end
  local A, B, C = numbers(dtype, m, k), numbers(dtype, n, k), numbers(dtype, m, n, columns)
  local list = {}
  add(list, "free", A, B, C, {})
  add(list, "contract", A, B, C, { bits = "batch_invariant" })
  if options.rows and m <= 256 then add_rows(list, dtype, m, A, B, C) end
  for _ = 1, on_gpu and options.turns or 1 do
    for _, c in ipairs(list) do
      c.times[#c.times + 1] = ct.bench(c.launch, { batches = 1, reps = c.reps })
    end
  end
  show(list, title, m <= 16 and n == 4096 and 3 or 2)
  for _, t in ipairs { A, B, C } do t:close() end
end

local options, words = { turns = 15 }, {}
for _, word in ipairs(arg) do
  local turns = word:match "^%-%-turns=(%d+)$"
  if turns then
    options.turns = tonumber(turns)
  elseif word == "--rows" then
    options.rows = true
  else
    words[#words + 1] = word
  end
end
for _, size in ipairs(sizes) do
  local dtype, m, n, k, order = table.unpack(size)
  local name = ("%s %dx%dx%d %s"):format(dtype, m, n, k, order or "rows")
  local is_wanted = #words == 0
  for _, word in ipairs(words) do is_wanted = is_wanted or name:find(word, 1, true) end
  if is_wanted then measure(options, dtype, m, n, k, order) end
end
