-- gemm_split.lua: products with few tiles of C and a long K, of which a GPU would be half empty: K
-- is cut into parts, which are multiplied as batches into a tensor of sums, and a second kernel
-- adds these up and does what the epilogue says. Every run adds in the same order.
local raster = require "cuttle.gemm_raster"
local epilogue = require "cuttle.gemm_epilogue"
local reduce = require "cuttle.gemm_reduce"
local scaling = require "cuttle.gemm_scales"
local lists = require "cuttle.lists"
local option_names = require "cuttle.option_names"
local tiles = require "cuttle.tiles"
local on_device = require "cuttle.operator_device"
local M = {}

local COLUMN <const> = 4 -- sums, that columns begin at multiples of: 16 bytes, as TMA wants it
local ROWS <const>, COLUMNS <const>, RUN <const> = 128, 8, 4 -- of a block of the second kernel

-- {====== Into how many parts ======

--- The option `split` of a product is a number of parts that divides K.
function M.check(p, wanted)
  if math.type(wanted) ~= "integer" or wanted < 1 or p.k % wanted ~= 0 then
    tiles.fail("matmul", "split is %s; expected a number of parts that divides K = %d",
      option_names.shown(wanted), p.k)
  end
end

-- A tile that keeps a part of a multiprocessor busy, the least K of a part that is worth it, and
-- how many such tiles a multiprocessor has at one time.
local usual <const> = { f32 = { 128, 64, 256, 1 } }
local others <const> = { 128, 128, 1024, 1 }
local on_hopper <const> = { f16 = { 64, 64, 1024, 2 }, bf16 = { 64, 64, 1024, 2 } }

-- Of f32 that lies along K, tiles of which a multiprocessor has two at one time: they are worth it
-- where nearly all have two. A part of less K is not measured.
local turned <const> = { 128, 128, 512, 2 }

-- Parts are doubled until `is_enough` of them, or as often as K can be cut.
local function most_parts(p, least_k, is_enough)
  local parts = 1
  while not is_enough(parts) and p.k % (2 * parts) == 0 and p.k // (2 * parts) >= least_k do
    parts = 2 * parts
  end
  return parts
end

-- Parts that give nearly every multiprocessor its tiles of `turned`, or nil.
local function parts_of_turned(p, sm, n_sms)
  if p.dtype ~= f32 or sm < 80 or p.a_major ~= "k" or p.b_major ~= "k" then return nil end
  local m_tile, n_tile, least_k, each = table.unpack(turned)
  local n_tiles, slots = cdiv(p.m, m_tile) * cdiv(p.n, n_tile), each * n_sms
  local parts = most_parts(p, least_k, function(n) return 2 * n * n_tiles > slots end)
  return 8 * n_tiles * parts >= 7 * slots and parts or nil
end

--- How many on a GPU of that capability and so many multiprocessors; 1: none. Only problems of one
--- batch, with tiles for at most half of the GPU.
function M.parts_on(p, sm, n_sms)
  local hopper = sm == 90 and require "cuttle.gemm_hopper"
  if p.l ~= 1 or require "cuttle.gemm_dots".is_few(p, sm, n_sms)
    or hopper and (hopper.is_few(p, n_sms) or hopper.shared_tile(p, n_sms)) then
    return 1
  end
  local name = p.dtype.name
  local is_hopper = hopper and hopper.is_wide(p)
  local m_tile, n_tile, least_k, each = table.unpack(is_hopper and on_hopper[name]
    or usual[name] or others)
  local n_tiles = cdiv(p.m, m_tile) * cdiv(p.n, n_tile)
  if 2 * n_tiles > each * n_sms then return 1 end
  return parts_of_turned(p, sm, n_sms)
    or most_parts(p, least_k, function(n) return n * n_tiles > n_sms end)
end

--- The same for the problem's device; of the CPU none.
function M.parts(p)
  local device = p.device ~= "cpu" and device() or {}
  return device.n_sms and M.parts_on(p, device.sm, device.n_sms) or 1
end

-- {====== The two products ======

-- The parts of K as batches.
local function cut(x, n)
  local extent, stride = shape(x), stride(x)
  local depth = extent[2] // n
  return view(x, layout({ extent[1], depth, n }, { stride[1], stride[2], depth * stride[2] }))
end

--- The problem of the first kernel: sums of n parts, nothing done with them.
function M.first(p, n)
  local ld = cdiv(p.m, COLUMN) * COLUMN
  local sums = on_device.scratch(p.device, p.sum, layout({ p.m, p.n, n }, { 1, ld, ld * p.n }))
  local first = { A = cut(p.A, n), B = cut(p.B, n), C = sums, c_dtype = p.sum, work = p.sum,
                  alpha = 1, beta = 0, k = p.k // n, l = n, operands = {}, swapped = false }
  for _, key in ipairs { "dtype", "sum", "device", "m", "n", "a_major", "b_major" } do
    first[key] = p[key]
  end
  return first
end

--- The same of K as a whole, of all batches: for a C that the first kernel cannot write.
function M.whole(p)
  local ld = cdiv(p.m, COLUMN) * COLUMN
  local sums = on_device.scratch(p.device, p.sum, layout({ p.m, p.n, p.l }, { 1, ld, ld * p.n }))
  local whole = lists.with(p, { C = sums, c_dtype = p.sum, work = p.sum, swapped = false,
    alpha = 1, beta = 0, operands = {} })
  whole.bias, whole.epilogue, whole.named, whole.scales = nil, nil, nil, nil
  return whole
end

--- The problem of the second one, whose A are the sums.
function M.second(p, first) return lists.with(p, { A = first.C }) end

-- {====== The second kernel, as a template ======

--- Its configuration.
M.config = { name = "sum of parts", template = "cuttle.gemm_split", tile = { ROWS, COLUMNS, 1 } }

--- That for a whole's sums, a matrix for each batch, to which nothing is added: -0 stays.
M.whole_config = { name = "sums to C", template = "cuttle.gemm_split",
                   tile = { ROWS, COLUMNS, 1 }, is_whole = true }

function M.n_threads() return ROWS // RUN * COLUMNS end

function M.make(variant)
  local in_runs = tiled_copy(atom("UniversalCopy<u32>", f32),
    layout{ROWS // RUN, COLUMNS}, layout{RUN, 1})
  local extent = {ROWS, COLUMNS}
  reduce.plan(variant, in_runs, M.n_threads())

  -- S: the sums (M,N,part). The second argument, where other templates have B, is not used.
  return kernel("sum_of_parts", function(S, B, C, alpha, beta, ...) -- luacheck: ignore 212
    local m, n, batch = raster.place(variant, C)
    local to = variant.is_whole and batch or 0
    local thr = in_runs:get_slice(threadIdx.x)
    local function mine(t, l)
      return thr:partition_S(tile(raster.matrix(variant, t, l), extent, {m, n}))
    end
    local part = mine(C, to)                                           -- (V, 1, 1)
    local sums, some = fragment(variant.sum, shape(part)), fragment(variant.sum, shape(part))
    if variant.is_whole then
      copy(mine(S, batch), sums)
    else
      clear(sums)
      for l in range(size(S, 2)) do
        copy(mine(S, l), some)
        axpby(1, some, 1, sums)
      end
    end
    local places = thr:partition_S(tile(identity_tensor(shape(C(_, _, 0))), extent, {m, n}))
    local operands = {...}
    epilogue.begin(variant, alpha, beta, { l = to, scales = scaling.take(variant, operands),
      operands = operands, m = m, n = n, extent = {size(C, 0), size(C, 1)} })
      :store(sums, part, places)
  end)
end

return M
