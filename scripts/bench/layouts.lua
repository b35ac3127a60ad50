-- layouts.lua: how many operations of the layout algebra a script does
-- in a second. Times are this process's CPU time, the best of several batches; collecting the
-- garbage that operations leave behind is part of it.
local ct = require "cuttle"
local cpu_time = require "cpu_time"
local coalesce, complement, composition = ct.coalesce, ct.complement, ct.composition
local logical_divide, zipped_divide = ct.logical_divide, ct.zipped_divide
local blocked_product, right_inverse = ct.blocked_product, ct.right_inverse

local L = ct.L
local flat, flat_tile = L"(16,16):(1,16)", L"(4,8):(4,16)"
local nested, nested_tile = L"((4,8),(2,4)):((1,16),(4,128))", L"((2,4),8):((1,4),32)"
local gaps, block, blocks = L"((2,2),4):((1,8),32)", L"(4,8):(8,1)", L"(2,(2,2)):(4,(1,2))"
local text = "((4,8),(2,4)):((1,16),(4,128))"

-- The name of each row, its operands, and a loop of n times the operation.
local rows = {
  {"composition, flat", {flat, flat_tile}, function(n)
    for _ = 1, n do composition(flat, flat_tile) end
  end},
  {"composition, hierarchical", {nested, nested_tile}, function(n)
    for _ = 1, n do composition(nested, nested_tile) end
  end},
  {"coalesce", {nested}, function(n)
    for _ = 1, n do coalesce(nested) end
  end},
  {"complement", {gaps, 256}, function(n)
    for _ = 1, n do complement(gaps, 256) end
  end},
  {"logical_divide", {nested, nested_tile}, function(n)
    for _ = 1, n do logical_divide(nested, nested_tile) end
  end},
  {"zipped_divide", {nested, "(8,4)"}, function(n)
    for _ = 1, n do zipped_divide(nested, "(8,4)") end
  end},
  {"blocked_product", {block, blocks}, function(n)
    for _ = 1, n do blocked_product(block, blocks) end
  end},
  {"right_inverse", {nested}, function(n)
    for _ = 1, n do right_inverse(nested) end
  end},
  {"evaluation, L(i)", {nested}, function(n)
    for i = 1, n do nested(i & 255) end
  end},
  {"evaluation, L(i, j)", {nested}, function(n)
    for i = 1, n do nested(i & 31, i & 7) end
  end},
  {"text to layout", {text}, function(n)
    for _ = 1, n do L(text) end
  end},
}

-- Operations a second in the best batch, each of at least batch_s seconds.
local function rate(loop, batches, batch_s)
  local n = 100
  while cpu_time.seconds_of(loop, n) < batch_s do n = n * 2 end
  collectgarbage()
  local took = math.huge
  for _ = 1, batches do took = math.min(took, cpu_time.seconds_of(loop, n)) end
  return n / took
end

local function operands(list)
  local texts = {}
  for i, x in ipairs(list) do texts[i] = tostring(x) end
  return table.concat(texts, "  ")
end

return function(batches, batch_s)
  batches, batch_s = batches or 40, batch_s or 0.01
  print(("layouts: the best of %d batches of %g ms of CPU time, from Lua"):format(batches,
    batch_s * 1e3))
  print(("  %-26s %12s %8s  %s"):format("operation", "per second", "ns", "of"))
  for _, row in ipairs(rows) do
    local name, list, loop = table.unpack(row)
    local per_second = rate(loop, batches, batch_s)
    print(("  %-26s %12.0f %8.0f  %s"):format(name, per_second, 1e9 / per_second, operands(list)))
  end
end
