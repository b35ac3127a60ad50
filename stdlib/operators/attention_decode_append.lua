-- attention_decode_append.lua: new keys and values behind those that a sequence has, before
-- attention_decode reads them; divided by their scale where there is one. Where each key, or each
-- part of its columns, has one, it makes the largest element the largest number of 8 bits. Last
-- columns of keys that are in K_rope have none. What finds no room is left out.
local pages = require "cuttle.attention_decode_pages"
local formats = require "cuttle.row_formats"
local M = {}

local pack <const> = table.pack

local THREADS <const> = 64

-- The scale of n elements of a new key from `first` on: the largest one becomes the type's.
local function own_scale(dtype, from, first, n)
  local most = f32(0.0)
  for d in range(threadIdx.x, n, THREADS) do most = max(most, abs(cast(from[first + d], f32))) end
  most = block_reduce(most, "max")
  return where(most > 0.0, most / (formats.largest(dtype) or 1.0), 1.0)
end

-- Elements of `from`, from that number on, divided by a scale if there is one, to the row.
local function store(from, first, row, by)
  for d in range(threadIdx.x, size(row), THREADS) do
    local x = from[first + d]
    if by ~= nil then
      x = cast(x, f32) / by
      if row.dtype == i8 then x = clamp(rint(x), -128.0, 127.0) end
    end
    row[d] = cast(x, row.dtype)
  end
end

-- The first elements of `from`, in so many parts of the row with scales of their own.
local function store_parts(from, row, scales, n)
  local columns = size(row) // n
  for i in range(n) do
    local by = own_scale(row.dtype, from, i * columns, columns)
    if threadIdx.x == 0 then scales[i] = by end
    store(from, i * columns, tile(row, {columns}, {i}), by)
  end
end

function M.make(variant)
  local each = variant.by_token and 1 or nil
  return kernel("attention_decode_append", function(new_K, new_V, K, V, K_rope, lengths, capacity,
                                                    table, k_scale, v_scale)
    local args = { lengths = lengths, capacity = capacity, table = table }
    local i, kv_head, b = blockIdx.x, blockIdx.y, blockIdx.z
    local k = max(lengths[b], 0) + i
    local function row(t) return pages.row(variant, args, t, b, kv_head, k) end
    -- groups: parts of the row that have scales of their own, or nil
    local function append(from, to, scale, groups)
      if groups then
        store_parts(from, row(to), row(scale), groups)
      else
        store(from, 0, row(to), variant.scaled and scale[{ kv_head, b }] or nil)
      end
    end
    if k < capacity then
      local key = new_K(i, _, kv_head, b)
      append(key, K, k_scale, variant.k_groups or each)
      if variant.rope then store(key, variant.depth_k, row(K_rope)) end
      if new_V then append(new_V(i, _, kv_head, b), V, v_scale, variant.v_groups or each) end
    end
  end)
end

-- Scales of each key, (S,Hk,B), as those of one part.
local function as_parts(p, scale)
  if not p.by_token then return scale end
  local n, step = shape(scale), stride(scale)
  return view(scale, layout({ n[1], 1, n[2], n[3] }, { step[1], 0, step[2], step[3] }))
end

--- Its launch.
function M.step(p, kernel)
  return { kernel = kernel,
           launch = { grid = { p.n_new, p.kv_heads, p.batches }, block = THREADS,
                      stream = p.stream },
           args = pack(p.new_K, p.new_V, p.K, p.V, p.K_rope, p.lengths, p.capacity, p.table,
             as_parts(p, p.k_scale), as_parts(p, p.v_scale)) }
end

return M
