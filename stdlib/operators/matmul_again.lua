-- matmul_again.lua: what matmul finds out about a product, kept for the next one of other tensors
-- that lie alike: of the same layouts, types and devices, as far from a multiple of 16 bytes, with
-- the same options. Found again, a product takes views of its tensors and a launch.
--   find(A, B, C, options)          what is kept for it, or nil; and where it could be kept, or nil
--   keep(place, known)              keeps there what matmul remembers of its only step
-- What is kept holds no tensor. It counts only where C lies apart from A and B, by their spans.
local ct = require "cuttle"
local internal = ...
local results = require "cuttle.operator_table"
local M = {}

local MAX_KEPT <const> = 1000
local ALIGNMENT <const> = 16 -- bytes of the widest access, and what TMA asks of an address

-- Options that say the same for other tensors.
local common <const> = { alpha = true, beta = true, config = true, epilogue = true, stream = true }
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
  for name in pairs(options) do
    if not common[name] then return false end
  end
  return true
end

-- What the choice looks at beside the options that are tables or functions.
local function key_of(A, B, C, a, b, c, options)
  local device = ct.device()
  return ("%s %s %s %s %s %s %s %s %s %d %d %d %s %s %s %s"):format(A.layout, B.layout, C.layout,
    A.dtype, B.dtype, C.dtype, A.device, B.device, C.device, a % ALIGNMENT, b % ALIGNMENT,
    c % ALIGNMENT, options.alpha, options.beta, device.sm, device.n_sms)
end

-- Does C lie apart from both?
local function is_apart(known, a, b, c)
  local last = c + known.spans.C
  return (c >= a + known.spans.A or a >= last) and (c >= b + known.spans.B or b >= last)
end

--- See above. The tensors are the host's, and open.
function M.find(A, B, C, options)
  if not is_common(options) or internal.emit_sm() or internal.is_tracing() then return nil end
  local a, b, c = internal.address(A), internal.address(B), internal.address(C)
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
  for i = 0, ct.rank(t) - 1 do
    local n, stride = ct.size(t, i), ct.stride(t, i)
    if math.type(stride) ~= "integer" or stride < 0 then return nil end
    last = last + (n - 1) * stride
  end
  return (last + 1) * bytes
end

--- See above; `known` is what matmul remembers of the step.
function M.keep(place, known)
  local spans = { A = span_of(place.A), B = span_of(place.B), C = span_of(place.C) }
  if not (spans.A and spans.B and spans.C) then return end
  known.spans, place.of[place.key], n_kept = spans, known, n_kept + 1
end

return M
