-- attention_scales.lua: what operands of 8 bits are to be multiplied by: the options q_scale,
-- k_scale and v_scale of attention. A scale is one number, or one for each head, and sequence, or
-- each BLOCK tokens of it. Those of queries and keys become a factor of scores, those of heads'
-- values one of the result. A block's values have a probability times their scale instead: the
-- scale's logarithm is added to the scores, and the block's sum of exponentials divided by it.
local options_of = require "cuttle.attention_score_options"
local tiles = require "cuttle.tiles"
local M = {}

--- The tokens that may have a scale of their own.
M.BLOCK = 128

local LEAST <const> = 1e-30

M.names = { "k_scale", "q_scale", "v_scale" }

--- A scale that is a number. The maximum of scores is that of products only if the factor between
--- them is positive. Minus infinity, a masked score, also stays as it is only then.
function M.check_number(who, x, name)
  if not (type(x) == "number" and x > 0 and x < math.huge) then
    tiles.fail(who, "%s is %s; expected a positive number", name, x)
  end
end

-- The scale (blocks,heads,B), as one number if there is no other, and whether there are blocks.
local function read(who, x, name, p, heads, count)
  if x == nil then x = 1.0 end
  if type(x) == "number" then
    M.check_number(who, x, name)
    x = { x }
  end
  return options_of.per_block(who, x, name, p, heads, count, M.BLOCK)
end

--- The problem's scales, {q =, k =, v =, kind =}, of tensors (N,H,B), (Nk,Hk,B) and (Nk,Hk,B); nil:
--- all are 1. The kind is "blocks", or "heads" if N and Nk do not matter.
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
  local q, q_blocks = read(who, options.q_scale, "q_scale", p, p.heads, "n_q")
  local k, k_blocks = read(who, options.k_scale, "k_scale", p, p.kv_heads, "n_k")
  local v, v_blocks = read(who, options.v_scale, "v_scale", p, p.kv_heads, "n_k")
  return { q = q, k = k, v = v, kind = (q_blocks or k_blocks or v_blocks) and "blocks" or "heads" }
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
  return { q = q, k = k, v = v, kind = variant.scaled }, table.pack(select(4, ...))
end

--- The factor of scores that queries from `row` on have; of heads, with that of their keys. `at` is
--- the tile, as attention_tiles.lua has it.
function M.of_queries(scales, at, kv_head, row)
  if scales.kind == "blocks" then
    return scales.q[{ max(min(row, at.n_q - 1), 0) // M.BLOCK, at.head, at.b }]
  end
  return scales.q[{ 0, at.head, at.b }] * scales.k[{ 0, kv_head, at.b }]
end

--- Of a block of keys, the factor of scores and of values. That of values has a logarithm, even if
--- the block's values are all 0 and so is their scale.
function M.of_block(scales, at, kv_head, n)
  return scales.k[{ n, kv_head, at.b }], max(scales.v[{ n, kv_head, at.b }], LEAST)
end

--- The factor of the result; nil: blocks have had theirs.
function M.of_result(scales, at, kv_head)
  if scales == nil or scales.kind == "blocks" then return nil end
  return scales.v[{ 0, kv_head, at.b }]
end

--- In the reference: the scale of a token.
function M.of_token(scale, token, head, b) return scale[{ token // M.BLOCK, head, b }] end

return M
