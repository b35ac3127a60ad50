-- tma_rules.lua: what TMA asks of a tensor in global memory, told before a kernel is chosen that
-- would be refused while it is traced.
local internal = ...
local M = {}

local UNIT_BITS <const> = 128

--- Why TMA cannot describe the tensor t, which is called `name`; nil: it can. Its elements are
--- adjacent along mode `along`, from 1; `modes` are names of all. The stride of an extent of 1 does
--- not count beyond mode `counted`.
function M.trouble(t, name, modes, along, counted)
  local extents, strides = shape(t), stride(t)
  if strides[along] ~= 1 then
    return ("TMA needs a stride of 1 along %s, and %s's is %d"):format(modes[along], name,
      strides[along])
  end
  for i, mode in ipairs(modes) do
    local counts = i ~= along and (i <= counted or extents[i] > 1)
    if counts and strides[i] * 8 * t.dtype.bytes % UNIT_BITS ~= 0 then
      return ("TMA needs strides that are multiples of 16 bytes, and %s's along %s is %d elements")
        :format(name, mode, strides[i])
    end
  end
  if internal.launch.address(t) * 8 % UNIT_BITS ~= 0 then
    return ("TMA needs addresses that are multiples of 16 bytes; that of %s is not")
      :format(name)
  end
end

--- The same elements, as a view if one of the first two extents is 1: its stride, which counts for
--- nothing, becomes one that TMA takes. `along` as above.
function M.with_strides(t, along)
  local extents, strides = shape(t), { table.unpack(stride(t)) }
  if extents[1] ~= 1 and extents[2] ~= 1 then return t end
  local unit = UNIT_BITS // math.tointeger(8 * t.dtype.bytes)
  for i = 1, 2 do
    local apart = cdiv(extents[3 - i], unit) * unit
    if extents[i] == 1 then strides[i] = i == along and 1 or apart end
  end
  return view(t, layout(extents, strides))
end

--- The tensor as a map takes it: a mode of extent 1, whose stride says nothing, gets one that a map
--- may have. Not mode `along`.
function M.mapped(t, along)
  local extents, strides = shape(t), stride(t)
  local span = 0
  for i = 1, #extents do span = max(span, extents[i] * strides[i]) end
  for i = 1, #extents do
    if extents[i] == 1 and i ~= along then strides[i] = span end
  end
  return view(t, layout(extents, strides))
end

return M
