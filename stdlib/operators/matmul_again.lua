-- matmul_again.lua: what matmul finds out about a product, kept for the next one of other tensors
-- that lie alike: of the same layouts, types and devices, as far from a multiple of 16 bytes, with
-- the same options. Found again, a product takes views of its tensors and a launch.
--   find(A, B, C, options, text, store)
--                              what is kept for it, or nil; and where it could be kept, or nil.
--                              text: how einsum contracts them; store: a table that keeps it, of a
--                              packed weight its own
--   run(known, A, B, C)        multiplies them
--   keep(place, steps, extra)  keeps there what its steps found; extra: a tensor that only they
--                              need, which run allocates anew each time, or nil
-- What is kept holds none of these tensors. It counts only where C lies apart from A and B, by
-- their spans.
local internal = ...
local lists = require "cuttle.lists"
local on_device = require "cuttle.operator_device"
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

-- by: by epilogue, configuration and stream; then by text. n: how many; generation: of results.
local common_store <const> = {}

local function step_into(t, key)
  if key == nil then key = NONE end
  local found = t[key]
  if not found then
    found = setmetatable({}, WEAK)
    t[key] = found
  end
  return found
end

local function place_of(store, options)
  if store.n == MAX_KEPT or store.generation ~= results.generation then
    store.by, store.n, store.generation = setmetatable({}, WEAK), 0, results.generation
  end
  return step_into(step_into(step_into(store.by, options.epilogue), options.config), options.stream)
end

local function is_common(options)
  for name, value in pairs(options) do
    local types = common[name]
    if not types or not types:find(type(value), 1, true) then return false end
  end
  return true
end

-- What the choice looks at beside the options that are tables or functions. Numbers are exact.
local function key_of(A, B, C, a, b, c, options, text)
  local device = device()
  return ("%s %s %s %s %s %s %s %s %s %d %d %d %q %q %q %s %s %s"):format(A.layout, B.layout,
    C.layout, A.dtype, B.dtype, C.dtype, A.device, B.device, C.device, a % ALIGNMENT, b % ALIGNMENT,
    c % ALIGNMENT, options.alpha, options.beta, options.blocks, device.sm, device.n_sms, text)
end

-- Does C lie apart from both?
local function is_apart(known, a, b, c)
  local last = c + known.spans.C
  return (c >= a + known.spans.A or a >= last) and (c >= b + known.spans.B or b >= last)
end

--- See above. The tensors are the host's, and open.
function M.find(A, B, C, options, text, store)
  local launch = internal.launch
  if not is_common(options) or launch.emit_sm() or internal.kernel.is_tracing() then return nil end
  local a, b, c = launch.address(A), launch.address(B), launch.address(C)
  if not (a and b and c) then return nil end
  store = store or common_store
  local of = place_of(store, options)
  local key = key_of(A, B, C, a, b, c, options, text)
  local known = of[key]
  if known and not is_apart(known, a, b, c) then return nil end
  return known, { store = store, of = of, key = key, A = A, B = B, C = C }
end

-- Is no stride negative?
local function ascends(strides)
  if math.type(strides) == "integer" then return strides >= 0 end
  return lists.all(strides, ascends)
end

-- Bytes from its first element to behind its last; nil if a stride is negative.
local function span_of(t)
  return ascends(stride(t)) and cosize(t.layout) * t.dtype.bytes or nil
end

-- Which of the tensors spans an address, and how many bytes that is from the tensor's first; nil:
-- none does.
local function part_of(address, tensors, spans)
  local found, offset
  for i, t in ipairs(tensors) do
    local from = address - internal.launch.address(t)
    if from >= 0 and from < spans[i] then found, offset = i, from end
  end
  return found, offset
end

-- Do no two of the tensors reach into each other?
local function are_clear(tensors, spans)
  for i, t in ipairs(tensors) do
    for j = 1, #tensors do
      if i ~= j and part_of(internal.launch.address(t), { tensors[j] }, { spans[j] }) then
        return false
      end
    end
  end
  return true
end

-- What a kernel takes, as what the next one takes: {i, layout, offset} is a view of tensor i of the
-- product, all else is the same. nil if there are tables.
local function recipe_of(args, tensors, spans)
  local recipe = {}
  for i, x in ipairs(args) do
    if type(x) == "table" then return nil end
    recipe[i] = x
    if tiles.type_name(x) == "tensor" then
      local of, bytes = part_of(internal.launch.address(x), tensors, spans)
      if of then recipe[i] = { of, x.layout, bytes // tensors[of].dtype.bytes } end
    end
  end
  return recipe
end

-- The steps as {launch =, recipe =} each; nil: they cannot be kept.
local function recipes_of(steps, tensors, spans)
  local kept_steps = {}
  for i, step in ipairs(steps) do
    local recipe = recipe_of(step.args, tensors, spans)
    if not recipe then return nil end
    kept_steps[i] = { recipe = recipe, launch = step.kernel(step.launch) }
  end
  return kept_steps
end

--- See above.
function M.keep(place, steps, extra)
  local tensors, spans = { place.A, place.B, place.C, extra }, {}
  for i, t in ipairs(tensors) do
    spans[i] = span_of(t)
    if not spans[i] then return end
  end
  if not are_clear(tensors, spans) then return end
  local recipes = recipes_of(steps, tensors, spans)
  if not recipes then return end
  place.of[place.key] = { spans = { A = spans[1], B = spans[2], C = spans[3] }, steps = recipes,
                          extra = extra and { extra.dtype, extra.layout } }
  place.store.n = place.store.n + 1
end

--- See above. On the CPU engine the launch may still wait to run. Elsewhere the views are closed,
--- or the memory of a C that its script closes would wait for the collector.
function M.run(known, A, B, C)
  local tensors, views, view = { A, B, C }, {}, view
  if known.extra then
    tensors[4] = on_device.new(C.device, table.unpack(known.extra))
    views[1] = tensors[4]
  end
  for _, step in ipairs(known.steps) do
    local args = {}
    for i, x in ipairs(step.recipe) do
      if type(x) == "table" then
        x = view(tensors[x[1]], x[2], x[3])
        views[#views + 1] = x
      end
      args[i] = x
    end
    step.launch(table.unpack(args))
  end
  if C.device == "cpu" then return end
  for _, x in ipairs(views) do x:close() end
end

return M
