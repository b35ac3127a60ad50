-- predict_counts.lua: what one launch does, as plain numbers, which predict.lua turns into a time.
-- They come from a program of a profile session, whole or sampled: blocks that ran stand for all.
local M = {}

local SECTOR <const> = 32
local LANES <const> = 32

local function add(t, key, n) t[key] = (t[key] or 0) + n end

-- {====== Instructions ======

local works = {}

function works.fma(w, row) add(w, row.f64 and "fma_f64" or "fma", row.amount) end
function works.flop(w, row) add(w, row.f64 and "fma_f64" or "flop", row.amount) end
function works.special(w, row) add(w, "special", row.amount) end
function works.int(w, row) add(w, "int", row.amount) end

-- Multiply-adds of tensor cores, by bits of an operand's element.
function works.mma(w, row)
  local n = row.amount // LANES
  if row.wgmma then
    add(w.wgmma, row.mac_bits, n * row.macs)
  elseif row.op == "TCGEN05_MMA" then
    add(w.tcgen05, row.mac_bits, n * row.macs)
  else
    add(w.mma, row.mac_bits, n * row.macs)
    add(w, "mmas", n)
  end
end

local function add_global(w, mem)
  local bytes = SECTOR * mem.sectors
  if mem.box then
    add(w, mem.reads and "box_loads" or "box_stores", mem.bytes)
  elseif not mem.atomic then
    add(w, mem.reads and "load_bytes" or "store_bytes", bytes)
    add(w, mem.reads and "load_requests" or "store_requests", mem.requests)
    if mem.async then
      add(w, "async_bytes", bytes)
    else
      add(w, mem.reads and "load_lines" or "store_lines", mem.cache_lines)
    end
  end
end

local function add_mem(w, mem)
  if mem.space == "global" then
    add_global(w, mem)
  elseif mem.space == "shared" and not mem.box then
    add(w, "wavefronts", mem.wavefronts)
    add(w, "shared_requests", mem.requests)
  end
end

local function add_row(w, row)
  add(w, "instructions", row.n)
  add(w, "shuffles", row.shuffles + row.votes)
  if row.barrier then add(w, "barriers", row.n) end
  if row.work then
    works[row.work](w, row)
    w.hot = math.max(w.hot or 0, row.n) -- warps' executions of the innermost loop, or so
  end
  for _, mem in ipairs(row.mem) do add_mem(w, mem) end
end

-- {====== Chains ======

local function loads_from(row, space)
  for _, mem in ipairs(row.mem) do
    if mem.space == space and mem.reads and not mem.async and not mem.box then return true end
  end
  return false
end

-- How often a warp waits for a value from that space, in all warps that ran together: compilers ask
-- for all that a stretch of code needs at once, up to the next branch, barrier or loop.
local function waits_for(program, space)
  local waits, has_asked = 0, false
  for _, row in ipairs(program.rows) do
    has_asked = has_asked and not row.behind
    if row.n > 0 and not has_asked and loads_from(row, space) then
      waits, has_asked = waits + row.n, true
    end
  end
  return waits
end

-- Bytes that a block asks for asynchronously in one turn of its loop: what those instructions bring
-- that run most often.
local function step_bytes(program, warps)
  local most, bytes = 0, 0
  for _, row in ipairs(program.rows) do
    for _, mem in ipairs(row.mem) do
      if mem.space == "global" and mem.reads and (mem.async or mem.box) and row.n >= most then
        if row.n > most then most, bytes = row.n, 0 end
        bytes = bytes + mem.bytes / row.n * (mem.box and 1 or warps)
      end
    end
  end
  return bytes
end

-- {====== Tensors ======

local function bytes_of(tensor) return tensor.elements * tensor.element_bytes end

-- Bytes of each tensor in memory that the whole launch touches, if what the blocks that ran touched
-- is new with each block; never more than the tensor.
local function add_tensors(w, program, scale)
  for _, tensor in ipairs(program.tensors) do
    if tensor.space == "global" and tensor.elements > 0 then
      local most, n = bytes_of(tensor), program.launches
      local read = SECTOR * (tensor.read_once or 0) / n
      local written = SECTOR * (tensor.written_once or 0) / n
      local by_block = SECTOR * ((tensor.read_by_block or 0) + (tensor.written_by_block or 0)) / n
      if not tensor.read_once then read, by_block = most, most / scale end
      w.tensors[#w.tensors + 1] = { name = tensor.name, bytes = most,
        read = math.min(read * scale, most), written = math.min(written * scale, most),
        by_block = by_block * scale }
    end
  end
end

-- {====== Launches ======

local names <const> = { "hot", "fma", "fma_f64", "flop", "special", "int", "mmas", "box_loads",
  "box_stores", "load_bytes", "store_bytes", "load_requests", "store_requests", "async_bytes",
  "load_lines", "store_lines", "wavefronts", "shared_requests", "instructions", "shuffles",
  "barriers" }

local function scale_counts(w, by)
  for _, name in ipairs(names) do w[name] = (w[name] or 0) * by end
  for _, of in ipairs { w.mma, w.wgmma, w.tcgen05 } do
    for bits, macs in pairs(of) do of[bits] = macs * by end
  end
end

--- One launch of a program of session:finish(): counts of the whole grid. registers, local_bytes:
--- of a thread, nil where they are not known.
function M.of(program, registers, local_bytes)
  local grid, block = program.grid, program.block
  local blocks = grid[1] * grid[2] * grid[3]
  local w = { kernel = program.name, grid = grid, block = block, blocks = blocks,
              threads = block[1] * block[2] * block[3], shared_bytes = program.shared_bytes,
              registers = registers, local_bytes = local_bytes or 0, mma = {}, wgmma = {},
              tcgen05 = {}, tensors = {} }
  for _, row in ipairs(program.rows) do
    if row.n > 0 then add_row(w, row) end
  end
  local scale = blocks / math.max(program.ran, 1)
  scale_counts(w, scale / program.launches)
  add_tensors(w, program, scale)
  local of_block = (w.threads + LANES - 1) // LANES
  local warps = math.max(program.ran, 1) * of_block * program.launches
  w.step_bytes = step_bytes(program, of_block)
  w.imbalance = program.most * program.ran * program.launches / math.max(program.counted, 1)
  w.chain_loads = waits_for(program, "global") / warps
  w.chain_shared = waits_for(program, "shared") / warps
  return w
end

return M
