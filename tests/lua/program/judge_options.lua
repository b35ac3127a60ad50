-- judge in a script: what a reference may say, and what options change.
local tap = dofile "tests/support/tap.lua"
local json = require "cuttle.json"
local report_of = require "cuttle.judge_report"

local function verdict(name, want, candidate, reference, options)
  local given = { seed = 3, predict = false, orders = 2 }
  for key, value in pairs(options or {}) do given[key] = value end
  local report = judge(candidate, reference, given)
  tap.ok(report.verdict == want and report.ok == (want == "pass"), name, report.verdict,
    report.message)
  return report
end

-- {====== Operators ======

local product = {
  sizes = { M = { 1, 20 }, N = { 1, 20 }, K = { 1, 20 } },
  inputs = { { "A", f32, "M,K" }, { "B", f32, "N,K" } }, outputs = { { "C", f32, "M,N" } },
  reference = function(A, B, C) reference.matmul(A, B, C) end,
}
local operator = "return function(A, B, C) matmul(A, B, C) end"
verdict("an operator that is not allowed", "invalid", operator, product)
product.allow = { "matmul" }
verdict("an operator that is allowed", "pass", operator, product)

-- {====== Values ======

local same = {
  sizes = { N = { 1, 200 } }, inputs = { { "x", f32, "N" } }, outputs = { { "y", f32, "N" } },
  reference = function(x, y) for i = 0, size(x) - 1 do y[i] = x[i] end end,
}
local function each(body)
  return ([[
local k = kernel("each", function(x, y)
  local i = blockIdx.x * 64 + threadIdx.x
  if i < size(y) then %s end
end)
return function(x, y) k{grid = cdiv(size(y), 64), block = 64}(x, y) end]]):format(body)
end
local without_nan = each "y[i] = where(x[i] == x[i], x[i], f32(0))"
verdict("a candidate without NaN", "pass", without_nan, same)
same.special = true
verdict("NaN and infinities are the same as the reference's", "pass", each "y[i] = x[i]", same)
verdict("NaN that is lost", "wrong", without_nan, same)
same.special = nil
same.cases = { { N = 137 } }
verdict("a case of the reference", "wrong",
  each "y[i] = x[i] if size(y) == 137 then y[i] = f32(0) end", same, { cases = 3 })

-- {====== Tolerance and order ======

local sum = {
  sizes = { N = { 1, 300 } }, inputs = { { "x", f32, "N", values = { 0, 1 } } },
  outputs = { { "y", f32, "1" } },
  reference = function(x, y)
    local k = kernel("sum", function(a, all)
      all[0] = 0
      for i = 0, size(a) - 1 do all[0] = all[0] + a[i] end
    end)
    k{grid = 1, block = 1}(x, y)
  end,
}
local atomics = [[
local k = kernel("atomics", function(x, y)
  for i = threadIdx.x, size(x) - 1, blockDim.x do
    if i % 32 == threadIdx.x % 32 then atomic_add(y, 0, x[i]) end
  end
end)
local zero = kernel("zero", function(y) y[0] = 0 end)
return function(x, y) zero{grid = 1, block = 1}(y) k{grid = 1, block = 64}(x, y) end]]
verdict("a sum in any order", "nondeterministic", atomics, sum)
sum.deterministic = false
verdict("a sum that may have any order", "pass", atomics, sum)

local half = each "y[i] = x[i] * f32(1.01)"
verdict("an error of 1 percent", "wrong", half, same)
same.tolerance = { rtol = 0.02 }
verdict("an error that the reference allows", "pass", half, same)
same.outputs[1].tolerance = { rtol = 0.001 }
verdict("an output's tolerance comes first", "wrong", half, same)
same.tolerance, same.outputs[1].tolerance = nil, nil

-- {====== Functions of this state ======

local k = kernel("here", function(x, y)
  local i = blockIdx.x * 64 + threadIdx.x
  if i < size(y) then y[i] = x[i] end
end)
verdict("a function of this state", "pass",
  function(x, y) k{grid = cdiv(size(y), 64), block = 64}(x, y) end, same)
verdict("a function of this state that fails", "invalid", function() error "no" end, same)

-- {====== Reports ======

local bad = verdict("an error with a line of its own", "invalid",
  [[return function() error "no\nevery task: pass" end]], same)
local text, lines = report_of.text(bad), 0
for line in text:gmatch "[^\n]+" do
  lines = lines + 1
  if line:find "^every task" then lines = math.huge end
end
tap.ok(lines == 9, "it begins no line of the report", text)
tap.ok(json.encode(bad):find '"verdict":"invalid"', "the report has a JSON")

tap.done()
