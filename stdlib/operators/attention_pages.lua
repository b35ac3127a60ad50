-- attention_pages.lua: keys and values of attention in pages: K and V are (page size,D,Hk,pages),
-- and a table (n,B) has the pages of each sequence. A tile's `k`, as attention_tiles.lua has it, is
-- then the number of its sequence, and not a first row.
local pages = require "cuttle.attention_decode_pages"
local integers = require "cuttle.integers"
local M = {}

local ATOM <const> = 8 -- rows after which a swizzle of shared memory begins anew
local SMALL <const> = 64 -- rows below which a box is small: measured on an H200

-- {====== What kernels are given for them ======

--- As the first of their last arguments.
function M.operands(p)
  if not p.page_size then return end
  return p.table
end

--- What M.operands returned, nil without pages, and a list of what came after it.
function M.split(variant, ...)
  if not variant.page_size then return nil, table.pack(...) end
  return (...), table.pack(select(2, ...))
end

--- Row k of the tile's sequence in t, K or V.
function M.row(variant, args, at, t, kv_head, k)
  return pages.row(variant, args, t, at.k, kv_head, k)
end

-- {====== By TMA. A box's rows divide those of a page and of a block ======

--- Do blocks come in boxes of few rows?
function M.has_small_boxes(variant)
  return variant.page_size ~= nil and integers.gcd(variant.page_size, variant.keys) < SMALL
end

--- Why blocks of so many keys cannot come by TMA, or nil.
function M.trouble(p, keys)
  if p.page_size and integers.gcd(p.page_size, keys) % ATOM ~= 0 then
    return ("its kernel takes pages of multiples of %d keys"):format(ATOM)
  end
end

-- Where the boxes of block n lie: {[i] = {page =, box =}}; beyond the last key, that key's again.
local function places(variant, args, at, n, rows)
  local of, last = {}, max(at.n_k - 1, 0) // rows * rows
  for i = 0, variant.keys // rows - 1 do
    local k = min(n * variant.keys + i * rows, last)
    of[i] = { page = where(at.n_k > 0, pages.page(variant, args, at.k, k), 0),
              box = pages.row_in_page(variant, k) // rows }
  end
  return of
end

--- Functions load(of, s, full): a block of keys (keys,D), and of values, (D,keys) or if `raw` as
--- keys, is on its way to s; and one that reads for a block's number where it lies, `of`.
function M.loads(variant, args, at, kv_head, raw)
  local rows = integers.gcd(variant.page_size, variant.keys)
  local function by_rows(t, depth)
    local boxes = tile(tma_tensor(t), {rows, depth}, {_, _})
    return function(of, s, full)
      for i = 0, #of do
        tma_load(boxes(_, _, of[i].box, 0, kv_head, of[i].page), tile(s, {rows, depth}, {i, 0}),
          full)
      end
    end
  end
  local function by_columns(t, depth)
    local boxes = tile(tma_tensor(select(t, 1, 0, 2, 3)), {depth, rows}, {_, _})
    return function(of, s, full)
      for i = 0, #of do
        tma_load(boxes(_, _, 0, of[i].box, kv_head, of[i].page), tile(s, {depth, rows}, {0, i}),
          full)
      end
    end
  end
  local function ahead(n) return places(variant, args, at, n, rows) end
  local of_values = raw and by_rows or by_columns
  return by_rows(args.K, variant.depth), of_values(args.V, variant.depth_v), ahead
end

return M
