-- selections.lua: what the tests of cuttle.selections share: plain Lua beside the operators.
local M = {}

--- The elements of a tensor in row-major order, from 1 on; also of one element or none.
function M.list(t)
  local n = size(t)
  if n == 0 then return {} end
  local flat = view(t, layout(n))
  if n == 1 then return {flat[0]} end
  return flat:totable()
end

--- The extents of a tensor as a list.
function M.extents(t)
  local s = t.shape
  return type(s) == "table" and table.move(s, 1, #s, 1, {}) or {s}
end

--- A tensor with one mode of the list's numbers.
function M.vector(dtype, list)
  if #list == 0 then return zeros(dtype, 0) end
  return from_table(dtype, list)
end

--- Are both the same number? NaN is NaN, and -0 is not +0.
function M.same(a, b)
  if a ~= a then return b ~= b end
  return a == b and (a ~= 0 or 1 / a == 1 / b)
end

--- Is each element that of the list? Otherwise a text with the first that differs.
function M.differs(t, want)
  local got = M.list(t)
  if #got ~= #want then return ("%d elements, not %d"):format(#got, #want) end
  for i = 1, #want do
    if not M.same(got[i], want[i]) then
      return ("element %d is %s, not %s"):format(i - 1, tostring(got[i]), tostring(want[i]))
    end
  end
end

--- The message of a call that fails, without its place.
function M.refused(f, ...)
  local ok, message = pcall(f, ...)
  return ok and "no error" or (tostring(message):gsub("^[^ ]+:%d+: ", ""))
end

return M
