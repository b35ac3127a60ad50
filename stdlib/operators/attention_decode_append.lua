-- attention_decode_append.lua: new keys and values behind those that a sequence has, before
-- attention_decode reads them; divided by their scale where there is one. Where each key has one,
-- it makes the largest element the largest number of 8 bits. What finds no room is left out.
local pages = require "cuttle.attention_decode_pages"
local formats = require "cuttle.row_formats"
local M = {}

local pack <const> = table.pack

local THREADS <const> = 64

-- The scale of a new key: its largest element becomes the largest of the type's.
local function own_scale(dtype, row)
  local most = f32(0.0)
  for d in range(threadIdx.x, size(row), THREADS) do most = max(most, abs(cast(row[d], f32))) end
  most = block_reduce(most, "max")
  return where(most > 0.0, most / (formats.largest(dtype) or 1.0), 1.0)
end

local function append(variant, args, from, to, scale, b, kv_head, i)
  local k = max(args.lengths[b], 0) + i
  if k < args.capacity then
    local row = pages.row(variant, args, to, b, kv_head, k)
    local by
    if variant.by_token then
      by = own_scale(to.dtype, from(i, _, kv_head, b))
      if threadIdx.x == 0 then
        scale[{ pages.row_in_page(variant, k), kv_head, pages.page(variant, args, b, k) }] = by
      end
    elseif variant.scaled then
      by = scale[{ kv_head, b }]
    end
    for d in range(threadIdx.x, size(from, 1), THREADS) do
      local value = from[{ i, d, kv_head, b }]
      if by ~= nil then
        local x = cast(value, f32) / by
        if to.dtype == i8 then x = clamp(rint(x), -128.0, 127.0) end
        row[d] = cast(x, to.dtype)
      else
        row[d] = cast(value, to.dtype)
      end
    end
  end
end

function M.make(variant)
  return kernel("attention_decode_append", function(new_K, new_V, K, V, lengths, capacity, table,
                                                    k_scale, v_scale)
    local args = { lengths = lengths, capacity = capacity, table = table }
    local i, kv_head, b = blockIdx.x, blockIdx.y, blockIdx.z
    append(variant, args, new_K, K, k_scale, b, kv_head, i)
    append(variant, args, new_V, V, v_scale, b, kv_head, i)
  end)
end

--- Its launch.
function M.step(p, kernel)
  return { kernel = kernel,
           launch = { grid = { p.n_new, p.kv_heads, p.batches }, block = THREADS,
                      stream = p.stream },
           args = pack(p.new_K, p.new_V, p.K, p.V, p.lengths, p.capacity, p.table, p.k_scale,
             p.v_scale) }
end

return M
