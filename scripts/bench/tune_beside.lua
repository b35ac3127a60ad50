-- tune_beside.lua: what `tune` finds, beside configurations that were chosen by hand:
--   cuttle scripts/bench/tune_beside.lua [word ...]     sgemm softmax stencil matmul; else all
-- For each kernel: the best time by tune and that of the hand's configuration, both measured in
-- turns afterwards, their ratio, the seconds that tuning took, the configurations and the launches.
-- Give CUTTLE_CACHE a new folder, so that all kernels are compiled. TUNE_BUDGET=10 lets the model
-- choose that many, and TUNE_SMALL=1 takes small tensors. TUNE_PARTS=1 prints the seconds of parts
-- of each search. tune_triton.py is the same for Triton.
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local ct = require "cuttle"
local example = require "example"
local median = require "cuttle.lists".median
local parts = os.getenv "TUNE_PARTS" and require "tune_parts"
local operator = require "cuttle.matmul"
local cdiv, size, kernel, layout = ct.cdiv, ct.size, ct.kernel, ct.layout
local on_gpu = ct.device().sm ~= nil
local is_small = not on_gpu or os.getenv "TUNE_SMALL" ~= nil
local TURNS <const>, BATCH_MS <const> = 9, 20

local cases = {}

-- Numbers from 0 to 1; the host would take long to draw them.
local function numbers(shape)
  local x = ct.tensor(ct.f32, ct.layout(shape))
  local fill = kernel("fill", function(t)
    local i = ct.blockIdx.x * 256 + ct.threadIdx.x
    if i < size(t) then t[i] = ct.cast(i % 65536 * 16273 % 65536, ct.f32) / 65536.0 end
  end)
  local flat = ct.view(x, layout(size(x)))
  fill { grid = cdiv(size(x), 256), block = 256 }(flat)
  return x
end

-- {====== CuTe's sgemm_sm80, NT ======

local sgemm_sm80 = example.run_to("randn", "sgemm_sm80")

-- `tm` by `tn` threads.
local function sgemm(config)
  local bM, bN, bK = table.unpack(config.tile)
  local tm, tn = table.unpack(config.threads)
  local n_threads = tm * tn
  local g2s_m = math.min(bM // 4, n_threads)
  local copy_atom = ct.atom("SM80_CP_ASYNC_CACHEALWAYS<u128>", ct.f32)
  local k = sgemm_sm80.make_gemm({
    sA = layout { bM, bK, config.stages }, sB = layout { bN, bK, config.stages },
    g2s = ct.tiled_copy(copy_atom, layout { g2s_m, n_threads // g2s_m }, layout { 4, 1 }),
    s2r = ct.atom("UniversalCopy<u32>", ct.f32),
    mma = ct.tiled_mma("UniversalFMA<f32>", { tm, tn }),
  }, sgemm_sm80.by_hand)
  return function(A, B, C)
    k { grid = cdiv({ size(A, 0), size(B, 0) }, { bM, bN }), block = n_threads }(1.0, A, B, 0.0, C)
  end
end

function cases.sgemm()
  local m, n, k = 5120, 5120, 4096
  if is_small then m, n, k = 256, 256, 32 end
  return {
    name = ("sgemm_sm80 NT %dx%dx%d"):format(m, n, k), f = sgemm,
    space = { tile = { { 128, 128, 8 }, { 128, 128, 16 }, { 128, 64, 16 }, { 64, 64, 16 },
                       { 256, 128, 8 } },
              threads = { { 16, 16 }, { 16, 8 }, { 32, 8 } }, stages = ct.range(3, 5) },
    hand = { tile = { 128, 128, 8 }, threads = { 16, 16 }, stages = 3 },
    options = { tolerance = { rtol = 1e-4, atol = 1e-5 * k ^ 0.5 },
      where = function(c)
        local values = c.tile[1] * c.tile[2] // (c.threads[1] * c.threads[2])
        return values <= 128
          and c.tile[1] * c.tile[3] % (4 * c.threads[1] * c.threads[2]) == 0
          and c.tile[2] * c.tile[3] % (4 * c.threads[1] * c.threads[2]) == 0
          and c.tile[2] % (4 * math.min(c.tile[1] // 4, c.threads[1] * c.threads[2])) == 0
      end },
    args = { numbers({ m, k }), numbers({ n, k }), ct.zeros(ct.f32, { m, n }) },
  }
end

-- {====== softmax, a row in registers ======

local make_resident = example.run_to("randn", "softmax").make_resident

local function softmax(config)
  local made = {}
  return function(x, y)
    local deep = size(x, 0) // (config.vector * config.threads)
    made[deep] = made[deep] or make_resident(layout { config.vector, config.threads, deep })
    made[deep] { grid = size(x, 1), block = config.threads }(x, y)
  end
end

local function softmax_case(columns, rows)
  if is_small then columns, rows = columns // 8, 16 end
  return {
    name = ("softmax %dx%d"):format(rows, columns), f = softmax,
    space = { threads = { 32, 64, 128, 256, 512, 1024 }, vector = { 1, 2, 4 } },
    hand = { threads = columns >= 8192 and 512 or columns >= 1024 and 128 or 32, vector = 4 },
    options = { where = function(c, x)
      local each = c.threads * c.vector
      return size(x, 0) % each == 0 and size(x, 0) // each * c.vector <= 64
    end },
    args = { numbers({ columns, rows }), ct.zeros(ct.f32, { columns, rows }) },
  }
end

function cases.softmax() return softmax_case(8192, 8192), softmax_case(1024, 32768) end

-- {====== A user's stencil ======

local stencil = example.run_to("tune", "tune_stencil").stencil

function cases.stencil()
  local n = is_small and 32 or 512
  return {
    name = ("stencil %dx%dx%d"):format(n, n, n), f = stencil,
    space = { block = { { 32, 4 }, { 32, 8 }, { 64, 2 }, { 64, 4 }, { 128, 1 }, { 128, 2 },
                        { 16, 16 }, { 256, 1 }, { 32, 16 } }, deep = { 1, 2, 4, 8 } },
    hand = { block = { 32, 8 }, deep = 1 }, -- what one writes without measuring
    options = {}, args = { numbers({ n, n, n }), ct.zeros(ct.f32, { n, n, n }) },
  }
end

-- {====== The operator matmul, f32 ======

local simt <const> = {
  ["256x128x16"] = { { 2, 4 }, 1 }, ["128x128x8"] = { { 2, 2 }, 2 },
  ["128x128x16"] = { { 2, 2 }, 2 }, ["128x64x16"] = { { 2, 2 }, 4 },
  ["64x64x16"] = { { 1, 2 }, 6 }, ["64x64x8"] = { { 1, 2 }, 6 }, ["128x64x8"] = { { 2, 2 }, 4 },
}

local function product(config)
  local row, tile, options = simt[config.tile], {}, {} -- no row: as the operator chooses
  for n in config.tile:gmatch "%d+" do tile[#tile + 1] = math.tointeger(tonumber(n)) end
  if row then
    options.config = { name = config.tile, template = "cuttle.gemm_simt", tile = tile,
      lanes = { 8, 4 }, warps = row[1], stages = config.stages, min_blocks = row[2],
      order = "m2 ~n m" }
  end
  local made = setmetatable({}, { __mode = "k" })
  return function(A, B, C)
    made[C] = made[C] or operator.prepare(A, B, C, options)
    made[C]()
  end
end

function cases.matmul()
  if not on_gpu then return nil end -- cp.async of templates for sm_80 on
  local tiles = {}
  for name in pairs(simt) do tiles[#tiles + 1] = name end
  table.sort(tiles)
  local list = {}
  for i, s in ipairs { { 1024, 1024, 1024 }, { 2048, 2048, 2048 }, { 512, 512, 8192 } } do
    local m, n, k = table.unpack(s)
    list[i] = {
      name = ("matmul f32 NT %dx%dx%d"):format(m, n, k), f = product,
      space = { tile = tiles, stages = { 2, 3, 4 } }, hand = { tile = "chosen", stages = 0 },
      options = { tolerance = { rtol = 1e-4, atol = 1e-5 * k ^ 0.5 } },
      args = { numbers({ m, k }), numbers({ n, k }), ct.zeros(ct.f32, { m, n }) },
    }
  end
  return table.unpack(list)
end

-- {====== Beside each other ======

local function launcher(f, config, args)
  local run = f(config)
  return function() run(table.unpack(args)) end
end

local function time(launch, reps) return (ct.bench(launch, { batches = 1, reps = reps })) end

-- In turns: ms of each, and the median of the turns' ratios.
local function compare(ours, hand)
  local once = math.max(time(ours, 1), time(hand, 1), 1e-3)
  local reps = math.max(1, math.min(2000, math.ceil(BATCH_MS / once)))
  local a, b, ratios = {}, {}, {}
  for i = 1, on_gpu and TURNS or 1 do
    a[i], b[i] = time(ours, reps), time(hand, reps)
    ratios[i] = b[i] / a[i]
  end
  return median(a), median(b), median(ratios)
end

local function measure(case)
  local path = os.tmpname()
  os.remove(path)
  case.options.file, case.options.name = path, case.name
  case.options.budget = math.tointeger(tonumber(os.getenv "TUNE_BUDGET" or ""))
  local tuned = ct.tune(case.f, case.space, case.options)
  local config, row = tuned:tune(table.unpack(case.args))
  local of_parts = parts and parts.text()
  os.remove(path)
  local n_refused = 0
  for _, c in ipairs(tuned.tried) do n_refused = n_refused + (c.why and 1 or 0) end
  local ours, hand, ratio = compare(launcher(case.f, config, case.args),
    launcher(case.f, case.hand, case.args))
  print(("%-28s %-44s %s, tune %.4f ms, by hand %.4f ms, ratio %.3f; %.1f s, "
    .. "%d configurations, %d refused, %d launches"):format(case.name, row.config, row.how, ours,
    hand, ratio, tuned.seconds, #tuned.tried, n_refused, math.tointeger(tuned.runs)))
  if of_parts then print("  " .. of_parts) end
end

local words = #arg > 0 and arg or { "sgemm", "softmax", "stencil", "matmul" }
print("on " .. ct.device().name)
if parts then parts.begin() end
for _, word in ipairs(words) do
  if not cases[word] then error("there is no case " .. word, 0) end
  for _, case in ipairs { cases[word]() } do
    measure(case)
    collectgarbage()
  end
end
