-- draw.lua: what random tests draw, by math.random.
local M = {}

--- One of the list.
function M.pick(list) return list[math.random(#list)] end

--- The list in another order.
function M.shuffled(list)
  local out = table.move(list, 1, #list, 1, {})
  for i = #out, 2, -1 do
    local j = math.random(i)
    out[i], out[j] = out[j], out[i]
  end
  return out
end

return M
