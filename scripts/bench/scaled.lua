-- scaled.lua: products of f8e4m3 with scales (docs/matmul.md#scales) beside PyTorch's
-- torch._scaled_mm, which calls cuBLASLt, in a process of its own (scaled_peer.py), in the regimes
-- of regimes.lua. Scales are for all of an operand, for rows, 1x128 by 128x128 and 1x128 by 1x128.
--   make bench-tools && CUTTLE_DEVICE=cuda cuttle scripts/bench/scaled.lua [--quick]
--     [--kind=NAME ...] [--config=NAME ...] [MxNxK ...]
-- Names of kinds are all, rows, block and blocks; a configuration, also one of configs.lua, is
-- measured beside the chosen one.
-- On the CPU engine it takes one small row, to show that it runs.
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local ct = require "cuttle"
local configs = require "configs"
local data = require "data"
local operator = require "cuttle.matmul"
local beside = require "torch_beside"

local BLOCK <const> = 128

local sizes <const> = { { 8192, 8192, 8192 }, { 4096, 7168, 2048 }, { 4096, 4096, 7168 },
                        { 128, 7168, 2048 }, { 4096, 7168, 16384 } }
local kinds <const> = { "all", "rows", "1x128 by 128x128", "1x128 by 1x128" }
local short <const> = { all = kinds[1], rows = kinds[2], block = kinds[3], blocks = kinds[4] }

-- {====== Ours ======

local function filled(extents)
  return data.uniform(ct.tensor(ct.f32, ct.layout(extents)), 7)
end

-- By kind; those of A along M, so that threads that read rows side by side read one line.
local function scales_of(kind, m, n, k)
  local deep = ct.cdiv(k, BLOCK)
  if kind == "all" then return filled { 1 }, filled { 1 } end
  if kind == "rows" then return filled { m }, filled { n } end
  if kind == "1x128 by 1x128" then return filled { m, deep }, filled { n, deep } end
  return filled { m, deep }, filled { ct.cdiv(n, BLOCK), deep }
end

local function operand(rows, k, seed)
  return ct.view(data.normal(ct.f8e4m3, rows * k, seed), ct.row_major { rows, k })
end

-- How matmul is told.
local function how(set, name)
  return { scale_a = set.scale_a, scale_b = set.scale_b, config = name }
end

-- What the plain kernel computes.
local function plain(set)
  return operator.matmul(set.A, set.B, ct.tensor(ct.bf16, set.C.layout),
    how(set, ct.device().sm and "simple 64x64x16" or "cpu 32x32x8"))
end

-- A candidate, compared with that. config: nil for what matmul chooses.
local function ours(list, set, expected, config)
  local ok, launch, name = pcall(operator.prepare, set.A, set.B, set.C,
    how(set, config and configs.by_name(config)))
  if not ok then
    print(("  %s: %s"):format(config or "matmul", launch))
    return
  end
  beside.add(list, (config and "  " or "* ") .. name, launch, set.C, expected)
end

-- {====== Rows ======

local function measure(kind, size, options, peer)
  local m, n, k = table.unpack(size)
  local list, scale_a, scale_b = {}, scales_of(kind, m, n, k)
  local set = { A = operand(m, k, 1), B = operand(n, k, 2), scale_a = scale_a, scale_b = scale_b,
                C = ct.tensor(ct.bf16, ct.row_major { m, n }) }
  local expected = plain(set)
  ours(list, set, expected)
  for _, config in ipairs(options.configs) do ours(list, set, expected, config) end
  if peer then
    beside.add_peer(list, peer, "torch._scaled_mm", "data %s %d %d %d", (kind:gsub(" ", "_")), m,
      n, k)
  end
  beside.time(list, ("f8e4m3 %dx%dx%d, %s"):format(m, n, k, kind), 2 * m * n * k, options)
  for _, t in pairs(set) do t:close() end
end

local function takes_kind(options, word)
  local kind = short[word:match "^%-%-kind=(.*)$" or 0]
  if not kind then return false end
  options.kinds = options.kinds or {}
  table.insert(options.kinds, kind)
  return true
end

local options = beside.arguments("4096x4096x4096", sizes, { 40, 136, 256 }, takes_kind)
local peer = beside.start "scaled_peer"
for _, size in ipairs(options.sizes) do
  for _, kind in ipairs(options.kinds or kinds) do measure(kind, size, options, peer) end
end
if peer then peer:close() end
