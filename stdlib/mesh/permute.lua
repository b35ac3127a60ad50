-- permute.lua: who sends a part to whom in the step permute of a plan.
local shardings = require "cuttle.sharding"
local M = {}

-- The axis of each factor of a sharding by its place; of `axes` those that shard nothing, in order.
local function places_of(s, axes)
  local at, rest = {}, {}
  for i, factors in ipairs(s.modes) do
    local weight = 1
    for _, factor in ipairs(factors) do
      if factor.axis then at[i .. ":" .. weight] = factor.axis end
      weight = weight * factor.extent
    end
  end
  local used = shardings.sharding_axes(s)
  for _, name in ipairs(axes) do
    if not used[name] then rest[#rest + 1] = name end
  end
  return at, rest
end

--- The rank whose part rank `dst` receives in a permute: an axis of the source that is where
--- another one is in the target has that one's coordinate. At most one of the step's axes shards
--- nothing in the source, and one in the target: these two correspond as well.
function M.source(step, dst)
  local before, rest = places_of(step.from, step.axes)
  local after, new_rest = places_of(step.to, step.axes)
  local coord = step.from.mesh:coord(dst)
  local new = step.from.mesh:coord(dst)
  for place, name in pairs(before) do new[name] = coord[after[place]] end
  for i, name in ipairs(rest) do new[name] = coord[new_rest[i]] end
  return step.from.mesh:rank(new)
end

return M
