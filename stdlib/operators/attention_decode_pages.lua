-- attention_decode_pages.lua: where the keys and values of attention_decode lie, and which of them
-- a query sees. K and V are (S,D,Hk,B), or with pages (page size,D,Hk,pages): then `table` (n,B)
-- has the pages of each sequence.
-- In a variant:
--   page_size   nil: no pages
--   causal      query i of n_q sees the keys up to n_keys - n_q + i
--   tree        the last n_q keys are the queries' own: `mask` (keys,queries,B) says who sees whom
local M = {}

--- The page of key k of sequence b.
function M.page(variant, args, b, k)
  if variant.page_size == nil then return b end
  return args.table[{ k // variant.page_size, b }]
end

--- Its row in the page.
function M.row_in_page(variant, k)
  if variant.page_size == nil then return k end
  return k % variant.page_size
end

--- The row of key k in t, K or V.
function M.row(variant, args, t, b, kv_head, k)
  return t(M.row_in_page(variant, k), _, kv_head, M.page(variant, args, b, k))
end

--- Of scales for each key, (S,Hk,B) or (page size,Hk,pages), that of key k.
function M.scale(variant, args, scales, b, kv_head, k)
  return scales[{ M.row_in_page(variant, k), kv_head, M.page(variant, args, b, k) }]
end

--- Does a row of the group see key k?
function M.sees(variant, args, piece, row, k)
  local query = row % variant.n_q
  if variant.tree then
    local own = k - (piece.n_keys - variant.n_q)
    local at = clamp(own, 0, variant.n_q - 1)
    return own < 0 or args.mask[{ at, query, piece.b }] ~= 0
  elseif variant.causal then
    return k < piece.n_keys - variant.n_q + 1 + query
  end
  return true
end

--- The keys that all rows of the group see come before this one.
function M.first_masked(variant, piece)
  if variant.tree then return piece.n_keys - variant.n_q end
  if variant.causal then return piece.n_keys - variant.n_q + 1 end
  return piece.n_keys
end

return M
