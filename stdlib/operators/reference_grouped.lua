-- reference_grouped.lua: reference.matmul of groups: product after product, as it computes one.
local grouping = require "cuttle.gemm_groups"
local option_names = require "cuttle.option_names"
local M = {}

-- C's type: that of A, of narrow integers that of their sums.
local function result_type(dtype)
  return dtype.is_float and dtype or dtype.compute
end

-- The matrices of a group's product, and where it lies in C.
local function parts_of(A, B, C, mode, group)
  if mode == "m" then
    return grouping.part(A, 0, group), B(_, _, group.g), grouping.part(C, 0, group)
  elseif mode == "n" then
    return A(_, _, group.g), grouping.part(B, 0, group), grouping.part(C, 1, group)
  end
  return grouping.part(A, 1, group), grouping.part(B, 1, group), C(_, _, group.g)
end

--- reference.matmul(A, B, {groups = ends}) -> C, column-major; what is in no group is 0.
function M.matmul(A, B, options)
  option_names.check("reference.matmul", options, { "groups" })
  local of = grouping.read("reference.matmul", options.groups, A, B)
  local ends, shape = of.ends:to("cpu"), { size(A, 0), size(B, 0) }
  if of.mode == "k" then shape[3] = of.n end
  local C, first = zeros(result_type(A.dtype), layout(shape)):to("cpu"), 0
  for g = 0, of.n - 1 do
    local group = { g = g, first = first, rows = ends[g] - first }
    if group.rows > 0 then
      local a, b, c = parts_of(A, B, C, of.mode, group)
      copy(reference.matmul(a, b):to("cpu"), c)
    end
    first = ends[g]
  end
  return C:to(A.device)
end

return M
