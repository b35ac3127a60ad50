-- attention_hopper_store.lua: the rows of O of a warp group of attention_hopper.lua, from registers
-- to global memory.
local softmax = require "cuttle.attention_softmax"
local M = {}

local ROWS <const>, PANEL <const> = 64, 64 -- of a box of O

--- Boxes of a tensor (S,D,H,B) from row `first` on, nil: 0; or of (D,S,H,B).
function M.boxes(t, tiler, first, is_transposed)
  local coords = tma_tensor(is_transposed and select(t, 1, 0, 2, 3) or t)
  if first ~= nil then
    coords = domain_offset(is_transposed and {0, first, 0, 0} or {first, 0, 0, 0}, coords)
  end
  return tile(coords, tiler, {_, _})
end

-- O by way of shared memory, 64 columns at a time; the last store may still read there.
local function store_boxes(group, at)
  local variant, plan = group.variant, group.plan
  local copier = plan.store_O:get_slice(group.thread)
  local gO = M.boxes(group.args.O, {ROWS, PANEL}, at.q)(_, _, _, _, at.head, at.batch)
  local n = variant.depth_v // PANEL
  for d = 0, n - 1 do
    local part = cast(tile(group.O, {size(group.O, 0) // n, 1, 1}, {d, 0, 0}), variant.out)
    if group.is_first then tma_store_wait(0) end
    group.together:sync()
    copy(plan.store_O, copier:retile_S(part), copier:partition_D(group.sO))
    fence_proxy_async()
    group.together:sync()
    if group.is_first then
      tma_store(group.sO, gO(_, _, at.m * plan.groups + group.number, d))
      tma_store_commit()
    end
  end
end

-- The same where the rows behind the sequence's last are another's: row by row from registers.
local function store_rows(group, at)
  local variant, args = group.variant, group.args
  for r = 0, 1 do
    local row, place = softmax.row_of(group.O, r), softmax.row_of(group.places_O, r)
    local m = group:row(at, r)
    if m < at.n_q then
      for j in range(size(row, 1)) do
        for i = 0, 1 do
          local d = place[{i, j}][2]
          if variant.is_whole_v or d < size(args.O, 1) then
            args.O[{at.q + m, d, at.head, 0}] = cast(row[{i, j}], variant.out)
          end
        end
      end
    end
  end
end

--- The group's rows of the tile `at`.
function M.store(group, at)
  if not group.variant.packed or at.row + ROWS <= at.n_q then
    store_boxes(group, at)
  else
    store_rows(group, at)
  end
end

return M
