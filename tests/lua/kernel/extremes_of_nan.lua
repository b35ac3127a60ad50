-- min and max of a number and NaN are the number, in any order: on the host, of constants and of
-- run-time values.
local nan <const> = 0.0 / 0.0
local lists <const> = {
  { nan, 1.0 }, { 1.0, nan }, { nan, 1.0, 2.0 }, { 1.0, nan, 2.0 }, { 2.0, 1.0, nan },
  { nan, nan, 1.0 }, { nan, 1 }, { 1, nan }, { nan, -math.huge }, { math.huge, nan },
  { nan, 2, nan, 1.0, nan },
}

local function wanted(op, list)
  local best
  for _, v in ipairs(list) do
    local is_better = best == nil or (op == max and v > best) or (op == min and v < best)
    if v == v and is_better then best = v end
  end
  return best
end

local wrong = 0
local function check(op, form, list, got)
  if got == wanted(op, list) then return end
  wrong = wrong + 1
  print(form, table.concat(list, " "), got)
end

-- Each operand is a plain number, or a number of the type, or a run-time value.
local function in_kernel(op, T, list)
  local n = #list
  local x, y = from_table(T, list), zeros(T, 3 ^ n // 1)
  kernel("forms", function(x, y)
    for form = 0, size(y) - 1 do
      local operands = {}
      for i, v in ipairs(list) do
        local kind = form // (3 ^ (i - 1) // 1) % 3
        operands[i] = kind == 0 and v or kind == 1 and T(v) or x[i - 1]
      end
      y[form] = op(table.unpack(operands))
    end
  end, { static_shapes = true }){ grid = 1, block = 1 }(x, y)
  for form = 0, size(y) - 1 do check(op, ("%s, form %d"):format(T, form), list, y[form]) end
end

for _, op in ipairs { min, max } do
  for _, list in ipairs(lists) do
    check(op, "host", list, op(table.unpack(list)))
    for _, T in ipairs { f32, f64 } do in_kernel(op, T, list) end
  end
end
print(wrong)  -- expect: 0
local both = max(nan, nan)
print(both ~= both, math.type(max(nan, 3)), 1 / max(-0.0, nan))  -- expect: true	integer	-inf
