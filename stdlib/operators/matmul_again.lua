-- matmul_again.lua: what matmul finds out about a product, kept for the next one of other tensors
-- that lie alike: of the same layouts, types and devices, as far from a multiple of 16 bytes, with
-- the same options. Found again, a product takes views of its tensors and a launch.
--   find(A, B, C, options)          what is kept for it, or nil; and where it could be kept, or nil
--   run(known, A, B, C)             multiplies them
--   keep(place, step)               keeps there what its only step found
-- What is kept holds none of these tensors. It counts only where C lies apart from A and B, by
-- their spans.
local internal = ...
local results = require "cuttle.operator_table"
local tiles = require "cuttle.tiles"
local M = {}

local MAX_KEPT <const> = 1000
local ALIGNMENT <const> = 16 -- bytes of the widest access, and what TMA asks of an address

-- Options that say the same for other tensors, and the types of their values; matmul says what is
-- wrong with others.
local common <const> = { alpha = "number", beta = "number", blocks = "number",
                         config = "string table", epilogue = "function", stream = "userdata" }
local NONE <const> = {}
local WEAK <const> = { __mode = "k" }

local kept = setmetatable({}, WEAK) -- by epilogue, configuration and stream; then by text
local n_kept, generation = 0, nil

local function step_into(t, key)
  if key == nil then key = NONE end
  local found = t[key]
  if not found then
    found = setmetatable({}, WEAK)
    t[key] = found
  end
  return found
end

local function place_of(options)
  if n_kept == MAX_KEPT or generation ~= results.generation then
    kept, n_kept, generation = setmetatable({}, WEAK), 0, results.generation
  end
  return step_into(step_into(step_into(kept, options.epilogue), options.config), options.stream)
end

local function is_common(options)
  for name, value in pairs(options) do
    local types = common[name]
    if not types or not types:find(type(value), 1, true) then return false end
  end
  return true
end

-- What the choice looks at beside the options that are tables or functions. Numbers are exact.
local function key_of(A, B, C, a, b, c, options)
  local device = device()
  return ("%s %s %s %s %s %s %s %s %s %d %d %d %q %q %q %s %s"):format(A.layout, B.layout, C.layout,
    A.dtype, B.dtype, C.dtype, A.device, B.device, C.device, a % ALIGNMENT, b % ALIGNMENT,
    c % ALIGNMENT, options.alpha, options.beta, options.blocks, device.sm, device.n_sms)
end

-- Does C lie apart from both?
local function is_apart(known, a, b, c)
  local last = c + known.spans.C
  return (c >= a + known.spans.A or a >= last) and (c >= b + known.spans.B or b >= last)
end

--- See above. The tensors are the host's, and open.
function M.find(A, B, C, options)
  local launch = internal.launch
  if not is_common(options) or launch.emit_sm() or internal.kernel.is_tracing() then return nil end
  local a, b, c = launch.address(A), launch.address(B), launch.address(C)
  if not (a and b and c) then return nil end
  local of = place_of(options)
  local key = key_of(A, B, C, a, b, c, options)
  local known = of[key]
  if known and not is_apart(known, a, b, c) then return nil end
  return known, { of = of, key = key, A = A, B = B, C = C }
end

-- Bytes from its first element to behind its last; nil if a stride is negative.
local function span_of(t)
  local bytes, last = t.dtype.bytes, 0
  for i = 0, rank(t) - 1 do
    local n, stride = size(t, i), stride(t, i)
    if math.type(stride) ~= "integer" or stride < 0 then return nil end
    last = last + (n - 1) * stride
  end
  return (last + 1) * bytes
end

-- What the kernel takes, as what the next one takes: {i, layout} is a view of tensor i of the
-- product, all else is the same. nil if it is not clear which of them a tensor shows, or if there
-- are tables.
local function recipe_of(args, tensors)
  local by_address, recipe = {}, {}
  for i, t in ipairs(tensors) do
    local address = internal.launch.address(t)
    if by_address[address] then return nil end
    by_address[address] = i
  end
  for i, x in ipairs(args) do
    if type(x) == "table" then return nil end
    local of = tiles.type_name(x) == "tensor" and by_address[internal.launch.address(x)]
    recipe[i] = of and { of, x.layout } or x
  end
  return recipe
end

--- See above.
function M.keep(place, step)
  local A, B, C = place.A, place.B, place.C
  local spans = { A = span_of(A), B = span_of(B), C = span_of(C) }
  local recipe = spans.A and spans.B and spans.C and recipe_of(step.args, { A, B, C })
  if not recipe then return end
  place.of[place.key] = { spans = spans, recipe = recipe, launch = step.kernel(step.launch) }
  n_kept = n_kept + 1
end

--- See above. On the CPU engine the launch may still wait to run. Elsewhere the views are closed,
--- or the memory of a C that its script closes would wait for the collector.
function M.run(known, ...)
  local tensors, args, views, view = { ... }, {}, {}, view
  for i, x in ipairs(known.recipe) do
    if type(x) == "table" then
      x = view(tensors[x[1]], x[2])
      views[#views + 1] = x
    end
    args[i] = x
  end
  known.launch(table.unpack(args))
  if tensors[3].device == "cpu" then return end
  for _, x in ipairs(views) do x:close() end
end

return M
