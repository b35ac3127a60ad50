-- attention_operands.lua: what attention and attention_decode ask alike of their tensors, for
-- messages of `op`. Operands are as arguments.lua describes them, with one stride for each mode.
local arguments = require "cuttle.arguments"
local tiles = require "cuttle.tiles"
local M = {}

--- The shape as the script gave it.
function M.given(t) return tostring(shape(t.tensor)) end

--- The operand with modes of these names, as "B,H,S,D".
function M.read(op, x, name, modes)
  arguments.check_tensor(op, x, name, ("(%s)"):format(modes), op .. " launches kernels itself")
  local t = arguments.describe(op, x, name)
  local _, n = modes:gsub("[^,]+", "")
  if #t.extent ~= n then
    tiles.fail(op, "%s is %s; expected %d modes, (%s)", name, x.layout, n, modes)
  end
  return t
end

--- That an operand is on the device of Q.
function M.check_device(op, t, q)
  if t.tensor.device ~= q.tensor.device then
    tiles.fail(op, "%s is on %s but Q is on %s; expected all on one device", t.name,
      t.tensor.device, q.tensor.device)
  end
end

function M.check_type(op, t, dtype)
  if t.tensor.dtype ~= dtype then
    tiles.fail(op, "%s is %s; expected %s", t.name, t.tensor.dtype, dtype)
  end
end

--- That the heads of Q (B,H,S,D) are a multiple of those of K, and both have one depth, at least 1.
function M.check_heads(op, q, k)
  local heads, kv_heads, given = q.extent[2], k.extent[2], M.given
  if kv_heads == 0 or heads % kv_heads ~= 0 then
    tiles.fail(op, "Q is %s and K is %s; the heads of Q, %d, must be a multiple of those of K and "
      .. "V, %d", given(q), given(k), heads, kv_heads)
  elseif q.extent[4] == 0 then
    tiles.fail(op, "Q is %s; the last mode, the depth D of a head, must be at least 1", given(q))
  elseif k.extent[4] ~= q.extent[4] then
    tiles.fail(op, "Q is %s and K is %s; the last mode, the depth D of a head, must be equal",
      given(q), given(k))
  end
end

--- The pages (B,n) of sequences, of keys (pages,H,S,D).
function M.read_table(op, x, q, k)
  local t = M.read(op, x, "block_table", "B,n")
  M.check_type(op, t, i32)
  M.check_device(op, t, q)
  if k.extent[3] == 0 then
    tiles.fail(op, "K is %s; a page needs at least one key", M.given(k))
  end
  return t
end

--- The tensor with the operand's modes in the order of `places`, where one that is missing has the
--- extent 1.
function M.arranged(t, places)
  local extent, stride = {}, {}
  for i, at in ipairs(places) do extent[i], stride[i] = t.extent[at] or 1, t.stride[at] or 0 end
  return view(t.tensor, layout(extent, stride))
end

--- That of an operand (B,H,S,D) as (S,D,H,B).
function M.rows_first(t) return M.arranged(t, { 3, 4, 2, 1 }) end

--- What the canonical problems of both have, of Q, K and V with all modes.
function M.problem(q, k, v, options)
  local depth = q.extent[4]
  return { dtype = q.tensor.dtype, device = q.tensor.device, batches = q.extent[1],
           heads = q.extent[2], kv_heads = k.extent[2], depth = depth, depth_v = v.extent[4],
           n_q = q.extent[3], causal = options.causal or false, lazy = options.lazy or false,
           scale = options.scale or 1 / math.sqrt(depth), config = options.config,
           bits = options.bits, stream = options.stream, Q = M.rows_first(q),
           K = M.rows_first(k), V = M.rows_first(v) }
end

return M
