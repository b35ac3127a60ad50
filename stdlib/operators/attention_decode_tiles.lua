-- attention_decode_tiles.lua: what attention_decode's kernels for tensor cores share: rows and keys
-- in shared memory, the softmax of a tile of keys, and the way through a block's pieces. An object
-- with a warp's state has
--   variant, args, smem    as the kernel has them; smem.Q has a tile's rows; if keys have columns
--                          of their own type, smem.Q_rope those
--   S, O, some_S, some_O   the scores and the sums; those of rows in use
--   rows, place, place_O   as in attention_softmax.lua; the coordinates of S and O
-- and the methods begin(piece), which lets its first tiles come, and compute(piece, factor, next).
-- In a variant, is_ahead: queries of the next piece come while this one is computed.
local internal = ...
local merge = require "cuttle.attention_decode_merge"
local narrow = require "cuttle.attention_decode_narrow"
local schedule = require "cuttle.attention_decode_schedule"
local scores = require "cuttle.attention_decode_scores"
local softmax = require "cuttle.attention_softmax"
local M = {}

local WARP <const>, ROWS <const>, WIDE <const> = 32, 16, 16 -- WIDE: bytes of a copy
local LINE <const> = 128 -- bytes of a line of shared memory, which has all banks once

M.atoms = {
  f16 = "SM80_16x8x16_F32F16F16F32_TN", bf16 = "SM80_16x8x16_F32BF16BF16F32_TN",
}

--- Elements of a copy.
function M.wide(dtype) return WIDE * 8 // dtype.bits end

-- Are the rows of t, (S,D,H,B), whole pieces of 16 bytes at such addresses?
local function is_wide(t)
  for mode = 0, 3 do
    local step = stride(t, mode)
    if size(t, mode) > 1 and (mode == 1 and step ~= 1
      or mode ~= 1 and step % M.wide(t.dtype) ~= 0) then
      return false
    end
  end
  return internal.launch.address(t) % WIDE == 0
end

--- Why these kernels cannot compute the problem by its types, addresses and strides, or nil.
function M.trouble(p)
  if not M.atoms[p.dtype.name] then return "its kernel computes bf16 and f16" end
  for _, name in ipairs { "Q", "K", "V", "K_rope" } do
    if p[name] and not is_wide(p[name]) then
      return ("rows of %s are not whole pieces of 16 bytes at multiples of 16 bytes"):format(name)
    end
  end
end

-- Columns of a line of shared memory that rows of such a depth fill, and the swizzle by which
-- ldmatrix reads 8 rows without conflicts.
local function line_of(dtype, depth)
  local n, n_bits = LINE * 8 // dtype.bits, 3
  while depth % n ~= 0 do n, n_bits = n // 2, n_bits - 1 end
  return n, swizzle(n_bits, math.tointeger(math.log(M.wide(dtype), 2)), 3)
end

--- Rows in shared memory, from which ldmatrix reads 8 without conflicts; more modes follow.
function M.swizzled(dtype, rows, depth, ...)
  local n, by = line_of(dtype, depth)
  return tile_to_shape(composition(by, row_major{8, n}), {rows, depth, ...})
end

--- The same for rings of warps, in each of whose slots other elements may follow.
function M.ring(dtype, rows, depth, slot, stages, warps)
  local n, by = line_of(dtype, depth)
  return composition(by, layout({ { 8, rows // 8 }, { n, depth // n }, stages, warps },
    { { n, 8 * n }, { 1, rows * n }, slot, slot * stages }))
end

--- The sums of rows in use: of the first 8 rows a thread has one, of the others the second.
function M.used(variant, x)
  if merge.used_rows(variant) > ROWS // 2 then return x end
  return view(x, layout({ { 2, 1 }, 1, size(x, 2) }, { { 1, 2 }, 0, stride(x, 2) }))
end

--- Pieces of `width` elements of `rows` rows, by n threads: f(row, piece).
function M.each_part(rows, depth, width, thread, n, f)
  local across = depth // width
  for i in unroll(0, cdiv(rows * across, n)) do
    local at = i * n + thread
    if rows * across % n == 0 then
      f(at // across, at % across)
    elseif at < rows * across then
      f(at // across, at % across)
    end
  end
end

-- Calls f(i, row, piece) for the thread's pieces of all rows; i counts them.
local function each_own(variant, f)
  local i, n = 0, M.wide(variant.dtype)
  M.each_part(ROWS, variant.depth, n, threadIdx.x, WARP * variant.warps, function(row, j)
    f(i, row, j)
    i = i + 1
  end)
end

-- A piece's queries are on their way to registers, {[i] = ...}; rows that no query has are 0.
local function fetch_rows(variant, args, piece)
  local kv_head, first_row = merge.key_head(variant, piece.head)
  local n, rows = M.wide(variant.dtype), {}
  for i = 0, cdiv(ROWS * variant.depth // n, WARP * variant.warps) - 1 do
    rows[i] = fragment(variant.dtype, n)
    clear(rows[i])
  end
  if piece.n_units > 0 then
    each_own(variant, function(i, row, j)
      local query, head, is_there = merge.query(variant, kv_head, first_row, row)
      if is_there then copy(tile(args.Q(query, _, head, piece.b), {n}, {j}), rows[i]) end
    end)
  end
  return rows
end

-- They are in shared memory. Columns that meet keys of 8 bits are permuted.
local function put_rows(variant, rows, smem)
  local n = M.wide(variant.dtype)
  local n_narrow = variant.narrow and variant.depth_k // n or 0
  local function put_narrow(i, row, j)
    for e = 0, n - 1 do smem.Q[{row, narrow.place_of(j * n + e)}] = cast(rows[i][e], f16) end
  end
  each_own(variant, function(i, row, j)
    if not variant.narrow then
      copy(rows[i], tile(smem.Q(row, _), {n}, {j}))
    elseif not variant.rope then
      put_narrow(i, row, j)
    elseif j < n_narrow then
      put_narrow(i, row, j)
    else
      copy(rows[i], tile(smem.Q_rope(row, _), {n}, {j - n_narrow}))
    end
  end)
end

-- {====== A tile of keys ======

-- Row r of the thread's, of the tile's.
local function row_number(self, r) return softmax.row_of(self.place, r)[{0, 0}][1] end

-- Scores of the keys from `first` on, by a function of attention_decode_scores.lua.
local function each_score(self, piece, first, factor, score)
  local variant = self.variant
  local _, first_row = merge.key_head(variant, piece.head)
  for r = 0, self.rows.n - 1 do
    local row, place = softmax.row_of(self.some_S, r), softmax.row_of(self.place, r)
    for j in range(size(row, 1)) do
      for c = 0, 1 do
        local k = first + place[{c, j}][2]
        row[{c, j}] = score(variant, self.args, piece, first_row + row_number(self, r), k,
          row[{c, j}], factor)
      end
    end
  end
end

--- Before the first tile of a piece.
function M.clear(self)
  fill(self.rows.tops, -math.huge)
  clear(self.rows.sums)
  clear(self.O)
end

local function is_masked(self, piece, first, keys)
  return scores.is_masked(self.variant, self.args, piece, first, keys)
end

--- Masks and scores of products of `keys` keys from `first` on; those of keys that a row does not
--- see become -infinity. Of self it needs variant, args, some_S, rows and place.
function M.mask(self, piece, first, keys, factor)
  local function by(score) each_score(self, piece, first, factor, score) end
  if not scores.changes(self.variant) then
    if is_masked(self, piece, first, keys) then by(scores.element) end
  elseif is_masked(self, piece, first, keys) then
    by(scores.element)
  else
    by(scores.score)
  end
end

--- S of a tile of `keys` keys from `first` on becomes P. Returns whether O must be multiplied by
--- rows.shrink. It needs what M.mask needs.
function M.probabilities(self, piece, first, keys, factor)
  local grows
  local by = scores.factor(self.variant, factor)
  if is_masked(self, piece, first, keys) then
    each_score(self, piece, first, factor, scores.element)
    grows = softmax.softmax(self.some_S, self.rows, by, true, false, false)
  else
    if scores.changes(self.variant) then each_score(self, piece, first, factor, scores.score) end
    grows = softmax.softmax(self.some_S, self.rows, by, false, false, false)
  end
  return grows
end

--- The same, and O fits P.
function M.softmax(self, piece, first, keys, factor)
  if M.probabilities(self, piece, first, keys, factor) then
    softmax.scale_rows(self.some_O, self.rows.shrink)
  end
end

-- What the warp found, in shared memory: its result, or, if a block has one, its columns of that.
local function store(self, column_of)
  local rows, smem, warp, at = self.rows, self.smem, threadIdx.x // WARP, 0
  local n_rows, is_first = merge.used_rows(self.variant), threadIdx.x % 4 == 0
  if self.variant.found > 1 then
    at = warp
  else
    is_first = is_first and warp == 0
  end
  softmax.finish(rows)
  local slot = smem.slots and self:free_slot()
  if slot and threadIdx.x % WARP == 0 then smem.slots[warp] = slot end
  local to = merge.found(smem, at, slot)
  for r = 0, rows.n - 1 do
    local row = row_number(self, r)
    if row < n_rows then
      local mine, place = softmax.row_of(self.some_O, r), softmax.row_of(self.place_O, r)
      local first = place[{0, 0}][2]
      for j in range(size(mine, 1)) do
        for c = 0, 1 do to[{ column_of(first, 8 * j + c), row }] = mine[{c, j}] end
      end
      if is_first then
        smem.ml[{ 0, row, at }], smem.ml[{ 1, row, at }] = rows.tops[r], rows.sums[r]
      end
    end
  end
end

-- {====== A block's pieces ======

--- All of them. c: the scale and log2(e); column_of(first, c): where a column of O
--- belongs, the thread's first one and c.
function M.each_piece(self, k_scale, c, column_of)
  local variant, args, smem = self.variant, self.args, self.smem
  local function first(piece)
    local rows = fetch_rows(variant, args, piece) -- before keys, which would delay them
    self:begin(piece)
    put_rows(variant, rows, smem)
    sync_threads()
  end
  local rows -- of the next piece
  local function compute(piece, next_piece)
    if variant.is_ahead then rows = fetch_rows(variant, args, next_piece) end
    self:compute(piece, merge.factor_of_scores(variant, k_scale, c, piece), next_piece)
  end
  local function finish(piece, next_piece)
    if not variant.is_ahead then rows = fetch_rows(variant, args, next_piece) end
    self:begin(next_piece)
    store(self, column_of)
    sync_threads()
    if next_piece.n_units > 0 then put_rows(variant, rows, smem) end
    merge.finish_piece(variant, args, smem, piece)
    sync_threads()
  end
  schedule.each_piece(variant, args, { first = first, compute = compute, finish = finish })
end

return M
