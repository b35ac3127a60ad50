-- few_rows.lua: products of few rows of bf16 with weights that are not in the cache, beside the
-- default of cuBLAS and the best of eight algorithms of cuBLASLt, all in turns. Each launch takes
-- the next of several copies of the operands.
--   make bench-tools && CUTTLE_DEVICE=cuda cuttle scripts/bench/few_rows.lua [--config=NAME ...]
--     [MxNxK ...]
-- A configuration is measured beside the chosen one. On the CPU engine it takes one small product,
-- to show that it runs.
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local ct = require "cuttle"
local configs = require "configs"
local data = require "data"
local operator = require "cuttle.matmul"
local regimes = require "regimes"
local beside = require "torch_beside"
local is_gpu <const> = ct.device().sm ~= nil

local COPIES_BYTES <const> = 400e6 -- of weights, so that none is in the cache
local ALGORITHMS <const>, WORKSPACE <const> = 8, 64 << 20
local BOUND <const> = 2e-2 -- relative, of a C of bf16
local numbers <const> = is_gpu and { eq = { rounds = 5, idle = 0, warm = 20, reps = 60 } }
  or { eq = { rounds = 1, idle = 0, warm = 1, reps = 1 } }

local sizes <const> = {}
for _, weight in ipairs { { 4096, 4096 }, { 14336, 4096 }, { 4096, 14336 } } do
  for _, m in ipairs { 1, 8, 16, 32, 64, 128 } do
    sizes[#sizes + 1] = { m, weight[1], weight[2] }
  end
end

local function operands(m, n, k, seed)
  local out = ct.tensor(ct.bf16, m * n)
  return { A = ct.view(data.normal(ct.bf16, m * k, seed), ct.row_major { m, k }),
           B = ct.view(data.normal(ct.bf16, n * k, seed + 1), ct.row_major { n, k }), out = out,
           C = ct.view(out, ct.row_major { m, n }), turned = ct.view(out, ct.layout { n, m }) }
end

-- A candidate that calls one of the launches after another; kind: whose it is.
local function add(list, kind, name, launches, queue)
  local i = 0
  local c = regimes.candidate(name, function()
    i = i % #launches + 1
    launches[i]()
  end, queue)
  c.kind = kind
  list[#list + 1] = c
end

-- The libraries write column-major: C' = B * A'. Returns the default's first result.
local function add_libraries(list, sets)
  local libraries = require "libraries"
  local default, lt = {}, {}
  for i, set in ipairs(sets) do
    default[i] = assert(libraries.cublas(set.B, set.A, set.turned))
    local all = assert(libraries.cublas_lt(set.B, set.A, set.turned,
      { algorithms = ALGORITHMS, workspace = WORKSPACE }))
    for j, launch in ipairs(all) do
      lt[j] = lt[j] or {}
      table.insert(lt[j], launch)
    end
  end
  add(list, "default", "default", default, libraries.queue())
  for j, launches in ipairs(lt) do add(list, "lt", "Lt " .. j, launches, libraries.queue()) end
  libraries.alone(default[1])()
  local expected = ct.tensor(ct.bf16, ct.size(sets[1].out))
  ct.copy(sets[1].out, expected)
  return expected
end

local function add_ours(list, sets, expected, config)
  local launches, name = {}, nil
  for i, set in ipairs(sets) do
    launches[i], name = operator.prepare(set.A, set.B, set.C,
      { config = config and configs.by_name(config) })
  end
  data.poison(sets[1].out)
  launches[1]()
  local relative = expected and data.compare(sets[1].out, expected).relative or 0
  add(list, "ours", name .. (relative <= BOUND and "" or " WRONG"), launches)
end

local function least(list, kind)
  local ms = math.huge
  for _, c in ipairs(list) do ms = c.kind == kind and math.min(ms, c.ms.eq) or ms end
  return ms
end

local function measure(size, names)
  local m, n, k = table.unpack(size)
  local list, sets = {}, {}
  for i = 1, is_gpu and math.ceil(COPIES_BYTES / (2 * n * k)) or 2 do
    sets[i] = operands(m, n, k, 2 * i)
  end
  local expected = is_gpu and add_libraries(list, sets) or nil
  add_ours(list, sets, expected)
  for _, name in ipairs(names) do add_ours(list, sets, expected, name) end
  regimes.time(list, "eq", numbers)
  for _, c in ipairs(list) do
    if c.kind == "ours" then
      print(("%dx%dx%d  %s: %.2f us, %.2f TB/s; of the default %.3f, of Lt's best %.3f"):format(m,
        n, k, c.name, 1e3 * c.ms.eq, 2e-9 * (n * k + m * k + m * n) / c.ms.eq,
        least(list, "default") / c.ms.eq, least(list, "lt") / c.ms.eq))
    end
  end
  for _, set in ipairs(sets) do
    for _, t in ipairs { set.A, set.B, set.out } do t:close() end
  end
end

local options = beside.arguments("16x4096x4096", sizes, { 8, 64, 128 })
for _, size in ipairs(options.sizes) do measure(size, options.configs) end
