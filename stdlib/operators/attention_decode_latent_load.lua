-- attention_decode_latent_load.lua: a fourth warp group for attention_decode_latent_hopper.lua. It
-- loads where the second group cannot: keys of pages of any size (attention_decode_latent_rows.lua)
-- and keys of 8 bits (attention_decode_latent_widen.lua). A module of these has
--   new_shared(variant)   its shared memory and barriers, or nil
--   new(variant, args, smem, bars, claim, own)   an object of the group; `own` is from new_shared
-- and the object
--   begin(piece)          lets the first tile come
--   load_tile(piece, first, slot)  brings the tile from key `first` on to the slot.
--                         claim.slot(slot) waits until that is empty, claim.rest() until the place
--                         of the last columns is
local by_rows = require "cuttle.attention_decode_latent_rows"
local schedule = require "cuttle.attention_decode_schedule"
local widen = require "cuttle.attention_decode_latent_widen"
local M = {}

local KEYS <const> = 64

--- The module for a variant or a configuration.
function M.of(variant) return variant.narrow and widen or by_rows end

--- Parities of the slots' barriers. Slots are constants where most products use them, so that the
--- addresses that these take are, too.
function M.parities(bits)
  local held = i32(bits)
  return { of = function(slot) return held >> slot & 1 end,
           turn = function(slot) held = held ~ (1 << slot) end }
end

local function claims(variant, bars)
  local free, rest = M.parities((1 << variant.slots) - 1), pipeline_state(1, {parity = 1})
  local function claim_slot(slot)
    bars.empty[slot]:wait(free.of(slot))
    free.turn(slot)
  end
  local function claim_rest()
    bars.empty_rest[0]:wait(rest.parity)
    rest:advance()
  end
  return { slot = claim_slot, rest = claim_rest }
end

--- What the group does. Each piece begins in slot 0.
function M.all(variant, args, smem, bars, own)
  local loader = M.of(variant).new(variant, args, smem, bars, claims(variant, bars), own)
  local function compute(piece)
    local slot = i32(0)
    if piece.first < piece.last then loader:begin(piece) end
    for first in range(piece.first, piece.last, KEYS) do
      loader:load_tile(piece, first, slot)
      slot = (slot + 1) % variant.slots
    end
  end
  schedule.each_piece(variant, args, { first = function() end, compute = compute,
    finish = function() end })
end

return M
