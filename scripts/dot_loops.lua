-- dot_loops.lua: is the main loop of a product that `dot` writes the same as that of the long
-- form, with tiled copies, partitions and retiling by hand? Both are compiled by NVRTC, without a
-- GPU. Their loops have the same instructions, and dot's takes no more registers and loads no less
-- before its first product. Prints TAP.
--   cuttle --sm=80 scripts/dot_loops.lua
local tap = dofile "tests/support/tap.lua"
package.path = "scripts/?.lua;" .. package.path
local found, internal = debug.getupvalue(package.preload["cuttle.show"], 2)
local machine_code = require "cuttle.cubin"
assert(found)
local loops = require "hot_loops"
local is_emitting, sm = internal.launch.emit_sm()
assert(not is_emitting)


-- {====== The two forms ======

local function by_dot(c)
  return kernel("by_dot", function(A, B, C)
    local gA, gB = tile(A, {c.M, c.K}, {blockIdx.x, _}), tile(B, {c.N, c.K}, {blockIdx.y, _})
    local sA, sB = shared_like(gA, c.stages), shared_like(gB, c.stages)
    local acc = accumulator(sA, sB, {tf32 = true})
    pipeline(size(gA, 2), {
      stages = c.stages,
      load = function(k, slot)
        block_copy(gA(_, _, k), sA(_, _, slot))
        block_copy(gB(_, _, k), sB(_, _, slot))
      end,
      compute = function(slot) dot(sA(_, _, slot), sB(_, _, slot), acc) end,
    })
    acc:store(tile(C, {c.M, c.N}, {blockIdx.x, blockIdx.y}))
  end)
end

local function by_hand(c)
  local mma = tiled_mma(c.atom, layout{c.warps[1], c.warps[2], 1}, c.tile)
  local move_A, move_B = c.move_A, c.move_B or c.move_A
  local read_A = tiled_copy_A(atom(c.read_A, c.dtype), mma)
  local read_B = tiled_copy_B(atom(c.read_B, c.dtype), mma)
  return kernel("by_hand", function(A, B, C)
    local gA, gB = tile(A, {c.M, c.K}, {blockIdx.x, _}), tile(B, {c.N, c.K}, {blockIdx.y, _})
    local sA = shared(c.dtype, tile_to_shape(c.smem, {c.M, c.K, c.stages}))
    local sB = shared(c.dtype, tile_to_shape(c.smem, {c.N, c.K, c.stages}))
    local thr_A, thr_B = move_A:get_slice(threadIdx.x), move_B:get_slice(threadIdx.x)
    local tAgA, tAsA = thr_A:partition_S(gA), thr_A:partition_D(sA)
    local tBgB, tBsB = thr_B:partition_S(gB), thr_B:partition_D(sB)
    local thr = mma:get_slice(threadIdx.x)
    local rA = thr:partition_fragment_A(sA(_, _, 0))
    local rB = thr:partition_fragment_B(sB(_, _, 0))
    local gC = tile(C, {c.M, c.N}, {blockIdx.x, blockIdx.y})
    local rC = thr:partition_fragment_C(gC)
    local from_A, from_B = read_A:get_slice(threadIdx.x), read_B:get_slice(threadIdx.x)
    local tXsA, tXrA = from_A:partition_S(sA), from_A:retile_D(rA)
    local tXsB, tXrB = from_B:partition_S(sB), from_B:retile_D(rB)
    clear(rC)
    pipeline(size(gA, 2), {
      stages = c.stages,
      load = function(k, slot)
        copy(tAgA(_, _, _, k), tAsA(_, _, _, slot))
        copy(tBgB(_, _, _, k), tBsB(_, _, _, slot))
      end,
      compute = function(slot)
        for k = 0, size(rA, 2) - 1 do
          copy(read_A, tXsA(_, _, k, slot), tXrA(_, _, k))
          copy(read_B, tXsB(_, _, k, slot), tXrB(_, _, k))
          gemm(mma, rA(_, _, k), rB(_, _, k), rC)
        end
      end,
    })
    copy(rC, thr:partition_C(gC))
  end)
end

-- {====== Products ======

local LDSM_N <const>, LDSM_T <const> = "SM75_U32x4_LDSM_N", "SM75_U16x8_LDSM_T"

local function rows(dtype, threads, across, vec)  -- copies of tiles that are contiguous along K
  return tiled_copy(atom(("UniversalCopy<u%d>"):format(dtype.bits), dtype),
    row_major{threads // across, across}, row_major{1, vec})
end

local function columns(dtype, threads, across, vec)
  return tiled_copy(atom(("UniversalCopy<u%d>"):format(dtype.bits), dtype),
    layout{across, threads // across}, layout{vec, 1})
end

local products <const> = {
  { name = "f16 TN 128x128x32, 3 slots", dtype = f16, order = row_major, M = 128, N = 128, K = 32,
    stages = 3, threads = 128, atom = "SM80_16x8x16_F32F16F16F32_TN", warps = {2, 2},
    tile = {32, 32, 16}, read_A = LDSM_N, read_B = LDSM_N, move_A = rows(f16, 128, 4, 8),
    smem = composition(swizzle(2, 3, 3), row_major{8, 32}) },
  { name = "bf16 TN 128x64x64, 4 slots, 8 warps", dtype = bf16, order = row_major, M = 128, N = 64,
    K = 64, stages = 4, threads = 256, atom = "SM80_16x8x16_F32BF16BF16F32_TN", warps = {4, 2},
    tile = {64, 32, 16}, read_A = LDSM_N, read_B = LDSM_N, move_A = rows(bf16, 256, 8, 8),
    smem = composition(swizzle(3, 3, 3), row_major{8, 64}) },
  { name = "f16 NT 128x128x32, 3 slots", dtype = f16, order = col_major, M = 128, N = 128, K = 32,
    stages = 3, threads = 128, atom = "SM80_16x8x16_F32F16F16F32_TN", warps = {2, 2},
    tile = {32, 32, 16}, read_A = LDSM_T, read_B = LDSM_T, move_A = columns(f16, 128, 16, 8),
    smem = composition(swizzle(3, 3, 3), layout{64, 8}) },
  { name = "tf32 TN 64x64x32, 3 slots", dtype = f32, order = row_major, M = 64, N = 64, K = 32,
    stages = 3, threads = 128, atom = "SM80_16x8x8_F32TF32TF32F32_TN", warps = {2, 2},
    tile = {32, 32, 8}, read_A = LDSM_N, read_B = LDSM_N, move_A = rows(f32, 128, 8, 4),
    smem = composition(swizzle(3, 2, 3), row_major{8, 32}) },
  { name = "i8 TN 128x128x64, 3 slots", dtype = i8, order = row_major, M = 128, N = 128, K = 64,
    stages = 3, threads = 256, atom = "SM80_16x8x32_S32S8S8S32_TN", warps = {4, 2},
    tile = {64, 32, 32}, read_A = LDSM_N, read_B = LDSM_N, move_A = rows(i8, 256, 4, 16),
    smem = composition(swizzle(2, 4, 3), row_major{8, 64}) },
  { name = "i8 TN 128x128x128, 3 slots", dtype = i8, order = row_major, M = 128, N = 128, K = 128,
    stages = 3, threads = 256, atom = "SM80_16x8x32_S32S8S8S32_TN", warps = {4, 2},
    tile = {64, 32, 32}, read_A = LDSM_N, read_B = LDSM_N, move_A = rows(i8, 256, 8, 16),
    smem = composition(swizzle(3, 4, 3), row_major{8, 128}), own_order = true }, -- measured: faster
}

-- {====== Their loops ======

-- Where an address comes from is the compiler's affair: it orders sums and hoists them as it likes.
local is_address <const> = {
  MOV = true, IMAD = true, IADD3 = true, VIADD = true, LEA = true, SHF = true, LOP3 = true,
  SEL = true, ISETP = true, PRMT = true, R2UR = true, LDC = true, NOP = true, uniform = true,
  other = true,
}
local MOST_LONGER <const> = 1.06 -- than the long form, in instructions

local function loop_of(k, name, c)
  local A, B = zeros(c.dtype, c.order{256, 256}), zeros(c.dtype, c.order{256, 256})
  local C = zeros(c.dtype == i8 and i32 or f32, row_major{256, 256})
  local source = k{grid = {256 // c.M, 256 // c.N}, block = c.threads}:source(A, B, C)
  local cubin, why = internal.watch.profile_cubin({ source = source, symbol = name,
    options = {} }, sm)
  if cubin == nil and why:find("cannot load", 1, true) then
    tap.skip_all "no NVRTC on this machine"
  end
  local counts, n = loops.count(assert(cubin, why), name)
  return { counts = counts, n = n,
           registers = (machine_code.resources_of(source, sm, name, {})),
           ahead = loops.count_before(cubin, name, "LDSM", { HMMA = true, IMMA = true }) }
end

-- The counts of instructions that are no address arithmetic, as a text.
local function text_of(counts)
  local list = {}
  for kind, n in pairs(counts) do
    if not is_address[kind] then list[#list + 1] = ("%s %d"):format(kind, n) end
  end
  table.sort(list)
  return table.concat(list, ", ")
end

for _, c in ipairs(products) do
  local long, short = loop_of(by_hand(c), "by_hand", c), loop_of(by_dot(c), "by_dot", c)
  local name = ("%s for sm_%d"):format(c.name, sm)
  tap.is(text_of(short.counts), text_of(long.counts),
    name .. ": the same instructions except for addresses")
  tap.ok(short.n <= long.n * MOST_LONGER,
    ("%s: %d instructions, by hand %d"):format(name, short.n, long.n))
  tap.ok(short.registers <= long.registers,
    ("%s: %d registers, by hand %d"):format(name, short.registers, long.registers))
  tap.ok(c.own_order or short.ahead >= long.ahead,
    ("%s: %d loads before the first product, by hand %d"):format(name, short.ahead, long.ahead))
end
tap.done()
