-- gemm_hopper_store.lua: what a warp group of gemm_hopper.lua does with its sums: alpha, beta, bias
-- and epilogue, then C by way of shared memory and TMA, which stores while the next tile is
-- multiplied. C is seen (N,M), as the instruction has it: 64 rows, and columns that are adjacent in
-- memory. A pass is {panels} of 128 bytes of each row in one of {buffers}: config.store is both.
-- Where beta is not 0, TMA brings what C holds into the same buffers, while the tile is multiplied.
local epilogue = require "cuttle.gemm_epilogue"
local grouping = require "cuttle.gemm_groups"
local indexed = require "cuttle.gemm_indexed"
local lists = require "cuttle.lists"
local nested = require "cuttle.gemm_nested"
local tma = require "cuttle.tma_rules"
local M = {}

local GROUP <const>, WARP <const>, ROWS <const> = 128, 32, 64
local LINE_BITS <const>, VECTOR_BITS <const> = 1024, 128
local LEAST_BITS <const> = 256 -- of a line that is swizzled
local FIRST_ID <const> = 3 -- of the groups' named barriers

--- Columns of C of a tile, adjacent in memory: of glu two columns of sums make one.
function M.width(variant) return variant.glu and variant.tile[1] // 2 or variant.tile[1] end

--- Why TMA cannot store a tile's columns; nil: it can.
function M.trouble(config, p)
  local columns = (config.tile or {LINE_BITS})[1] // (config.k_blocks or 1)
  local bits = M.width{ glu = p.glu, tile = {columns} } * p.c_dtype.bits
  if bits < LEAST_BITS then
    return ("a block has %d bytes of a row of C, and stores %d or more"):format(bits // 8,
      LEAST_BITS // 8)
  end
end

-- {shape, stride} of a mode of C, or of its first or second part.
local function part_of_mode(C, mode, i)
  local extent, stride = shape(C)[mode], stride(C)[mode]
  if type(extent) ~= "table" then extent, stride = { extent }, { stride } end
  return extent[i] or 1, stride[i] or 0, #extent
end

-- Of a pass: columns of C that TMA stores at once.
local function columns_at_once(config, p)
  return math.min(config.store[1] * LINE_BITS // p.c_dtype.bits, config.tile[1])
end

--- Why C, of whose modes one or both have two parts, is not stored in boxes that lie in one part
--- each; nil: it is.
function M.boxes_trouble(config, p)
  if not p.nested or p.nested.A or p.nested.B or p.groups or p.rows or p.l > 1 or p.beta ~= 0
    or p.bias or p.epilogue or p.scales then
    return "it stores boxes of a C whose modes have two strides each, of sums alone"
  end
  local unit = VECTOR_BITS // p.c_dtype.bits
  for mode, n in ipairs { columns_at_once(config, p), ROWS } do
    local extent, first, parts = part_of_mode(p.C, mode, 1)
    local _, second = part_of_mode(p.C, mode, 2)
    if parts > 2 or extent % n ~= 0 or second % unit ~= 0
      or mode == 1 and first ~= 1 or mode == 2 and first % unit ~= 0 then
      return ("it stores boxes of %d, adjacent or multiples of 16 bytes apart"):format(n)
    end
  end
  return tma.trouble(M.boxed(p.C), "C", { "M", "M", "N", "N" }, 1, 0)
end

--- A C with modes of two parts as TMA takes it: (columns, columns, rows, rows).
function M.boxed(C)
  local extents, strides = {}, {}
  for i = 0, 3 do
    extents[i + 1], strides[i + 1] = part_of_mode(C, 1 + i // 2, 1 + i % 2)
  end
  return tma.mapped(view(C, layout(extents, strides)), 1)
end

--- In a kernel: a matrix with the extents of such a C, for whoever asks for these.
function M.of_boxes(C)
  return view(C, layout({ size(C, 0) * size(C, 1), size(C, 2) * size(C, 3) }, { 1, 1 }))
end

--- Of a group's buffers, for any C.
function M.bytes(config)
  local panels, buffers = table.unpack(config.store)
  return math.min(panels * LINE_BITS, config.tile[1] * f32.bits) * buffers * ROWS // 8
end

-- The greatest number of panels, at most that many, that divides n.
local function panels_of(n, most)
  local panels = math.min(n, most)
  while n % panels ~= 0 do panels = panels - 1 end
  return panels
end

-- Of passes (64,columns): lines of so many bits, along C's columns or, where C is stored across,
-- its rows.
local function pass_layout(variant, columns, buffers, line)
  local dtype = variant.c_dtype
  if not variant.across then
    return tile_to_shape(gmma_layout(dtype, "K", line // 8), {ROWS, columns, buffers})
  end
  local along = math.min(LINE_BITS // dtype.bits, ROWS)
  local atom = gmma_layout(dtype, "MN", along * dtype.bits // 8)
  return tile_to_shape(tile_to_shape(atom, {along, columns}), {ROWS, columns, buffers})
end

--- What is known before the trace, of groups with that many rows; mma_of(columns, rows, groups) is
--- the tiled MMA of so many columns, for groups that have so many rows each. permuted: rows that
--- follow each other in it do not in C.
function M.plan(variant, mma_of, rows, permuted)
  local bM, dtype = M.width(variant), variant.c_dtype
  local line = LINE_BITS
  while bM * dtype.bits % line ~= 0 do line = line // 2 end
  local panels, buffers = table.unpack(variant.store)
  local n_panels = bM * dtype.bits // line
  local columns = panels_of(n_panels, panels) * line // dtype.bits
  local made_of = columns * variant.tile[1] // bM -- columns of sums
  local like = mma_of(made_of, ROWS, 1)
  local layout = pass_layout(variant, columns, buffers, line)
  local plan = { like = like, columns = columns, made_of = made_of, buffers = buffers,
                 layout = layout, dtype = dtype, passes = bM // columns, high = rows // ROWS }
  plan.n_passes = plan.high * plan.passes
  plan.fetches = variant.reads_c
  plan.bytes = ROWS * columns * dtype.bits // 8
  -- Stores of other buffers may still read, where each buffer's turn comes round.
  plan.under_way = plan.n_passes % buffers == 0 and buffers - 1 or 0
  if dtype.bits == 16 and not variant.glu and not (permuted and variant.across) then
    local name = variant.across and "SM90_U16x8_STSM_T" or "SM90_U32x4_STSM_N"
    plan.tiled = tiled_copy_C(atom(name, dtype), like)
  end
  if variant.grouped then
    local one = atom(("UniversalCopy<u%d>"):format(dtype.bits), dtype)
    local wide = variant.scatter == "add" and 1 or VECTOR_BITS // dtype.bits
    local along = math.min(line // (wide * dtype.bits), WARP)
    plan.by_rows = tiled_copy(one, row_major{GROUP // along, along}, row_major{1, wide})
  end
  return plan
end

--- In a kernel: shared memory of all groups, (64, columns, buffer, group).
function M.memory(plan, n_groups)
  local columns, buffers = plan.columns, plan.buffers
  return shared(plan.dtype, tile_to_shape(plan.layout, {ROWS, columns, buffers, n_groups}))
end

--- Of all groups, an mbarrier for each buffer: what C holds is there.
function M.barriers(plan, n_groups)
  return plan.fetches and mbarrier(n_groups * plan.buffers, 1) or nil
end

local Store = {}
Store.__index = Store

--- In a kernel: the matrix of one batch, and of what has two modes that.
function M.of_batch(x, l) return rank(x) == 2 and x or x(_, _, l) end

-- A batch of C and of its coordinates for TMA, (N,M).
local function batch_of(C, out, l)
  return select(M.of_batch(C, l), 1, 0), select(M.of_batch(out, l), 1, 0)
end

--- In a kernel: a group's way from sums to C (M,N,L), batch l; `out` are C's coordinates for TMA;
--- by.scatter: see gemm_indexed.lua.
function M.begin(variant, plan, memory, full, group, all, all_out, l, by)
  local i = threadIdx.x % GROUP
  local C, out = all, all_out
  if variant.boxes then C = select(C, 1, 0) else C, out = batch_of(all, all_out, l) end
  return setmetatable({ variant = variant, plan = plan, memory = memory(_, _, _, group), C = C,
    all = all, all_out = all_out, l = l, index = by and by.scatter, is_first = i == 0,
    thr = plan.like:get_slice(i),
    copier = plan.tiled and plan.tiled:get_slice(i),
    together = named_barrier(FIRST_ID + group, GROUP),
    full = full, first_full = full and group * plan.buffers,
    turn = full and pipeline_state(1), -- of tiles: their parity
    thread = variant.owners and (threadIdx.x - GROUP) % variant.owners.n_threads,
    out = out }, Store)
end

local function copied(self) return setmetatable(lists.with(self), Store) end

-- The same for another batch.
local function of_panel(self, l)
  local new = copied(self)
  new.l = l
  new.C, new.out = batch_of(self.all, self.all_out, l)
  return new
end

--- The same for a part of C, a panel or a group; nil: C has no parts.
function Store:of(group)
  if group == nil then return self end
  if group.panel ~= nil then return of_panel(self, group.panel) end
  local new = copied(self)
  new.group, new.l = group, group.g
  new.first = {group.first, 0}
  if self.index then
    new.scattered = nested.gather(self.variant, indexed.part(self.C, 0, self.index, group),
      self.variant.nested_C, 1, {1, 2})
  end
  new.C = grouping.part(self.C, 0, group)
  new.out = domain_offset(new.first, self.out)
  return new
end

-- {====== Parts of groups ======

-- Are all rows of the passes at `row` the group's? TMA would touch others'.
local function is_whole(self, row)
  return not self.group or not self.index and (row + 1) * ROWS <= self.group.rows
end

-- A pass's part of C, or of what is shaped so, where the block's tile may overhang: a pass, too,
-- may lie outside, which a tile of its size alone would not know.
local function part_of(self, C, at)
  local plan, bM, bN = self.plan, M.width(self.variant), self.variant.tile[2]
  return tile(tile(C, {bN, bM}, {at.tile_row, at.tile_column}), {ROWS, plan.columns},
    {at.row % (bN // ROWS), at.column % plan.passes})
end

-- The same and a buffer, as the threads copy them, in adjacent wide accesses: C's part first.
local function copied_parts(self, buffer, at)
  local thr = self.plan.by_rows:get_slice(threadIdx.x % GROUP)
  return thr:partition_S(part_of(self, guard(self.C), at)),
    thr:partition_S(self.memory(_, _, buffer))
end

-- A buffer to the rows of C that the index names.
local function scatter(self, buffer, at)
  local thr = self.plan.by_rows:get_slice(threadIdx.x % GROUP)
  local places = thr:partition_S(part_of(self, nested.places(self.scattered.source), at))
  nested.store(self.scattered, nested.rows(self.scattered, places), places,
    thr:partition_S(self.memory(_, _, buffer)))
end

-- {====== What C holds ======

local function barrier_of(self, buffer) return self.full[self.first_full + buffer] end

-- One thread: pass i of the tile at (row, column), as soon as `pending` stores at most still read.
local function fetch_pass(self, i, row, column, pending)
  local plan = self.plan
  local buffer = i % plan.buffers
  local gC = tile(self.out, {ROWS, plan.columns}, {_, _})
  local at_row = row * plan.high + i // plan.passes
  local at_column = column * plan.passes + i % plan.passes
  tma_store_wait(pending)
  if is_whole(self, at_row) then
    barrier_of(self, buffer):arrive_expect_tx(plan.bytes)
    tma_load(gC(_, _, at_row, at_column), self.memory(_, _, buffer), barrier_of(self, buffer))
  end
end

--- While the group's tile at (row, column) is multiplied: what C holds there, into all buffers.
function Store:fetch(row, column)
  if not self.plan.fetches then return end
  if self.is_first then
    for i = 0, math.min(self.plan.buffers, self.plan.n_passes) - 1 do
      fetch_pass(self, i, row, column, 0)
    end
  end
end

-- Behind pass i: the next one for a buffer whose store began a pass ago, so that it is hardly
-- waited for; of a single buffer that of this pass.
local function fetch_next(self, i, row, column)
  local plan = self.plan
  local behind = plan.buffers > 1 and 1 or 0
  local soon = i - behind + plan.buffers
  if i >= behind and soon < plan.n_passes and self.is_first then
    fetch_pass(self, soon, row, column, behind)
  end
end

-- A buffer's phase in pass i has the parity of how many came before it, in this tile and in others.
local function wait_for_pass(self, i, at)
  local plan = self.plan
  local buffers, turn = plan.buffers, i // plan.buffers
  local parity = turn % 2
  if cdiv(plan.n_passes - i % buffers, buffers) % 2 == 1 then
    parity = parity == 0 and self.turn.parity or 1 - self.turn.parity
  end
  local buffer = i % buffers
  if is_whole(self, at.row) then
    barrier_of(self, buffer):wait(parity)
  else
    self.together:sync() -- the first thread has waited for the buffer
    copy(copied_parts(self, buffer, at))
    if self.is_first then barrier_of(self, buffer):arrive() end -- phases go on
    self.together:sync()
  end
end

-- {====== A pass ======

-- The coordinates (n,m) in C, of a group those in all of it; of glu those of sums.
local function places_of(self)
  local extent = shape(select(self.C, 1, 0))
  if self.variant.glu then extent = {2 * size(self.C, 1), size(self.C, 0)} end
  local places = select(identity_tensor(extent), 1, 0)
  return self.group and domain_offset(self.first, places) or places
end

--- Those of a thread's part, by thr_mma, of the block's tile {bN,bM} at (row, column).
function Store:places(thr_mma, extent, row, column)
  return thr_mma:partition_C(tile(places_of(self), extent, {row, column}))
end

-- What is stored of a pass's sums, at (row, column) in tiles of 64 x columns.
local function elements(self, out, sums, row, column, buffer, ids)
  local variant, extent = self.variant, {ROWS, self.plan.made_of}
  if variant.plain then return cast(sums, variant.c_dtype) end
  local places = places_of(self)
  if variant.glu then
    return out:paired(sums, self.thr:partition_C(tile(places, extent, {row, column})), ids)
  end
  local part = variant.reads_c and self.thr:partition_C(self.memory(_, _, buffer))
  return out:finished(sums, part, self.thr:partition_C(tile(places, extent, {row, column})), ids)
end

local function write(self, new, buffer)
  local to = self.memory(_, _, buffer)
  if self.variant.glu then
    local places = self.thr:partition_C(identity_tensor{ROWS, self.plan.made_of})
    for i in unroll(0, size(new)) do
      local at = places[2 * i]
      to[{at[1], at[2] // 2}] = new[i]
    end
  elseif self.copier then
    copy(self.plan.tiled, self.copier:retile_S(new), self.copier:partition_D(to))
  else
    copy(new, self.thr:partition_C(to))
  end
end

-- The part of C's coordinates to which a pass is stored.
local function place_of(self, at)
  local columns = self.plan.columns
  if not self.variant.boxes then
    return tile(self.out, {ROWS, columns}, {_, _})(_, _, at.row, at.column)
  end
  local high, wide = size(self.out, 2) // ROWS, size(self.out, 0) // columns
  return tile(select(self.out, 2, 0, 3, 1), {ROWS, columns, 1, 1}, {_, _, _, _})(_, _, 0, 0,
    at.row % high, at.column % wide, at.row // high, at.column // wide)
end

-- From a buffer to C: by TMA, but by the threads where rows are another group's. Either
-- way the pass is a group of TMA's stores, perhaps an empty one: these are counted.
local function out_of(self, buffer, at)
  if is_whole(self, at.row) then
    if self.is_first then
      tma_store(self.memory(_, _, buffer), place_of(self, at))
      tma_store_commit()
    end
    return
  end
  if self.index then
    scatter(self, buffer, at)
  else
    local to, from = copied_parts(self, buffer, at)
    copy(from, to)
  end
  if self.is_first then tma_store_commit() end
  if self.plan.fetches then -- TMA writes the buffer next
    fence_proxy_async()
    self.together:sync()
  end
end

-- What is stored of a pass, from registers to C.
local function put(self, new, buffer, at)
  if self.is_first and not self.plan.fetches then tma_store_wait(self.plan.under_way) end
  self.together:sync()
  write(self, new, buffer)
  fence_proxy_async()
  self.together:sync()
  out_of(self, buffer, at)
end

--- The sums of the group's tile at (row, column), in tiles of its rows and of bM columns; the
--- block's tile is in row `tile_row` of such; ending: {alpha =, beta =, operands =, scales =}.
function Store:store(sums, row, column, tile_row, ending)
  local plan = self.plan
  local columns = size(self.C, 1)
  if self.variant.glu then columns = 2 * columns end
  local at_tile = { l = self.l, operands = ending.operands, scales = ending.scales, m = column,
                    n = tile_row, extent = {columns, size(self.C, 0)},
                    thread = self.thread }
  local out = epilogue.begin(self.variant, ending.alpha, ending.beta, at_tile)
  local ids = out:ids(sums)
  for i = 0, plan.n_passes - 1 do
    local high, pass, buffer = i // plan.passes, i % plan.passes, i % plan.buffers
    local at_row, at_column = row * plan.high + high, column * plan.passes + pass
    local at = { row = at_row, column = at_column, tile_row = tile_row, tile_column = column }
    local extent = {size(sums, 0) // plan.passes, 1, 1}
    local part = tile(sums, extent, {pass, high, 0})
    if plan.fetches then wait_for_pass(self, i, at) end
    local new = elements(self, out, part, at_row, at_column, buffer,
      ids and tile(ids, extent, {pass, high, 0}))
    put(self, new, buffer, at)
    if plan.fetches then fetch_next(self, i, row, column) end
  end
  out:finish()
  if plan.fetches then self.turn:advance() end
end

--- Behind the last tile: shared memory must stay until it has been read. That C is written is
-- awaited by whoever waits for the launch.
function Store:finish()
  if self.is_first then tma_store_wait(0) end
end

return M
