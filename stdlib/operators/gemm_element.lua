-- gemm_element.lua: what an epilogue of matmul with named operands is given beside its numbers: its
-- place (m, n, l) in C, its operands by name, and its outputs, to be assigned. variant.named has
-- {name =, op =} of each operand after the bias: op is nil of what is read, "store" of an output of
-- C's shape, else what gemm_reduce.lua does with it.
local tiles = require "cuttle.tiles"
local M = {}

local function fail(format, ...) tiles.fail("matmul", format, ...) end

-- What the element has to be read, and its outputs by name.
local function fields_of(variant, operands)
  local fields, outputs, first = {}, {}, variant.bias and 1 or 0
  for i, of in ipairs(variant.named) do
    if of.op then
      outputs[of.name] = { op = of.op, number = i, tensor = operands[first + i] }
    else
      fields[of.name] = operands[first + i]
    end
  end
  return fields, outputs
end

local function element(fields, outputs, assigned)
  return setmetatable({}, {
    __index = function(_, name)
      if outputs[name] then fail("e.%s is an output, which an epilogue assigns", name) end
      if fields[name] == nil then
        fail("e.%s is nothing; the epilogue has m, n, l and its operands", tostring(name))
      end
      return fields[name]
    end,
    __newindex = function(_, name, x)
      if not outputs[name] then
        fail("e.%s is not an output; name it in {outputs = {%s = ...}}", tostring(name),
          tostring(name))
      end
      assigned[name] = x
    end })
end

--- Calls the variant's function with numbers at (m,n), and does with its outputs what they are for.
--- `id`: see gemm_reduce.lua.
function M.call(epilogue, m, n, id, ...)
  local variant = epilogue.variant
  local fields, outputs = fields_of(variant, epilogue.operands)
  fields.m, fields.n, fields.l = m, n, epilogue.l
  local assigned, numbers = {}, { ... }
  numbers[#numbers + 1] = element(fields, outputs, assigned)
  local made = variant.epilogue(table.unpack(numbers))
  for _, of in ipairs(variant.named) do
    local x, output = assigned[of.name], outputs[of.name]
    if output and x == nil then
      fail("the epilogue does not assign e.%s, an output; assign it outside of branches", of.name)
    elseif output and of.op == "store" then
      output.tensor[{m, n, epilogue.l}] = cast(x, output.tensor.dtype)
    elseif output then
      epilogue.reducer:add(output, x, m, n, id)
    end
  end
  return made
end

return M
