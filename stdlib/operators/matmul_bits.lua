-- matmul_bits.lua: matmul's option `bits`: the order in which a configuration sums an element of C,
-- and the choice among the configurations of one order.
local arguments = require "cuttle.arguments"
local bits = require "cuttle.bits"
local configs = require "cuttle.matmul_choice"
local lists = require "cuttle.lists"
local memo = require "cuttle.memo"
local split = require "cuttle.gemm_split"
local tables = require "cuttle.matmul_table"
local tiles = require "cuttle.tiles"
local tma = require "cuttle.tma_rules"
local M = {}

local HOPPER <const>, MMA <const> = "cuttle.gemm_hopper", "cuttle.gemm_mma"
local SIMPLE <const>, SIMT <const> = "cuttle.gemm_simple", "cuttle.gemm_simt"
local DOTS <const> = "cuttle.gemm_dots"
local STEP_BITS <const> = 256 -- of K, that an instruction of tensor cores takes
local TMA_BITS <const> = 128  -- that strides are multiples of
local LEAST_N <const> = 32    -- for which the contract has wgmma

local function fail(format, ...) tiles.fail("matmul", format, ...) end

-- {====== Orders ======

local steps <const> = { [HOPPER] = "wgmma of k = %d", [MMA] = "mma of k = %d",
                        ["cuttle.gemm_tcgen05"] = "tcgen05_mma of k = %d",
                        [SIMPLE] = "fma", [SIMT] = "fma", [DOTS] = "fma" }

local function is_exact(p) return p.sum.name:find "^[iu]" ~= nil end

local function splits_level(parts)
  return { "splits", parts == 1 and "1" or ("%d, added in order"):format(parts) }
end

-- Zeros after the last product make -0 into +0. Where groups of K end is not known here.
local function end_level(row, p, k)
  if p.groups and p.groups.mode == "k" then return ("tiles of %d"):format(row.tile[3]) end
  return k % row.tile[3] == 0 and "none" or "some"
end

--- The levels of the order in which a row of matmul_configs.lua sums `parts` of K, of k each. Sums
--- of integers have the same bits in any order.
function M.order(row, p, parts, k)
  if is_exact(p) then return { { "sums", p.sum.name .. ", exact in any order" } } end
  if k == 0 then return { { "sums", "none" } } end
  local slices = row.slices or row.k_blocks or 1
  return {
    { "instruction", (steps[row.template] or row.template):format(STEP_BITS // p.dtype.bits) },
    { "sums", row.sums or p.sum.name },
    { "zeros after K", end_level(row, p, k) },
    { "slices", slices == 1 and "1" or ("%d of tiles of %d"):format(slices, row.tile[3]) },
    splits_level(parts),
  }
end

-- {====== The order of a contract ======

-- Of those to whom rows of A and C belong, M, nothing is looked at: what B, the weights, is and N.
local function takes_wgmma(p)
  local types = { f16 = true, bf16 = true, tf32 = true, f8e4m3 = true, f8e5m2 = true }
  local B, major, n = p.B, p.b_major, p.n
  if p.swapped then B, major, n = p.A, p.a_major, p.m end
  return p.target == "cuda" and p.sm == 90 and types[p.type_name] and not p.groups
    and not p.nested and n >= LEAST_N and n * p.c_dtype.bits % TMA_BITS == 0
    and (p.dtype.bits == 16 or major == "k")
    and tma.trouble(B, "B", { "N", "K", "batches" }, major == "k" and 2 or 1, 2) == nil
end

local function takes_mma(p)
  local types = { f16 = true, bf16 = true, tf32 = true }
  return p.target == "cuda" and p.sm >= 80 and types[p.type_name]
end

-- A row that is like those of the class. The depth of its tiles is what most of them have.
local function invariant_row(p)
  local line = 1024 // p.dtype.bits
  if takes_wgmma(p) then return { template = HOPPER, tile = { 0, 0, line } } end
  if takes_mma(p) then return { template = MMA, tile = { 0, 0, line } } end
  return { template = SIMPLE,
           tile = { 0, 0, p.target == "cpu" and 32 or p.dtype.bits <= 32 and 16 or 8 } }
end

local function row_of_name(name, p)
  local names = {}
  for _, row in ipairs(configs.list) do
    local is_for = row.types == nil or row.types[p.type_name]
    if is_for and row.name == name then return row end
    if is_for then names[#names + 1] = "'" .. row.name .. "'" end
  end
  fail('bits is "%s"; expected "%s" or, for %s, the name of a configuration: %s', name,
    bits.INVARIANT, p.dtype, table.concat(names, ", "))
end

local function cut(p, parts)
  if p.k % parts ~= 0 then
    fail("bits asks for K in %d parts, which do not divide K = %d", parts, p.k)
  end
  return p.k // parts
end

local function of_row(row, p, parts) return M.order(row, p, parts, cut(p, parts)), parts end

local function of_options(options, p)
  arguments.options("matmul", options, { "bits", "config", "split" },
    '{config = "mma 64x64x64", split = 1}')
  if options.bits then return M.wanted(options.bits, p) end
  local row, parts = options.config, options.split
  if row == nil and parts == nil then
    local choice = tables.choose(p) or {}
    row, parts = choice.config, choice.split
  end
  parts = parts or (p.groups or p.nested) and 1 or split.parts(p)
  if math.type(parts) ~= "integer" or parts < 1 then
    fail("split of bits is %s; expected a number of parts", options.split)
  end
  if type(row) == "table" then
    configs.checked(row, "config of bits")
  else
    row = row and row_of_name(tostring(row), p) or configs.choose(p)
  end
  return of_row(row, p, parts)
end

-- The chain of products of a SumOrder.
local function chain_of(order)
  for _, level in ipairs(order.levels) do
    if level.op == "fma" or level.k then return level end
    if level.how ~= "on the way" then break end
  end
  fail("bits is the order of a sum of sums; give the options of that product, {config =, split =}")
end

local function sums_of(order, p)
  local node, from = order.tree, nil
  while node and node.op ~= "fma" and not node.k do
    from = node.code and node.code.name:match "^CAST_%w-_(%w+)_" or from
    node = node[1]
  end
  return from == "f16" and "f16" or p.sum.name
end

local function of_sum_order(order, p)
  local chain = chain_of(order)
  local k = chain.k or 1
  if is_exact(p) or p.k == 0 then return of_row({ template = SIMPLE, tile = { 0, 0, 1 } }, p, 1) end
  return { { "instruction", chain.k and ("%s of k = %d"):format(chain.op, k) or "fma" },
           { "sums", sums_of(order, p) },
           { "zeros after K", chain.n * k == order.n_terms and "none" or "some" },
           { "slices", "1" }, splits_level(1) }, 1
end

--- The order that the option asks for, and into how many parts K is cut; nil parts: any number.
function M.wanted(option, p)
  configs.facts(p)
  bits.check("matmul", option, ", a table of options or a result of sum_order")
  if option == bits.INVARIANT then return of_row(invariant_row(p), p, 1) end
  if bits.is_sum_order(option) then return of_sum_order(option, p) end
  if type(option) == "string" then return of_row(row_of_name(option, p), p, 1) end
  if option.template then return of_row(configs.checked(option, "bits"), p, 1) end
  return of_options(option, p)
end

--- {bits =, order =, parts =}: what a problem's options ask for.
function M.contract(p, options)
  local order, parts = M.wanted(options.bits, p)
  local contract = { bits = options.bits, order = order, parts = parts }
  if is_exact(p) then
    contract.parts = options.split or (p.groups or p.nested) and 1 or split.parts(p)
  elseif options.split and p.k > 0 then
    split.check(p, options.split)
    local other = { table.unpack(order) }
    other[#other] = splits_level(options.split)
    bits.check_order("matmul", ("split = %s"):format(options.split), other, contract)
  end
  return contract
end

-- {====== The choice ======

-- The row whose order differs from the contract's at the fewest levels.
local function refuse(p, contract)
  local least, nearest, why = math.huge, nil, nil
  for _, row in ipairs(configs.list) do
    if configs.can_compute(row, p) then
      local n, first = bits.differ(M.order(row, p, contract.parts, p.k), contract.order)
      if n < least then least, nearest, why = n, row.name, first end
    end
  end
  fail("no configuration for %s, %s, K = %d on %s keeps %s; the nearest is '%s': %s", p.dtype,
    p.majors, p.k, p.device, bits.title(contract.bits), nearest or "none", why or "")
end

--- The row for a problem, of which p.k is one part of K, within the contract; `wanted` as matmul's
--- option `config`.
function M.row(p, contract, wanted)
  configs.facts(p)
  if wanted ~= nil then
    local row = configs.choose(p, wanted)
    bits.check_order("matmul", row, M.order(row, p, contract.parts, p.k), contract)
    return row
  end
  p.unsplit = contract.parts == 1
  return configs.best(p, function(row)
    return bits.is_kept(M.order(row, p, contract.parts, p.k), contract)
  end) or refuse(p, contract)
end

-- {====== What TMA does not take ======

-- Tiles go through shared memory, so that either side is read or written along its lanes.
local SIDE <const>, LINES <const> = 32, 8

-- By what is contiguous.
local pack_kernel = memo.by_arguments(function(major)
  return kernel("matmul_pack", function(X, Y)
    local tiled, extent = shared(X.dtype, layout({SIDE, SIDE}, {1, SIDE + 1})), {SIDE, SIDE}
    local at, l = {blockIdx.x, blockIdx.y}, blockIdx.z
    local from = tile(guard(X(_, _, l)), extent, at)
    local to = tile(guard(Y(_, _, l)), extent, at)
    local lane, line = threadIdx.x % SIDE, threadIdx.x // SIDE
    for i = 0, SIDE - 1, LINES do
      local m, k = lane, line + i
      if major == "k" then m, k = k, m end
      tiled[{m, k}] = from[{m, k}]
    end
    sync_threads()
    for i = 0, SIDE - 1, LINES do to[{line + i, lane}] = tiled[{line + i, lane}] end
  end)
end)

-- A copy of an operand, contiguous along K, and the step that makes it.
local function packed(x, major, stream)
  local m, k, l = table.unpack(shape(x))
  if stride(x)[3] == 0 then l = 1 end
  local unit = TMA_BITS // x.dtype.bits
  local ld = cdiv(k, unit) * unit
  local copy = tensor(x.dtype, layout({ m, k, l }, { ld, 1, ld * m }))
  if copy.device ~= x.device then copy = copy:to(x.device) end
  local step = { kernel = pack_kernel(major), args = { x, copy },
                 launch = { grid = { cdiv(m, SIDE), cdiv(k, SIDE), l }, block = SIDE * LINES,
                            stream = stream } }
  if l == size(x, 2) then return copy, step end
  return view(copy, layout({ m, k, size(x, 2) }, { ld, 1, 0 })), step
end

local MODES <const> = { "rows", "columns", "batches" }
local letters <const> = { A = { mn = "N", k = "T" }, B = { mn = "T", k = "N" } }

local function fit_operand(p, name, stream, made)
  local key = name == "A" and "a_major" or "b_major"
  local x = tma.with_strides(p[name], p[key] == "k" and 2 or 1)
  local is_turned = p.dtype.bits ~= 16 and p[key] ~= "k"
  if is_turned or tma.trouble(x, name, MODES, p[key] == "k" and 2 or 1, 2) then
    x, made[#made + 1] = packed(x, p[key], stream)
    p[key] = "k"
  end
  p[name] = x
end

--- The problem as kernels of the contract take it, for all extents and strides; the steps that come
--- before it; and whether C is written by a second kernel.
function M.fitted(p, contract, stream)
  if contract.order[1][2]:find "^wgmma" == nil or p.groups then return p, {}, false end
  local fit, made = lists.with(p), {}
  fit_operand(fit, "A", stream, made)
  fit_operand(fit, "B", stream, made)
  fit.majors = letters.A[fit.a_major] .. letters.B[fit.b_major]
  fit.C = tma.with_strides(p.C, 1)
  return fit, made, contract.parts == 1 and tma.trouble(fit.C, "C", MODES, 1, 2) ~= nil
end

return M
