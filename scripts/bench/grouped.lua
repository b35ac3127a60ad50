-- grouped.lua: rows in groups, each multiplied by a matrix of its own (docs/matmul.md#groups),
-- beside PyTorch's torch._grouped_mm, which runs in a process of its own (grouped_peer.py), and
-- beside one product of as many rows, in the regimes of regimes.lua. In bf16; all operands are
-- contiguous along K. Groups are equal or of random sizes, one of these empty.
--   make bench-tools && CUTTLE_DEVICE=cuda cuttle scripts/bench/grouped.lua [--quick]
--     [--config=NAME ...] [GxMxNxK ...]
-- A configuration is measured beside the chosen one. On the CPU engine it takes one small row.
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local ct = require "cuttle"
local beside = require "torch_beside"
local configs = require "configs"
local data = require "data"
local operator = require "cuttle.matmul"

local sizes <const> = { { 32, 16384, 2048, 2048 }, { 8, 8192, 4096, 2048 } }

-- Where groups end.
local function equal_ends(n, m)
  local ends = {}
  for g = 1, n do ends[g] = m * g // n end
  return ends
end

local function random_ends(n, m)
  local ends = {}
  for g = 1, n - 1 do ends[g] = math.random(0, m) end
  ends[n], ends[1] = m, 0 -- the first one is empty
  table.sort(ends)
  return ends
end

local function operand(n, extents, strides, seed)
  return ct.view(data.normal(ct.bf16, n, seed), ct.layout(extents, strides))
end

local function ours(list, set, expected, config)
  local ok, launch, name = pcall(operator.prepare, set.A, set.B, set.C,
    { groups = set.ends, config = config and configs.by_name(config) })
  if not ok then
    print(("  %s: %s"):format(config or "matmul", launch))
    return
  end
  beside.add(list, (config and "  " or "* ") .. name, launch, set.C, expected)
end

-- A single product of as many rows.
local function one(list, set)
  local B = set.B(ct._, ct._, 0)
  local launch, name = operator.prepare(set.A, B, set.C)
  local expected = operator.matmul(set.A, B, ct.tensor(ct.bf16, set.C.layout))
  beside.add(list, "  one product: " .. name, launch, set.C, expected)
end

local function measure(size, ends, how, options, peer)
  local n_groups, m, n, k = table.unpack(size)
  local set = { A = operand(m * k, { m, k }, { k, 1 }, 1),
                B = operand(n_groups * n * k, { n, k, n_groups }, { k, 1, n * k }, 2),
                C = ct.tensor(ct.bf16, ct.row_major { m, n }),
                ends = ct.from_table(ct.i32, ends):to(ct.zeros(ct.f32, 1).device) }
  local expected = operator.matmul(set.A, set.B, ct.tensor(ct.bf16, set.C.layout),
    { groups = set.ends, config = ct.device().sm and "mma 64x64x64" or "cpu 32x32x8" })
  local list = {}
  ours(list, set, expected)
  for _, config in ipairs(options.configs) do ours(list, set, expected, config) end
  one(list, set)
  if peer then
    beside.add_peer(list, peer, "torch._grouped_mm", "data %d %d %d %s", m, n, k,
      table.concat(ends, ","))
  end
  beside.time(list, ("bf16, %d %s groups of %d rows, %dx%d"):format(n_groups, how, m, n, k),
    2 * m * n * k, options)
  for _, t in pairs(set) do t:close() end
end

math.randomseed(1)
local options = beside.arguments("32x16384x2048x2048", sizes, { 3, 40, 24, 32 })
local peer = beside.start "grouped_peer"
for _, size in ipairs(options.sizes) do
  measure(size, equal_ends(size[1], size[2]), "equal", options, peer)
  measure(size, random_ends(size[1], size[2]), "random", options, peer)
end
if peer then peer:close() end
