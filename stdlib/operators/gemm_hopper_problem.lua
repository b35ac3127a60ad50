-- gemm_hopper_problem.lua: what gemm_hopper.lua's kernel can compute, and how it is launched: what
-- problems must be, which of them want its special tiles, and a launch's arguments and grid.
local internal = ...
local grouping = require "cuttle.gemm_groups"
local nested = require "cuttle.gemm_hopper_nested"
local reduce = require "cuttle.gemm_reduce"
local scaling = require "cuttle.gemm_scales"
local store = require "cuttle.gemm_hopper_store"
local streams = require "cuttle.gemm_hopper_stream"
local tail = require "cuttle.gemm_hopper_tail"
local transpose = require "cuttle.gemm_hopper_transpose"
local turn = require "cuttle.gemm_hopper_turn"
local walks = require "cuttle.gemm_hopper_walk"
local n_sms = require "cuttle.profile_device".n_sms
local tma = require "cuttle.tma_rules"
local M = { takes_nested = true, knows_plain = true } -- see matmul.lua

local GROUP <const> = 128 -- threads of a warp group
local LEAST_ROWS <const> = 32 -- for which products of 64 rows are worth it, all loaded
local ROWS <const>, FEW <const>, LEAST_DEPTH <const> = 64, 32, 512
local K_BLOCKS <const>, LEAST_K <const> = 2, 2048 -- that share a K of so much or more
-- The tiles of such, how many of their rows are loaded, and for what part of the multiprocessors
-- there must be blocks.
local SHARED <const> = { { 64, 64, 16, 0.75 }, { 64, 64, 32, 0.75 }, { 32, 64, 64, 0.75 },
                         { 64, 64, 64, 0.75 }, { 64, 128, 128, 0.33 }, { 128, 64, 64, 0.33 } }

--- By the type of A and B: K of an instruction, and the end of its name; rows in registers have _RS
--- in place of _SS.
M.atoms = {
  f16 = { 16, "F32F16F16_SS" }, bf16 = { 16, "F32BF16BF16_SS" },
  tf32 = { 8, "F32TF32TF32_SS_TN" }, f8e4m3 = { 32, "F32E4M3E4M3_SS_TN" },
  f8e5m2 = { 32, "F32E5M2E5M2_SS_TN" }, i8 = { 32, "S32S8S8_SS_TN" },
  u8 = { 32, "S32U8U8_SS_TN" },
}
--- Warp groups that multiply.
function M.n_groups(config) return config.groups or 2 end
local n_groups <const> = M.n_groups

function M.n_threads(config) return GROUP * (1 + n_groups(config)) end

--- Of the rings and of C.
function M.shared_bytes(config, dtype)
  local bM, bN, bK = table.unpack(config.tile)
  return config.stages * (bM + bN) * bK * dtype.bits // 8 + n_groups(config) * store.bytes(config)
    + 16 * config.stages + scaling.bytes(config)
    + (config.k_blocks and bM * bN * f32.bits // 8 // config.k_blocks * (config.k_blocks - 1) or 0)
end

-- Names of the script's modes, and which one is contiguous.
local A_MODES <const>, B_MODES <const> = { "M", "K", "the batches" }, { "N", "K", "the batches" }
local ALONG <const> = { mn = 1, k = 2 }

-- The mode along which C is contiguous.
local function along_C(config) return config.across and 2 or 1 end

-- Kernels are made for the strides of an operand's first two modes, whatever their extents are.
local function trouble_with(t, name, modes, mode)
  return tma.trouble(tma.with_strides(t, mode), name, modes, mode, 2)
end

--- The problem as a configuration's kernel sees it.
function M.seen(config, p)
  return config.across and turn.across(p) or config.transposes and transpose.seen(p) or p
end

-- Why C is not stored across the instruction's columns.
local function across_trouble(p)
  if p.groups or p.nested then
    return "it stores C across, for matrices with one stride per mode and without groups"
  end
end

--- Why no kernel of this template computes the problem; nil: it does.
function M.trouble(config, p)
  if p.groups and p.groups.mode == "list" then return "TMA takes no lists of tensors" end
  local why = nested.trouble(config, p) or config.across and across_trouble(p)
    or config.transposes and transpose.trouble(p)
    or streams.trouble(config, p, config.stream_k and M.n_blocks(config))
  if why then
    return why
  elseif p.groups and p.groups.mode == "k" then
    why = tail.trouble(config, p)
    if why then return why end
  elseif p.groups and (p.groups.mode == "m" or p.b_major ~= "k") then
    return "TMA begins at multiples of 16 bytes, and groups begin anywhere in a row"
  end
  if p.groups and (config.cluster or config.k_blocks) then
    return "blocks of a cluster would have tiles of two groups"
  elseif config.k_blocks and reduce.has_reduced(p.named) then
    return "an output is a sum or maximum, for which blocks that share K have no parts"
  elseif config.k_blocks and cdiv(p.k, config.tile[3]) < config.k_blocks then
    return ("%d blocks share K, which has %d tiles"):format(config.k_blocks,
      cdiv(p.k, config.tile[3]))
  elseif config.rows and (p.groups or p.n > config.rows or p.b_major ~= "k") then
    return ("it loads %d rows, contiguous along K"):format(config.rows)
  end
  p = M.seen(config, p)
  local a, b, a_modes, b_modes = "A", "B", A_MODES, B_MODES
  if p.swapped then a, b, a_modes, b_modes = b, a, b_modes, a_modes end
  local gathered = p.nested or {}
  return store.trouble(config, p) or turn.trouble(config, p)
    or not gathered.A and trouble_with(p.A, a, a_modes, ALONG[config.transposes and "mn"
      or p.a_major])
    or not gathered.B and trouble_with(p.B, b, b_modes, ALONG[p.b_major])
    or not config.boxes and trouble_with(p.pairs_C or p.C, "C",
      { a_modes[1], b_modes[1], "the batches" }, along_C(config)) or nil
end

--- Is this the template for it? Of fewer rows or columns mma.sync is faster, which waits less for
--- memory, unless it is_few.
function M.is_wide(p) return p.m >= LEAST_ROWS and p.n >= LEAST_ROWS end

--- Has it so few rows or columns that tiles of FEW of them take all? It is contiguous along K. If K
--- may be split, it is a single product and most multiprocessors have a tile: that was measured.
function M.is_few(p, n_of_sms)
  if not M.atoms[p.dtype.name] or p.dtype.bits ~= 16 or p.groups or p.k < LEAST_DEPTH
    or p.a_major ~= "k" or p.b_major ~= "k" or math.min(p.m, p.n) > FEW or M.trouble({}, p) then
    return false
  elseif p.unsplit or p.l > 1 then
    return p.unsplit
  end
  return p.n <= FEW and 4 * cdiv(p.m, FEW) >= 3 * n_of_sms
    or p.m <= FEW and 9 * cdiv(p.n, ROWS) >= 4 * n_of_sms
end

--- The tile of a cluster whose blocks share K, and how many of its rows are loaded, if all rows or
--- all columns of a problem are one, and if enough multiprocessors get a block, but none gets two:
--- that was measured. Else nil.
function M.shared_tile(p, n_of_sms)
  if not M.atoms[p.dtype.name] or p.dtype.bits ~= 16 or p.groups or p.l > 1 or p.k < LEAST_K
    or p.a_major ~= "k" or p.b_major ~= "k" or reduce.has_reduced(p.named)
    or M.trouble({}, p) then
    return nil
  end
  for _, tile in ipairs(SHARED) do
    local bM, bN, rows, least = table.unpack(tile)
    local most = bM == bN and rows == bN and 2 or 1 -- tiles above each other, or side by side
    local is_one = rows == bN and p.m <= most * bM and (2 * p.m > bM or bM <= FEW)
      or p.n <= most * rows and (2 * p.n > rows or rows < bN)
    local blocks = K_BLOCKS * cdiv(p.m, bM) * cdiv(p.n, bN)
    if is_one and blocks <= n_of_sms and blocks >= least * n_of_sms then return tile end
  end
end

M.fills_better = walks.fills_better

local tables = {} -- of Hilbert's curve, by device and extents

--- The curve through squares of C, of `high` tiles above each other: what runs at one time is
--- then a square, too, which reads least. A list of entries row << 16 | column.
function M.curve(rows, columns, high)
  local entries, squares = {}, {cdiv(rows, high), columns}
  for _, square in ipairs(raster{tiles = squares, order = "hilbert"}:list()) do
    for row = square[1] * high, math.min(rows, square[1] * high + high) - 1 do
      entries[#entries + 1] = row << 16 | square[2]
    end
  end
  return entries
end

--- Tiles above each other that are nearest to a square.
function M.square(config)
  local bM, bN = config.tile[1], config.tile[2] * (config.cluster or 1)
  return math.max(1, (bM + bN // 2) // bN)
end

local function hilbert(config, p)
  local rows = cdiv(p.n, config.tile[2] * (config.cluster or 1))
  local columns, high = cdiv(p.m, config.tile[1]), M.square(config)
  local key = ("%s %d %d %d"):format(p.device, rows, columns, high)
  if tables[key] == nil then
    tables[key] = internal.launch.table_on(u32, M.curve(rows, columns, high), nil, p.device)
  end
  return tables[key]
end

--- A tensor map has no strides of 0: a matrix that is one for all batches is one of two modes.
function M.without_stride_0(x)
  if stride(x, 2) ~= 0 then return x end
  local extents, strides = shape(x), stride(x)
  return view(x, layout({ extents[1], extents[2] }, { strides[1], strides[2] }))
end

--- Blocks of the grid, if there are as many tiles.
function M.n_blocks(config)
  local blocks = config.blocks
  return type(blocks) == "function" and blocks(n_sms(device())) or blocks
end

--- Do blocks that stay take the tiles of all batches in turn, in groups of rows of tiles? Else each
--- batch has blocks of its own, as where all tiles have a block. A group of K is such a batch of C.
function M.is_batched(config, m, n, l, groups)
  if groups then return groups.mode == "k" end
  if l == 1 or config.cluster or config.k_blocks or config.gathers then return false end
  return cdiv(m, config.tile[1]) * cdiv(n, config.tile[2]) * l > M.n_blocks(config)
end

-- A matrix as TMA takes it, contiguous along a mode.
local function mapped(x, along) return M.without_stride_0(tma.with_strides(x, along)) end

--- What comes before the kernel of a problem as it sees it: a step, and the memory that the step
--- writes, which `args` takes; nil: nothing does.
function M.before(config, p, stream)
  if config.transposes then
    return transpose.before(mapped(p.A, ALONG.mn), p.device, stream)
  elseif config.stream_k then
    return streams.before(config, p, M.n_blocks(config), n_groups(config), stream)
  end
end

--- What the kernel takes before alpha and beta: operands, C, and the way through the tiles. room:
--- the memory of M.before, or nil.
function M.args(config, p, room)
  local gathered = p.nested or {}
  local function taken(name, along) return gathered[name] and p[name] or mapped(p[name], along) end
  local args = { config.transposes and room or taken("A", ALONG[p.a_major]),
                 taken("B", ALONG[p.b_major]),
                 config.boxes and store.boxed(p.C) or mapped(p.pairs_C or p.C, along_C(config)) }
  local has_parts = p.groups or M.is_batched(config, p.m, p.n, p.l)
  if config.order == "hilbert" and not has_parts then args[4] = hilbert(config, p) end
  if config.stream_k then args[4] = room end
  return args
end

--- The launch's grid, and the group of the way through it.
function M.grid(config, m, n, l, of)
  local rows, columns = cdiv(n, config.tile[2]), cdiv(m, config.tile[1])
  if of and of.mode ~= "k" then rows = grouping.most_tiles(n, of.n, config.tile[2]) end
  local high = config.cluster or 1
  local blocks = cdiv(rows, high) * columns * high
  if config.k_blocks then return { blocks * config.k_blocks, 1, l }, config.group end
  if M.is_batched(config, m, n, l, of) then blocks, l = blocks * l, 1 end
  return { math.min(blocks, M.n_blocks(config)), 1, l }, config.group
end

return M
