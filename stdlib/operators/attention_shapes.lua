-- attention_shapes.lua: what attention and attention_decode ask alike of the shapes of Q and K.
local M = {}

--- Fails, by fail(format, ...), unless the heads of Q, whose extents are (B,H,S,D), are a multiple
--- of those of K, and both have one depth, at least 1. given(t): the shape as the script gave it.
function M.check_heads(fail, q, k, given)
  local heads, kv_heads = q.extent[2], k.extent[2]
  if kv_heads == 0 or heads % kv_heads ~= 0 then
    fail("Q is %s and K is %s; the heads of Q, %d, must be a multiple of those of K and V, %d",
      given(q), given(k), heads, kv_heads)
  elseif q.extent[4] == 0 then
    fail("Q is %s; the last mode, the depth D of a head, must be at least 1", given(q))
  elseif k.extent[4] ~= q.extent[4] then
    fail("Q is %s and K is %s; the last mode, the depth D of a head, must be equal", given(q),
      given(k))
  end
end

return M
