-- bits.lua: contracts about bits, for operators with the option `bits`. An order, in which an
-- operator sums an element, is a list of levels {name, what}, from the products to the result: two
-- orders give equal bits if all levels are equal. A contract is {bits =, the option; order =, the
-- order that it wants}.
local lists = require "cuttle.lists"
local tiles = require "cuttle.tiles"
local M = {}

M.INVARIANT = "batch_invariant"

--- Whether x is what sum_order gives.
function M.is_sum_order(x) return tiles.type_name(x) == "SumOrder" end

--- A configuration as messages name it.
function M.config(config) return ("configuration '%s'"):format(config.name) end

--- The option as messages name it.
function M.title(bits)
  if type(bits) == "string" then return ('bits = "%s"'):format(bits) end
  if M.is_sum_order(bits) then return "bits = a SumOrder" end
  return "bits = " .. (bits.name and M.config(bits) or "a table of options")
end

--- That the option is of a kind that operator `op` takes. `others` says what else it may be.
function M.check(op, bits, others)
  if type(bits) ~= "string" and type(bits) ~= "table" then
    tiles.fail(op, 'bits is of type %s; expected "%s", a configuration or its name%s',
      tiles.type_name(bits), M.INVARIANT, others or "")
  end
end

--- One line: "wgmma of k = 16, sums f32".
function M.text(order)
  local out = lists.map(order, function(level) return level[1] .. " " .. level[2] end)
  return table.concat(out, ", ")
end

--- At how many levels two orders differ, and the first one in words.
function M.differ(order, wanted)
  local n, first = 0, nil
  for i = 1, math.max(#order, #wanted) do
    local a, b = order[i] or {}, wanted[i] or {}
    if a[1] ~= b[1] or a[2] ~= b[2] then
      n = n + 1
      first = first or ("at the level '%s' it has %s, and the contract %s"):format(a[1] or b[1],
        a[2] or "none", b[2] or "none")
    end
  end
  return n, first
end

--- Is the order the contract's?
function M.is_kept(order, contract) return M.differ(order, contract.order) == 0 end

--- That `what`, a configuration or the text of an option, has the contract's order; else an error.
function M.check_order(op, what, order, contract)
  local n, why = M.differ(order, contract.order)
  if n == 0 then return end
  what = type(what) == "table" and M.config(what) or what
  tiles.fail(op, "%s breaks the contract %s: %s", what, M.title(contract.bits), why)
end

return M
