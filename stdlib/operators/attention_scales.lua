-- attention_scales.lua: what operands of 8 bits are to be multiplied by: the options q_scale,
-- k_scale and v_scale of attention. A scale is one number, or one for each head, and sequence: that
-- of queries and that of keys become a factor of scores, that of values one of the result.
local options_of = require "cuttle.attention_score_options"
local tiles = require "cuttle.tiles"
local M = {}

M.names = { "k_scale", "q_scale", "v_scale" }

-- The scale (heads,B), as one number if there is no other. The maximum of scores is that of
-- products only if the factor between them is positive.
local function read(who, x, name, p, heads)
  if x == nil then x = 1.0 end
  if type(x) == "number" then
    if not (x > 0 and x < math.huge) then
      tiles.fail(who, "%s is %s; expected a positive number", name, x)
    end
    x = { x }
  end
  return options_of.per_head(who, x, name, p, heads)
end

--- The problem's scales, {q =, k =, v =} of f32 tensors (H,B), (Hk,B) and (Hk,B); nil: all are 1.
function M.read(who, options, p)
  local is_given = false
  for _, name in ipairs(M.names) do
    if options[name] ~= nil and p.dtype ~= f8e4m3 then
      tiles.fail(who, "%s is for operands of f8e4m3, and Q is %s; multiply `scale` by it, or the "
        .. "result", name, p.dtype)
    end
    is_given = is_given or options[name] ~= nil
  end
  if not is_given then return nil end
  return { q = read(who, options.q_scale, "q_scale", p, p.heads),
           k = read(who, options.k_scale, "k_scale", p, p.kv_heads),
           v = read(who, options.v_scale, "v_scale", p, p.kv_heads) }
end

-- {====== In kernels, and in the reference ======

--- What kernels are given for them, as the first of their last arguments.
function M.operands(p)
  if not p.scales then return end
  return p.scales.q, p.scales.k, p.scales.v
end

--- What M.operands returned, nil without scales, and a table of what came after it.
function M.split(variant, ...)
  if not variant.scaled then return nil, table.pack(...) end
  local q, k, v = ...
  return { q = q, k = k, v = v }, table.pack(select(4, ...))
end

--- The factor of scores of a head of queries, one of keys, and a sequence.
function M.of_scores(scales, head, kv_head, b)
  return scales.q[{ head, b }] * scales.k[{ kv_head, b }]
end

--- The factor of their result.
function M.of_values(scales, kv_head, b) return scales.v[{ kv_head, b }] end

return M
