-- attention_decode_latent_rows.lua: a warp group (attention_decode_latent_load.lua) that loads keys
-- row by row with cp.async, so that pages may be of any size. A tile comes in chunks: parts of the
-- columns that are values, and the other columns.
local merge = require "cuttle.attention_decode_merge"
local pages = require "cuttle.attention_decode_pages"
local M = {}

local GROUP <const>, WARP <const>, KEYS <const>, CHUNKS <const> = 128, 32, 64, 4
local DEPTH_V <const>, PANEL <const> = 512, 64
local WIDE <const> = 8 -- elements of a copy of 16 bytes
local ACROSS <const> = 8 -- threads that share a row
local OWN_ROWS <const> = KEYS * ACROSS // GROUP -- of a thread

function M.new_shared() return nil end

local Loader = {}
Loader.__index = Loader

-- A thread's i-th row of a tile.
local function own_row(i) return threadIdx.x % GROUP // ACROSS + i * (GROUP // ACROSS) end

-- Where the thread's keys of the tile from `first` on lie, the last one again beyond the end.
function Loader:places(piece, first)
  local of = {}
  for i = 0, OWN_ROWS - 1 do
    local k = min(first + own_row(i), piece.last - 1)
    of[i] = { row = pages.row_in_page(self.variant, k),
              page = pages.page(self.variant, self.args, piece.b, k) }
  end
  return of
end

-- A chunk is on its way. Last columns have one place, which scores of the tile before have read.
function Loader:bring(piece, of, c, slot)
  local kv_head, smem = merge.key_head(self.variant, piece.head), self.smem
  local n = (c < CHUNKS and DEPTH_V // CHUNKS or PANEL) // WIDE
  if c == CHUNKS then self.claim.rest() end
  for i = 0, OWN_ROWS - 1 do
    local from = self.args.K(of[i].row, _, kv_head, of[i].page)
    local to = c < CHUNKS and smem.V(own_row(i), _, slot) or smem.K_rest(own_row(i), _)
    for j = 0, n - 1, ACROSS do
      local at = threadIdx.x % ACROSS + j
      copy(tile(from, {WIDE}, {c * (DEPTH_V // CHUNKS) // WIDE + at}),
        tile(to, {WIDE}, {(c < CHUNKS and c * n or 0) + at}))
    end
  end
  cp_async_commit()
end

-- The groups that multiply may read it.
function Loader:hand_on(c, slot)
  cp_async_wait(CHUNKS - c)
  fence_proxy_async()
  sync_warp()
  if threadIdx.x % WARP == 0 then
    local full = c < CHUNKS and self.bars.full[slot * CHUNKS + c] or self.bars.full_rest[0]
    full:arrive()
  end
end

function Loader.begin() end

--- A tile of a piece, from key `first` on, to that slot.
function Loader:load_tile(piece, first, slot)
  local of = self:places(piece, first)
  self.claim.slot(slot)
  for c = 0, CHUNKS do self:bring(piece, of, c, slot) end
  for c = 0, CHUNKS do self:hand_on(c, slot) end
end

function M.new(variant, args, smem, bars, claim)
  return setmetatable({ variant = variant, args = args, smem = smem, bars = bars, claim = claim },
    Loader)
end

return M
