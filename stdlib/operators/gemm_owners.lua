-- gemm_owners.lua: which elements of a tile of matmul each thread has, found out before the trace:
-- from a tiled MMA or copy whose layouts are all of powers of 2, so that a thread's place is the
-- sum of places of the bits of its number.
local tiles = require "cuttle.tiles"
local M = {}

--- The coordinates {m =, n =} in the variant's tile of thread t's elements, from number 0 on, in
--- the order of its registers (V,X,Y). is_flipped: the MMA has the tile as (n,m).
function M.of(variant, tiled, t, is_flipped)
  local bM, bN = variant.tile[1], variant.tile[2]
  local slice = tiled:get_slice(t)
  local of = tiles.type_name(tiled) == "tiled_mma" and slice.partition_C or slice.partition_S
  local part = of(slice, identity_tensor(is_flipped and {bN, bM} or {bM, bN}))
  local list = { n_values = size(part, 0), n_rows = size(part, 1) }
  for i = 0, size(part) - 1 do
    local at = part[i]
    list[i] = is_flipped and { m = at[2], n = at[1] } or { m = at[1], n = at[2] }
  end
  return list
end

--- The number of the element at `id` of (V,X,Y).
function M.number(list, id) return id[1] + list.n_values * (id[2] + list.n_rows * id[3]) end

return M
