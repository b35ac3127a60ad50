-- attention_decode_append.lua: new keys and values behind those that a sequence has, before
-- attention_decode reads them; divided by their scale where there is one. What finds no room is
-- left out.
local pages = require "cuttle.attention_decode_pages"
local M = {}

local pack <const> = table.pack

local THREADS <const> = 64

local function append(variant, args, from, to, scale, b, kv_head, i)
  local k = max(args.lengths[b], 0) + i
  if k < args.capacity then
    local row = pages.row(variant, args, to, b, kv_head, k)
    for d in range(threadIdx.x, size(from, 1), THREADS) do
      local value = from[{ i, d, kv_head, b }]
      if variant.scaled then
        local x = cast(value, f32) / scale[{ kv_head, b }]
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
