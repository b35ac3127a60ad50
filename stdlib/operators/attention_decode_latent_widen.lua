-- attention_decode_latent_widen.lua: a warp group (attention_decode_latent_load.lua) that makes
-- keys of 8 bits numbers of f16, times their scale. TMA brings chunks of 128 columns to memory of
-- their own, and 64 columns of the queries' type to their place. The group's warps bring chunks
-- to the tile's slot as soon as that is empty, and then let the next tile's chunk come.
local arrive = require "cuttle.warp_arrive"
local merge = require "cuttle.attention_decode_merge"
local narrow = require "cuttle.attention_decode_narrow"
local overlap = require "cuttle.overlap"
local pages = require "cuttle.attention_decode_pages"
local tma = require "cuttle.tma_rules"
local M = {}

local GROUP <const>, WARP <const>, WARPS <const>, KEYS <const>, CHUNKS <const> = 128, 32, 4, 64, 4
local COLUMNS <const>, PANEL <const> = 128, 64 -- of a chunk, and of a line of f16
local PANELS <const> = COLUMNS // PANEL
local ROWS <const> = 8 -- that a warp brings at a time, of one panel
local OWN_ROWS <const> = KEYS // ROWS // WARPS -- of a thread
local PIECE <const>, WORDS <const> = 16, 4 -- of a copy: bytes, words
local LINE <const> = 32 -- words of a line of memory
local SLOT <const> = KEYS * CHUNKS * COLUMNS // 2 -- words
local N_SCALES <const> = 2 -- tiles whose scales there is room for

M.bytes = KEYS * CHUNKS * (COLUMNS + 4 * N_SCALES) + 16 * CHUNKS

--- Why it cannot load these keys, or nil. A key has one set of scales, as its values are its own
--- columns.
function M.trouble(p, modes)
  local has_scales = p.k_groups or p.v_groups or p.scaled
  if not p.K_rope then return "its kernel computes keys with k_rope" end
  if has_scales and not (p.k_groups == CHUNKS and p.v_groups == CHUNKS
    and p.k_scale.layout == p.v_scale.layout and overlap.begin_together(p.k_scale, p.v_scale)) then
    return "its kernel takes one tensor of 4 scales of each key, as k_scale and v_scale"
  end
  return tma.trouble(p.K_rope, "k_rope", modes, 2, 0)
    or has_scales and tma.trouble(p.k_scale, "k_scale", modes, 2, 0)
end

local Loader = {}
Loader.__index = Loader

-- The lane's row of eight, and its piece of the four of a panel. Eight adjacent lanes meet
-- different banks where they read pieces of 8 bits, and where they store every second one of f16.
local function place_of_lane()
  local i = threadIdx.x % WARP
  return i % 2 + i // 2 % 2 * 4 + i // 8 % 2 * 2, (i // 16) ~ (i // 4 % 2 * 3)
end

--- Its shared memory and barriers.
function M.new_shared(variant)
  local raw = tile_to_shape(gmma_layout(variant.kv_dtype, "K", COLUMNS), {KEYS, COLUMNS, CHUNKS})
  local scales = tile_to_shape(row_major{KEYS, CHUNKS}, {KEYS, CHUNKS, N_SCALES})
  return { raw = shared(variant.kv_dtype, raw), landed = mbarrier(CHUNKS, 1),
           scales = variant.k_groups and shared(f32, scales), together = named_barrier(5, GROUP) }
end

function M.new(variant, args, smem, bars, claim, own)
  local row, at = place_of_lane()
  local self = setmetatable({ variant = variant, args = args, smem = smem, bars = bars,
    claim = claim, row = row, at = at, warp = shfl_idx(threadIdx.x % GROUP // WARP, 0),
    raw = own.raw, from = {}, landed = own.landed, scales = own.scales,
    together = own.together, turn = i32(0), page = i32(0),
    keys = tma_tensor(args.K), last = tma_tensor(args.K_rope),
    scale_of = own.scales and tma_tensor(args.k_scale) }, Loader)
  for panel = 0, PANELS - 1 do
    self.from[panel] = self:own_words(own.raw, panel * (PANEL // PIECE) + at, 0, CHUNKS)
  end
  return self
end

-- The page of the tile from key `first` on.
function Loader:page_of(piece, first) return pages.page(self.variant, self.args, piece.b, first) end

-- n columns of that tile, from number `at` of such columns on, are on their way.
function Loader:load(piece, first, page, from, to, n, at, full)
  local rows = pages.row_in_page(self.variant, first) // KEYS
  local kv_head = merge.key_head(self.variant, piece.head)
  tma_load(tile(from, {KEYS, n}, {_, _})(_, _, rows, at, kv_head, page), to, full)
end

-- Chunk c of a tile is on its way, by a warp of its own; with the first one, its scales.
function Loader:bring(piece, first, page, c, turn)
  if threadIdx.x % GROUP == c * WARP then
    local full, has_scales = self.landed[c], self.scales and c == 0
    full:arrive_expect_tx(KEYS * COLUMNS + (has_scales and KEYS * CHUNKS * 4 or 0))
    self:load(piece, first, page, self.keys, self.raw(_, _, c), COLUMNS, c, full)
    if has_scales then
      self:load(piece, first, page, self.scale_of, self.scales(_, _, turn), CHUNKS, 0, full)
    end
  end
end

-- The tile's last columns are on their way.
function Loader:bring_rest(piece, first)
  self.claim.rest()
  if threadIdx.x % GROUP == 0 then
    local full = self.bars.full_rest[0]
    full:arrive_expect_tx(KEYS * PANEL * self.variant.dtype.bits // 8)
    self:load(piece, first, self.page, self.last, self.smem.K_rest, PANEL, 0, full)
  end
end

-- Where the thread has words of memory that has lines of 128 bytes for all rows, and then lines of
-- the next columns: {WORDS, its rows, such columns}, from piece `piece` of a line on. Only the
-- first of these addresses depends on the thread.
function Loader:own_words(t, piece, first, n)
  local words = recast(view(t, layout{size(t)}), u32)
  return view(words, layout({WORDS, OWN_ROWS, n}, {1, WARPS * ROWS * LINE, KEYS * LINE}),
    first + (self.warp * ROWS + self.row) * LINE + piece * WORDS)
end

-- Where it stores words of a slot: {[half of its sixteen numbers] = ...}.
function Loader:places(slot)
  local to = {}
  for half = 0, 1 do
    to[half] = self:own_words(self.smem.V, 2 * self.at + half, slot * SLOT, CHUNKS * PANELS)
  end
  return to
end

-- The words of chunk c, {[i] = {[panel] = words}} of the thread's rows i.
function Loader:read(c)
  local read = {}
  for i = 0, OWN_ROWS - 1 do
    read[i] = {}
    for panel = 0, PANELS - 1 do
      read[i][panel] = fragment(u32, WORDS)
      copy(self.from[panel](_, i, c), read[i][panel])
    end
  end
  return read
end

-- By what row i of chunk c is to be multiplied, or nil. It is read when it is needed, as registers
-- are few.
function Loader:scale(i, c)
  if not self.scales then return nil end
  local row = self.row + (self.warp + i * WARPS) * ROWS
  return f16x2(cast(self.scales[{ row, c, self.turn }], f16))
end

-- Sixteen numbers of a row, times their scale, to two pieces of the slot's panel.
function Loader:widen(words, by, to, i, panel)
  for half = 0, 1 do
    local own = fragment(u32, WORDS)
    for w = 0, WORDS - 1, 2 do
      local low, high = narrow.words(self.variant.kv_dtype, words[(half * WORDS + w) // 2])
      own[w], own[w + 1] = by and f16x2.mul(low, by) or low, by and f16x2.mul(high, by) or high
    end
    copy(own, to[half](_, i, panel))
  end
end

-- What was read of chunk c, to the slot.
function Loader:convert(read, c, to)
  for i = 0, OWN_ROWS - 1 do
    local by = self:scale(i, c)
    for panel = 0, PANELS - 1 do self:widen(read[i][panel], by, to, i, c * PANELS + panel) end
  end
end

-- The groups that multiply may read chunk c of the slot.
function Loader:hand_on(c, slot)
  fence_proxy_async()
  arrive(self.bars.full[slot * CHUNKS + c])
end

--- Before the first tile of a piece.
function Loader:begin(piece)
  self.page = self:page_of(piece, piece.first)
  for c = 0, CHUNKS - 1 do self:bring(piece, piece.first, self.page, c, self.turn) end
end

--- A tile of a piece, from key `first` on, to that slot. `turn` is the parity of its chunks, and
--- the place of its scales. Words of a chunk are on their way before the slot is empty, or before
--- the chunk before is handed on, as it takes time until the stores of that one are seen.
function Loader:load_tile(piece, first, slot)
  local next_page, last = self:page_of(piece, min(first + KEYS, piece.last - 1)), CHUNKS - 1
  local to = self:places(slot)
  for c = 0, last do
    self.landed[c]:wait(self.turn)
    local read = self:read(c)
    if c == 0 then self.claim.slot(slot) else self:hand_on(c - 1, slot) end
    if c == 0 then fence_proxy_async() end -- as hand_on has
    self.together:sync() -- all have read the chunk
    if c == 1 then self:bring_rest(piece, first) end
    if first + KEYS < piece.last then
      self:bring(piece, first + KEYS, next_page, c, 1 - self.turn)
    end
    self:convert(read, c, to)
  end
  self:hand_on(last, slot)
  self.turn, self.page = 1 - self.turn, next_page
end

return M
