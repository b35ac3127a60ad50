-- attention_decode_scores.lua: masks and scores of attention_decode, by the parts that attention
-- has (attention_score.lua), where query i of n_q is at the place of key n_keys - n_q + i. In a
-- variant: score, a kind, or nil; `args.operands` are those of its parts, and then the sinks.
local merge = require "cuttle.attention_decode_merge"
local pages = require "cuttle.attention_decode_pages"
local M = {}

-- The place of a row of the group and key k, as parts take it; of rows that no query has, some
-- other head of the group.
local function place_of(variant, piece, row, k)
  local query, head = merge.query(variant, merge.key_head(variant, piece.head), 0,
    min(row, variant.n_q * variant.group - 1))
  return { q = query, k = k, h = head, b = piece.b, n_q = variant.n_q, n_k = piece.n_keys }
end

--- What softmax multiplies scores by where products are to be multiplied by c.
function M.factor(variant, c)
  return variant.score and variant.score:factor(c) or c
end

--- Do keys that all rows see have other scores than products?
function M.changes(variant) return variant.score ~= nil and variant.score.changes end

--- The score of a product s of a row of the group and a key that it sees, and that is there.
function M.score(variant, args, piece, row, k, s, c)
  local at = place_of(variant, piece, row, k)
  at.base, at.offset = k, 0
  return variant.score:score(args.operands, s * c, at)
end

--- The same of any key, times `by`, nil: 1: -infinity where the row does not see it, or it is not
--- the piece's.
function M.element(variant, args, piece, row, k, s, c, by)
  local seen = k < piece.last and pages.sees(variant, args, piece, row, k)
  if variant.score then
    s = variant.score:element(args.operands, s, place_of(variant, piece, row, k), c)
  end
  return where(seen, by and s * by or s, -math.huge)
end

--- Does a row of the group not see some of `keys` keys from `first` on?
function M.is_masked(variant, args, piece, first, keys)
  local function is_cut(last) return first + keys > min(piece.last, last) end
  local last, kind = pages.first_masked(variant, piece), variant.score
  if not kind then return is_cut(last) end
  if kind.is_scattered then return true end
  local _, _, from, to = kind:range(args.operands, 0, variant.n_q,
    { n_q = variant.n_q, n_k = piece.n_keys })
  if to ~= nil then last = min(last, to) end
  if from == nil then return is_cut(last) end
  return is_cut(last) or first < from
end

return M
